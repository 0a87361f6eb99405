# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Cards say what was measured, carry it as metadata, and their example runs."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import ModelCard
from transformers import AutoTokenizer

from benchmarks import model_cards
from hf_lecture_models.hub import export
from hf_lecture_models.hub.card import TRIED, render_card, write_card
from hf_lecture_models.hub.facts import collect_facts, facts_of, training_record, vocabulary_policy, write_facts
from hf_lecture_models.hub.metadata import known_sentences
from hf_lecture_models.io.compat import OLDEST_TRANSFORMERS
from hf_lecture_models.models.bag_of_words import BagOfWordsConfig, BagOfWordsForSequenceClassification
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.models.recurrent.modeling_recurrent import RecurrentForCausalLM
from hf_lecture_models.tasks.language_models.causal import CausalLM, CausalLMRecipe
from hf_lecture_models.tokenization.bpe import BpeTokenizer
from hf_lecture_models.tokenization.byte import ByteTokenizer
from hf_lecture_models.tokenization.char import CharTokenizer
from hf_lecture_models.tokenization.word import WordTokenizer
from tests.hub.card_examples import examples, output_without_package
from tests.interop.small_models import small_model, small_tokenizer

ROOT = Path(__file__).parents[2]

TASK = CausalLM().describe(None, CausalLMRecipe())
TEXT_FACTS = {
    "data": {"language": "en"},
    "vocabulary": {"policy": "closed"},
    "task": {"name": "text_classification", "pipeline_tag": "text-classification"},
}
RESULTS = {
    "perplexity": 141.2345,
    "word_perplexity": float("inf"),
    "bits_per_byte": 1.98765,
    "tokens": 245569,
    "unknown": 3,
    "perplexity_without_unk": float("nan"),
    "stream": True,
    "window": 512,
    "stride": 256,
    "details": [1, 2],
}


@pytest.fixture(params=["with unknown word", "without"])
def saved(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    """A saved model with its tokenizer, and its facts."""
    closed = request.param == "without"
    texts = ["her cat saw my dog"] if closed else ["the cat saw the dog", "a dog saw the cat"]
    tokenizer = WordTokenizer.train(texts, unk_token=None if closed else "<unk>", progress=False)
    config = RecurrentForCausalLM.config_class(
        vocab_size=len(tokenizer),
        hidden_size=4,
        num_hidden_layers=1,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = RecurrentForCausalLM(config)
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    facts = collect_facts(
        model,
        tokenizer,
        RESULTS,
        name="a small LSTM",
        data={"name": "Two Sentences", "split": "validation", "licence": "CC0"},
        task=TASK,
        recipe={"learning_rate": 0.01, "model": {"cell_type": "lstm"}, "output": Path("here"), "wide": None},
        training={"run_seconds": 12.345, "tokens": 1234567, "cpu_seconds": 1800.0, "device": "cpu"},
        command="hf-lecture train causal_lm recurrent",
        licence="apache-2.0",
    )
    return tmp_path, facts


def test_table_and_metadata_are_the_measured_results(saved: tuple[Path, dict[str, Any]]) -> None:
    folder, facts = saved
    path = write_card(folder, json.loads(json.dumps(facts)))
    card = ModelCard.load(path)
    assert card.data.to_dict().keys() & {"datasets", "model-index", "model_name", "base_model"} == set(), (
        "no such names"
    )
    on_hub = facts | {"data": facts["data"] | {"hub_id": "somebody/two_sentences"}}
    card = ModelCard.load(write_card(folder, json.loads(json.dumps(on_hub))))
    assert (card.data.model_name, card.data.datasets) == ("a small LSTM", ["somebody/two_sentences"])
    measured = {result.metric_type: result.metric_value for result in card.data.eval_results}
    assert measured == {"perplexity": 141.234, "bits_per_byte": 1.98765}, "an infinite perplexity is no metadata"
    named = {(result.dataset_type, result.dataset_name, result.dataset_split) for result in card.data.eval_results}
    assert named == {("somebody/two_sentences", "Two Sentences", "validation")}
    assert card.data.license == "apache-2.0"
    text = card.text
    assert "| perplexity per token | 141.2 |" in text
    assert "| perplexity per word | infinite |" in text
    assert "245,569 tokens, 3 unknown" in text
    assert "One stream: state and context carry from text to text; windows of 512 tokens, 256 apart." in text
    assert "nan" not in text
    assert "unknown ones left out" not in text
    assert "wide" not in text, "a field of the recipe that is left empty"
    assert facts["vocabulary"]["policy"] in text
    assert "learning_rate: 0.01" in text
    assert "cell_type: lstm" in text
    assert (
        "saving included: 12.35\n- tokens read: 1,234,567\n- CPU seconds of learning alone: 1,800\n- device: cpu"
        in text
    )
    assert (
        "\n- energy: about 5 Wh, estimated: 1,800 CPU seconds of learning, at an assumed 10 watts for a busy core; not "
        "measured\n- carbon dioxide: about 2.4 g, estimated: at 481 g per kWh, the world's average electricity of 2023 "
        "(Ember)\n\n## How"
    ) in text
    emissions = card.data.to_dict()["co2_eq_emissions"]
    assert (emissions["emissions"], emissions["training_type"], emissions["hardware_used"]) == (
        2.4,
        "pre-training",
        "CPU",
    )
    assert emissions["source"].startswith(
        "estimate: CPU seconds of learning at 10 watts per busy core and 481 g CO2 per"
    )
    assert "hf-lecture train causal_lm" in text
    assert "CC0" in text
    assert not re.search(r"\n{4,}|[{}]{2}|\{%", text), "the template leaves no traces"


def test_energy_is_estimated_for_one_process_on_a_cpu_alone(saved: tuple[Path, dict[str, Any]]) -> None:
    """A training that began with other weights says so; small amounts are numbers of YAML, not texts."""
    folder, facts = saved
    tuned = facts | {"recipe": {"from_pretrained": "bert"}, "environment": {"processor": "AMD EPYC"}}
    tuned["training"] = {"cpu_seconds": 0.004, "device": "cpu"}
    card = ModelCard.load(write_card(folder, tuned))
    emissions = card.data.to_dict()["co2_eq_emissions"]
    assert emissions["emissions"] == pytest.approx(5.3e-6)
    assert (emissions["training_type"], emissions["hardware_used"]) == ("fine-tuning", "CPU (AMD EPYC)")
    assert "\n- carbon dioxide: less than 0.01 g" in card.text
    assert "(Ember)\n- the training of the weights that this one began with is not counted\n" in card.text
    for training in ({"cpu_seconds": 9.0, "device": "cuda"}, {"device": "cpu"}, {"cpu_seconds": 9.0}):
        card = render_card(facts | {"training": training})
        assert "\n- energy: not measured\n" in card.text
        assert "co2_eq_emissions" not in card.data.to_dict()


def test_what_stands_beside_the_card_is_named(saved: tuple[Path, dict[str, Any]]) -> None:
    """The learning curve; and the oldest transformers that runs the model's own code."""
    folder, facts = saved
    needed = f"transformers {OLDEST_TRANSFORMERS} or newer"
    plain = write_card(folder, facts).read_text(encoding="utf-8")
    for name, text in (
        ("learning_curve.png", "![learning curve](learning_curve.png)"),
        ("modeling_recurrent.py", needed),
    ):
        assert text not in plain
        (folder / name).touch()
        assert text in write_card(folder, facts).read_text(encoding="utf-8")


def test_the_example_runs(
    saved: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, facts = saved
    (code,) = examples(write_card(folder, facts))
    monkeypatch.chdir(folder)
    exec(compile(code, "README.md", "exec"), {})
    assert "generated_text" in capsys.readouterr().out
    assert re.search(r'generate\("\S+ ", ', code), "words need a blank after the prompt"


def test_the_example_for_bytes_has_no_blank_after_the_prompt() -> None:
    vocabulary = {"size": 259, "policy": vocabulary_policy(ByteTokenizer())}
    facts = {"name": "one", "model_type": "lecture_recurrent", "class": "AnyClass", "vocabulary": vocabulary}
    text = render_card(facts | {"task": TASK, "data": {"name": "Two Sentences"}, "results": RESULTS}).text
    assert 'generate("the", ' in text


@pytest.mark.slow
def test_the_example_runs_where_the_package_is_absent(saved: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    folder, facts = saved
    model, tokenizer = RecurrentForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    export(model, tokenizer, tmp_path / "exported", facts)
    _, code = examples(tmp_path / "exported" / "README.md")
    assert "generated_text" in output_without_package(code, tmp_path / "exported", tmp_path / "modules")


def test_deviations_are_those_of_the_modeling_file(saved: tuple[Path, dict[str, Any]]) -> None:
    _, facts = saved
    text = render_card(facts).text
    deviations = text.partition("## Deviations from the equations")[2].partition("\n## ")[0]
    assert "- No peephole connections, and no extra forget bias: all recurrent weights" in deviations
    ngram = render_card(facts | {"model_type": "lecture_ngram"}).text
    assert "\n- Slide (1) leaves the end of a text out" in ngram, "its docstring indents the list"


def test_two_models_of_one_page_have_deviations_of_their_own(saved: tuple[Path, dict[str, Any]]) -> None:
    _, facts = saved
    for name, deviation in (("padded_mlp", "- The slide's integers"), ("layer_per_input", "- The slide names no σ")):
        text = render_card(facts | {"model_type": f"lecture_{name}"}).text
        assert '**Padded texts, and one input per layer.** The lectures present it on the slides "' in text
        assert f"The docstring of `modeling_{name}.py` has the equations" in text
        assert f"\n{deviation}" in text


def test_nothing_is_claimed_of_what_was_not_measured(saved: tuple[Path, dict[str, Any]]) -> None:
    _, facts = saved
    card = render_card(
        facts | {"results": {}, "training": {}, "recipe": {}, "command": None, "licence": None, "data": {}}
    )
    assert "Nothing was measured." in card.text
    assert "energy: not measured" in card.text
    assert "No recipe was recorded." in card.text
    assert card.data.eval_results is None
    assert "co2_eq_emissions" not in card.data.to_dict()
    assert (card.data.license, card.data.language) == ("unknown", None)
    assert not re.search(r"\n{4,}|[{}]{2}|\{%|None", card.text)


def test_facts_of_a_folder_are_those_of_its_card(saved: tuple[Path, dict[str, Any]]) -> None:
    folder, facts = saved
    model, tokenizer = RecurrentForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    write_facts(folder, facts)
    assert facts_of(folder, model, tokenizer) == json.loads(json.dumps(facts))
    write_facts(folder, facts | {"parameters": 7})
    with pytest.raises(ValueError, match=r"facts\.json is of another model: its parameters is 7, not \d+"):
        facts_of(folder, model, tokenizer)


def test_facts_of_a_training_run_are_those_of_the_weights_that_were_kept(saved: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = saved
    model, tokenizer = RecurrentForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    recipe = {"layout": "stream", "train_files": ["/home/somebody/thesis/own.txt"], "output_dir": "/home/somebody/out"}
    recipe["validation_files"] = ["/home/somebody/thesis/held_out.txt"]
    (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe), encoding="utf-8")
    rows = [
        {"step": 5, "loss": 3.0},
        {"step": 5, "validation_perplexity": 20.0, "validation_tokens": 11},
        {"step": 10, "validation_perplexity": 25.0, "validation_tokens": 11},
    ]
    record = {"step": 10, "items": 90, "seconds": 2.5, "step_cpu_seconds": 1.5, "tokens_per_second": 60.0}
    record |= {"metric": "perplexity", "best_metric": 20.0, "num_processes": 1, "device": "cpu", "history": rows}
    (folder / "training.json").write_text(json.dumps(record), encoding="utf-8")
    assert facts_of(folder, model, tokenizer)["results"] == {}, "nothing says what the figures are called"
    (folder / "task.json").write_text(json.dumps(TASK | {"script": "train_causal_lm.py"}), encoding="utf-8")
    facts = facts_of(folder, model, tokenizer)
    assert facts["results"] == {"perplexity": 20.0, "tokens": 11}
    assert facts["command"] == "hf-lecture train causal_lm recipe.yaml"
    assert facts["data"] == {"name": "held_out.txt"}
    assert facts["training"]["cpu_seconds"] == 1.5
    card = render_card(facts).text
    assert "On held_out.txt. One stream" in card
    assert "somebody" not in json.dumps(facts) + card
    assert "cpu_seconds" not in training_record(record | {"num_processes": 2}), "one of two processes counted"


def test_facts_of_a_folder_without_a_record_claim_nothing(saved: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = saved
    model, tokenizer = RecurrentForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    facts = facts_of(folder, model, tokenizer)
    assert (facts["name"], facts["results"], facts["recipe"], facts["training"]) == (folder.name, {}, {}, {})


@pytest.mark.parametrize("name", model_cards.names())
def test_cards_of_the_recipes_are_what_their_facts_render_now(name: str) -> None:
    """Mended by `python -m benchmarks.model_cards`."""
    path = model_cards.CARDS / f"{name}.md"
    assert path.read_text(encoding="utf-8") == model_cards.render(name)
    recipe = yaml.safe_load((model_cards.RECIPES / f"{name}.yaml").read_text(encoding="utf-8"))
    facts = json.loads((model_cards.CARDS / "facts" / f"{name}.json").read_text(encoding="utf-8"))
    # The keys of a JSON object are texts.
    assert facts["recipe"] == json.loads(json.dumps(recipe)), "the recipe was changed after this model was made"
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", path.read_text(encoding="utf-8"))
    assert all((model_cards.CARDS / picture).is_file() for picture in pictures)
    assert bool(pictures) == ("smoothing" not in recipe), "networks have a learning curve"
    card = ModelCard.load(path)
    assert (card.data.model_name, bool(card.data.eval_results)) == (
        (recipe["name"], True) if "hub_id" in recipe["data"] else (None, False)
    )


def _cards() -> list[tuple[str, ModelCard, dict[str, Any]]]:
    """Name, card and facts of each recipe's card."""
    facts = {
        name: json.loads((model_cards.CARDS / "facts" / f"{name}.json").read_text()) for name in model_cards.names()
    }
    return [(name, ModelCard(model_cards.render(name)), facts[name]) for name in facts]


def test_metadata_of_the_recipes_cards_name_what_the_hub_knows() -> None:
    """Ids of data sets, a base model for the eight that began with MiniLM, a tag, an input where a page takes one."""
    without_widget, bases = [], []
    for name, card, facts in _cards():
        said = card.data.to_dict()
        assert said["pipeline_tag"], name
        ids = [*said.get("datasets", []), *(result.dataset_type for result in card.data.eval_results or [])]
        assert all(re.fullmatch(r"[\w-]+/[\w-]+", one) for one in ids), name
        assert all(one in str(facts["recipe"]["data"]) for one in ids), f"{name}: a name that its recipe does not give"
        if "widget" not in said:
            without_widget.append(name)
        if "base_model" in said:
            assert (said["base_model"], said["base_model_relation"]) == (
                "sentence-transformers/all-MiniLM-L6-v2",
                "finetune",
            )
            bases.append(name)
        head = card.text.partition("\n## Results")[0]
        assert not re.search(r"lecture\s[RYN]\b|lines?\s\d|\b[RYN]:\d", head), name
    assert sorted(bases) == [name for name in model_cards.names() if name.startswith("bert_minilm")]
    images_points_pairs = r"vit_|image_captioning_|graves_|bert_minilm_(mrpc|rte|stsb)"
    assert without_widget == [name for name in model_cards.names() if re.match(images_points_pairs, name)]


def test_the_input_to_try_is_the_models_own() -> None:
    """A language model writes it; other models get their first words, where they do not know the usual sentence."""
    texts = ["das Haus am Meer ist alt", "das Haus am See ist neu", "der Garten am Haus ist alt"]
    tokenizer = WordTokenizer.train(texts, progress=False)
    trigram = NGramForCausalLM.fit(texts, tokenizer, order=3, smoothing="add_alpha", alpha=0.01, progress=False)
    classifier = BagOfWordsForSequenceClassification(BagOfWordsConfig(vocab_size=len(tokenizer)))
    english = WordTokenizer.train(["two Two children play with a ball in the garden .", *texts], progress=False)
    knows = WordTokenizer.train([*known_sentences(TEXT_FACTS)], progress=False)
    for model, its_tokenizer, data, expected in (
        (trigram, tokenizer, {}, "das Haus am Meer ist alt"),
        (classifier, tokenizer, {}, "Haus am ist alt das Garten"),
        (classifier, tokenizer, {"language": "en"}, "Haus am ist alt das Garten"),
        (classifier, english, {"language": "en"}, "Haus am ist alt das Garten"),  # not all of the usual ones are known
        (classifier, knows, {"language": "en"}, "The story is clever and the actors are good ."),
    ):
        facts = collect_facts(model, its_tokenizer, {}, name="one", data=data)
        assert render_card(facts).data.widget == [{"text": expected}]
        assert ("example" in facts) == ("clever" not in expected)
        assert its_tokenizer.unk_token_id not in its_tokenizer(expected).input_ids
    old = collect_facts(trigram, tokenizer, {}, name="one", data={"language": "de"})
    del old["example"]
    assert render_card(old).data.widget[0]["text"].startswith("Zwei Kinder"), "the facts of an earlier release"


def test_a_card_says_on_what_it_was_measured() -> None:
    card = ModelCard(model_cards.render("bert_minilm_squad"))
    (one, _) = card.data.eval_results
    assert (one.dataset_type, one.dataset_config, one.dataset_split) == ("google/xquad", "xquad.en", "validation")
    assert "1,190" in one.dataset_name
    assert "\nOn XQuAD's 1,190 English questions, " in card.text
    assert card.data.datasets == ["rajpurkar/squad"]


def test_cards_of_translators_read_their_source() -> None:
    """Both languages, the source first, and an example in it."""
    for name, code, begin in (
        ("transformer_multi30k_fr_en", ["fr", "en"], "Deux"),
        ("transformer_multi30k", ["en", "de"], "Two"),
    ):
        card = ModelCard(model_cards.render(name))
        assert card.data.language == code
        assert card.data.widget[0]["text"].startswith(begin)
        assert f'translator("{begin} ' in card.text


def test_the_repository_is_linked_only_if_it_has_an_address(
    saved: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, facts = saved
    monkeypatch.setattr("hf_lecture_models.hub.card.REPOSITORY_URL", "")
    assert "of the package `hf_lecture_models` with" in render_card(facts).text
    monkeypatch.setattr("hf_lecture_models.hub.card.REPOSITORY_URL", "https://example.org/somewhere")
    assert "of the package [`hf_lecture_models`](https://example.org/somewhere) with" in render_card(facts).text
    text = render_card(facts | {"library": "transformers"}).text
    assert "example.org" not in text, "a model of transformers"


def test_a_base_model_and_data_are_named_only_if_they_came_from_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hf_lecture_models.hub.facts import _data_of

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache" / "models--google--small").mkdir(parents=True)
    assert _data_of({"from_pretrained": "google/small"}, "test")["base_model"] == "google/small"
    assert "base_model" not in _data_of({"from_pretrained": "runs/small"}, "test"), "a folder that is gone"
    (tmp_path / "google" / "small").mkdir(parents=True)
    assert "base_model" not in _data_of({"from_pretrained": "google/small"}, "test"), "a folder of that name"
    assert "hub_id" not in _data_of({"dataset_name": "scikit-learn:digits"}, "test")


def test_every_recipe_that_was_measured_has_a_card() -> None:
    cards = {path.stem for path in model_cards.CARDS.glob("*.md")} - {"README"}
    assert cards == set(model_cards.names())
    recipes = {path.stem for path in model_cards.RECIPES.glob("*.yaml")}
    # They hold their own data: tests/training/test_recipes.py renders their cards, and fit_ngram.py writes one.
    without = {name for name in recipes if name.endswith("_tiny")} | {"ngram"}
    # Trained four times by its benchmark, each time otherwise, and none of the models is kept.
    without |= {"feed_forward_neighbours"}
    assert recipes - cards == without


@pytest.mark.parametrize("missing", ["name", "model_type", "data", "task"])
def test_missing_facts_are_named(saved: tuple[Path, dict[str, Any]], missing: str) -> None:
    _, facts = saved
    del facts[missing]
    with pytest.raises(ValueError, match=missing):
        render_card(facts)


def test_results_without_a_measure_are_refused(saved: tuple[Path, dict[str, Any]]) -> None:
    _, facts = saved
    with pytest.raises(ValueError, match="hold no result that their task measures; it measures perplexity, perpl"):
        render_card(facts | {"results": {"tokens": 3}})
    with pytest.raises(ValueError, match="results need `task`"):
        collect_facts(small_model("recurrent", small_tokenizer()), None, {"perplexity": 3.0}, name="one", data={})


def test_vocabulary_policies() -> None:
    assert "open" in vocabulary_policy(ByteTokenizer())
    for trained in (CharTokenizer.train(["a b"]), BpeTokenizer.train(["a b"], merges=1, form="bytes")):
        assert "open" in vocabulary_policy(trained)
    assert "pieces of words" in vocabulary_policy(BpeTokenizer.train(["a b"], merges=1))
    assert "in letters" in vocabulary_policy(WordTokenizer.train(["a b"], unknown_words="spelled"))
    assert "its class" in vocabulary_policy(WordTokenizer.train(["a b"], unknown_words="classes"))
    assert "`<unk>`" in vocabulary_policy(WordTokenizer.train(["a b"]))
    assert "probability 0" in vocabulary_policy(WordTokenizer.train(["a b"], unk_token=None))


def test_the_versions_on_cards_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pythons = [name.removeprefix("Programming Language :: Python :: ") for name in project["classifiers"]]
    assert tuple(name for name in pythons if re.fullmatch(r"3\.\d+", name)) == TRIED["Python"]
    oldest = next(need for need in project["dependencies"] if need.startswith("torch>=")).removeprefix("torch>=")
    assert TRIED["torch"][0].startswith(f"{oldest}.")
    pinned = dict(re.findall(r"^(torch|transformers)==(.*)$", (ROOT / "constraints.txt").read_text("utf-8"), re.M))
    assert pinned["torch"] in TRIED["torch"]
    assert pinned["transformers"] in TRIED["transformers"]
