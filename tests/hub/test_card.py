# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Cards say what was measured, carry it as metadata, and their example runs."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import ModelCard
from transformers import pipeline

from hf_lecture_models.hub.card import collect_facts, main, render_card, vocabulary_policy, write_card
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.models.recurrent.modeling_recurrent import RecurrentForCausalLM
from hf_lecture_models.tokenization.bpe import BpeTokenizer
from hf_lecture_models.tokenization.byte import ByteTokenizer
from hf_lecture_models.tokenization.char import CharTokenizer
from hf_lecture_models.tokenization.word import WordTokenizer

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

MODEL_PAGES = sorted((Path(__file__).parents[2] / "hf_lecture_models" / "models").glob("*/README.md"))


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
        recipe={"learning_rate": 0.01, "model": {"cell_type": "lstm"}, "output": Path("here"), "wide": None},
        training={"seconds": 12.345, "tokens": 1234567, "device": "cpu"},
        command="accelerate launch training/train_causal_lm.py training/recipes/recurrent.yaml",
    )
    return tmp_path, facts


def test_table_and_metadata_are_the_measured_results(saved: tuple[Path, dict[str, Any]]) -> None:
    folder, facts = saved
    path = write_card(folder, json.loads(json.dumps(facts)))
    card = ModelCard.load(path)
    assert card.data.model_name == "a small LSTM"
    measured = {result.metric_type: result.metric_value for result in card.data.eval_results}
    assert measured == {"perplexity": 141.234, "bits_per_byte": 1.98765}, "an infinite perplexity is no metadata"
    assert {result.dataset_name for result in card.data.eval_results} == {"Two Sentences"}
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
    assert "- seconds: 12.35\n- tokens: 1,234,567\n- device: cpu" in text
    assert "accelerate launch training/train_causal_lm.py" in text
    assert "CC0" in text
    assert not re.search(r"\n{4,}|[{}]{2}|\{%", text), "the template leaves no traces"


@pytest.mark.parametrize("page", MODEL_PAGES, ids=lambda path: path.parent.name)
def test_the_lecture_page_says_what_the_model_is(page: Path) -> None:
    facts = {
        "name": "one",
        "model_type": f"lecture_{page.parent.name}",
        "class": "AnyClass",
        "vocabulary": {"size": 2, "policy": "closed"},
        "data": {"name": "Two Sentences"},
        "results": RESULTS,
    }
    title, _, rest = page.read_text(encoding="utf-8").partition("\n")
    text = render_card(facts).text
    assert f"**{title.lstrip('# ')}.** {rest.strip().splitlines()[0]}" in text
    assert "the licence of the data is not stated" in text


def test_learning_curve_is_linked_where_there_is_one(saved: tuple[Path, dict[str, Any]]) -> None:
    folder, facts = saved
    assert "learning_curve.png" not in write_card(folder, facts).read_text(encoding="utf-8")
    (folder / "learning_curve.png").write_bytes(b"")
    assert "![learning curve](learning_curve.png)" in write_card(folder, facts).read_text(encoding="utf-8")


def test_the_example_runs(
    saved: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, facts = saved
    text = write_card(folder, facts).read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    monkeypatch.chdir(folder)
    exec(compile(code, "README.md", "exec"), {})
    assert "generated_text" in capsys.readouterr().out
    assert re.search(r'generate\("\S+ ", ', code), "words need a blank after the prompt"


def test_text_generation_of_words_is_spaced_after_a_blank(tmp_path: Path) -> None:
    texts = ["the cat saw a dog"]
    tokenizer = WordTokenizer.train(texts, progress=False)
    model = NGramForCausalLM.fit(texts, tokenizer, order=2, smoothing="add_alpha", alpha=0.01, progress=False)
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    generate = pipeline("text-generation", model=str(tmp_path))
    (continued,) = generate("the ", max_new_tokens=4, do_sample=False)
    assert continued["generated_text"] == "the cat saw a dog"


def test_the_example_for_bytes_has_no_blank_after_the_prompt() -> None:
    vocabulary = {"size": 259, "policy": vocabulary_policy(ByteTokenizer())}
    facts = {"name": "one", "model_type": "lecture_recurrent", "class": "AnyClass", "vocabulary": vocabulary}
    text = render_card(facts | {"data": {"name": "Two Sentences"}, "results": RESULTS}).text
    assert 'generate("the", ' in text


def test_saved_facts_are_rendered_from_the_terminal(
    saved: tuple[Path, dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, facts = saved
    (tmp_path / "facts.json").write_text(json.dumps(facts), encoding="utf-8")
    main([str(tmp_path / "facts.json"), "-o", str(tmp_path / "cards" / "recurrent.md")])
    assert "# a small LSTM" in (tmp_path / "cards" / "recurrent.md").read_text(encoding="utf-8")
    assert "wrote" in capsys.readouterr().out
    (tmp_path / "facts.json").write_text("{", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"facts\.json is not JSON"):
        main([str(tmp_path / "facts.json"), "-o", str(tmp_path / "other.md")])
    assert not (tmp_path / "other.md").exists()


@pytest.mark.parametrize("missing", ["name", "model_type", "data", "results"])
def test_missing_facts_are_named(saved: tuple[Path, dict[str, Any]], missing: str) -> None:
    _, facts = saved
    del facts[missing]
    with pytest.raises(ValueError, match=missing):
        render_card(facts)


def test_results_without_a_measure_are_refused(saved: tuple[Path, dict[str, Any]]) -> None:
    _, facts = saved
    with pytest.raises(ValueError, match="hold no result"):
        render_card(facts | {"results": {"tokens": 3}})


def test_vocabulary_policies() -> None:
    assert "open" in vocabulary_policy(ByteTokenizer())
    for trained in (CharTokenizer.train(["a b"]), BpeTokenizer.train(["a b"], merges=1, form="bytes")):
        assert "open" in vocabulary_policy(trained)
    assert "pieces of words" in vocabulary_policy(BpeTokenizer.train(["a b"], merges=1))
    assert "in letters" in vocabulary_policy(WordTokenizer.train(["a b"], unknown_words="spelled"))
    assert "its class" in vocabulary_policy(WordTokenizer.train(["a b"], unknown_words="classes"))
    assert "`<unk>`" in vocabulary_policy(WordTokenizer.train(["a b"]))
    assert "probability 0" in vocabulary_policy(WordTokenizer.train(["a b"], unk_token=None))
