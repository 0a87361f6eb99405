# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Translation as a task: its data, what is learned and measured, bad input, two vocabularies, averaged checkpoints."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
import torch
from safetensors.torch import load_file
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, pipeline

from hf_lecture_models.base.limits import longest_input
from hf_lecture_models.hub.card import render_card
from hf_lecture_models.hub.facts import facts_of
from hf_lecture_models.loading import load_model
from hf_lecture_models.tasks.core.main import train_and_test, train_seeds
from hf_lecture_models.tasks.registry import task_of
from hf_lecture_models.tasks.translation.bleu import _say_that_bleu_is_left_out, bleu_and_chrf
from hf_lecture_models.tasks.translation.task import Translation, TranslationRecipe
from hf_lecture_models.tasks.translation.translate import encode_sources, translate
from hf_lecture_models.tokenization.pairs import TokenizerPair
from tests.tasks.small_translator import MODELS, PAIRS, ROWS, SOURCES, TARGETS, make_translator, rows, small_recipe

TASK = Translation()


def write(folder: Path, **files: list[str]) -> None:
    for name, lines in files.items():
        (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@pytest.fixture(scope="module", params=list(MODELS))
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("trained") / "run"
    (folder.parent / "more.txt").write_text("Le chat dort\nOui\n", encoding="utf-8")
    predict = [str(folder.parent / "more.txt")]
    train_and_test(TASK, small_recipe(request.param, output_dir=str(folder), predict_files=predict))
    return request.param, folder


def test_what_training_leaves(trained: tuple[str, Path]) -> None:
    folder = trained[1]
    model, tokenizer = load_model(str(folder))
    assert task_of(model) is not None
    assert task_of(model).name == "translation"
    assert (model.generation_config.num_beams, model.generation_config.max_new_tokens) == (2, None)
    assert model.generation_config.max_length == min(257, longest_input(model, tokenizer))
    inputs = tokenizer(["Oui"], return_tensors="pt")
    assert model.generate(**inputs, max_length=5, eos_token_id=None).shape == (1, 5)
    assert tokenizer("Oui")["input_ids"][-1] == tokenizer.eos_token_id == model.generation_config.eos_token_id
    assert tokenizer("Oui")["input_ids"][0] != tokenizer.bos_token_id == model.config.decoder_start_token_id
    record = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    assert record["items"] == 2 * sum(len(ids) for ids in tokenizer(TARGETS)["input_ids"])
    written = (folder / "predictions" / "translations.txt").read_text(encoding="utf-8").splitlines()
    assert written == [one.text for one in translate(model, tokenizer, ["Le chat dort", "Oui"], num_beams=2)]


def test_the_measures_are_sacrebleus_on_the_texts(trained: tuple[str, Path]) -> None:
    model, tokenizer = load_model(str(trained[1]))
    measured = TASK.evaluate(model, tokenizer, rows(), small_recipe(trained[0]))
    texts = [one.text for one in translate(model, tokenizer, SOURCES, num_beams=2, length_penalty=1.0)]
    assert measured["bleu"] == pytest.approx(sacrebleu.corpus_bleu(texts, [TARGETS]).score)
    assert measured["chrf"] == pytest.approx(sacrebleu.corpus_chrf(texts, [TARGETS]).score)
    assert "tok:13a" in measured["bleu_signature"]
    assert (measured["num_beams"], measured["pairs"]) == (2, len(PAIRS))


def test_the_card_has_the_signature(trained: tuple[str, Path]) -> None:
    folder = trained[1]
    model, tokenizer = load_model(str(folder))
    card = render_card(facts_of(folder, model, tokenizer))
    assert card.data.pipeline_tag == "translation"
    assert "The signature of BLEU is `nrefs:1|case:mixed" in card.text


# Data


def test_line_aligned_files_go_in_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, a=SOURCES[:2], b=TARGETS[:2], c=SOURCES[2:3], d=TARGETS[2:3])
    found = TASK.read(TranslationRecipe(train_files=["a.txt", "b.txt", "c.txt", "d.txt"]), "train")
    assert list(found or ()) == ROWS[:3]
    assert found is not None
    assert found.where(2) == "c.txt with d.txt, row 1"


def test_columns_within_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many translation data sets of the Hub have them."""
    monkeypatch.chdir(tmp_path)
    lines = [json.dumps({"id": 1, "translation": {"fr": source, "en": target}}) for source, target in PAIRS]
    write(tmp_path, pairs=lines)
    Path("pairs.txt").rename("pairs.jsonl")
    columns = {"source": "translation.fr", "target": "translation.en"}
    assert list(TASK.read(TranslationRecipe(train_files=["pairs.jsonl"], columns=columns), "train") or ()) == ROWS


def test_without_data_there_is_the_grammar() -> None:
    recipe = TranslationRecipe()
    assert recipe.task == "french_english"
    parts = [TASK.read(recipe, part) for part in ("train", "validation", "test")]
    assert [len(part or ()) for part in parts] == [5000, 200, 200]
    assert TranslationRecipe(train_rows=ROWS).task is None


def test_a_run_on_the_grammar_is_measured_on_its_validation_pairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The recipe names no validation data; the grammar has its own."""
    monkeypatch.setattr("hf_lecture_models.tasks.translation.task.french_english_pairs", lambda part: PAIRS)
    recipe = small_recipe(train_rows=[], validation_rows=[], output_dir=str(tmp_path), max_steps=1)
    assert train_and_test(TASK, recipe).training.metric_name == "bleu"


@pytest.mark.slow
def test_bleu_is_left_out_where_no_reference_has_four_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is 0 / 0 for translations that are all right, which sacrebleu gives as 0; chrF decides in its place."""
    assert sacrebleu.corpus_bleu(TARGETS[1:3], [TARGETS[1:3]]).score == 0
    _say_that_bleu_is_left_out.cache_clear()
    for _ in range(2):
        assert bleu_and_chrf(TARGETS[1:3], TARGETS[1:3]) == {"chrf": 100.0}
    assert capsys.readouterr().err.count("BLEU is left out: no reference has four words") == 1
    assert bleu_and_chrf(["long and all wrong here"], ["Yes"]).keys() == {"chrf"}
    assert bleu_and_chrf(["Yes", "No"], ["Yes", "I am a student"])["bleu"] == 0, "not one of the four words is there"
    assert bleu_and_chrf(["Yes", "a b c d"], ["Yes", "a b c d"])["bleu"] == pytest.approx(100)
    assert bleu_and_chrf(["Yes, sir!"], ["Yes, sir!"])["bleu"] == pytest.approx(100), "signs are words, too"
    (tmp_path / "test.jsonl").write_text(json.dumps(ROWS[2]), encoding="utf-8")
    files = {"test_files": [str(tmp_path / "test.jsonl")], "output_dir": str(tmp_path / "run")}
    recipe = small_recipe(validation_rows=[ROWS[1], ROWS[7]], seeds=[0, 1], epochs=8, **files)
    outcomes = train_seeds(TASK, recipe)
    best = [max(row.get("validation_chrf", 0.0) for row in outcome.training.history) for outcome in outcomes]
    assert [outcome.training.metric_name for outcome in outcomes] == ["chrf", "chrf"]
    assert [outcome.training.best_metric for outcome in outcomes] == best > [0, 0]
    assert not any("validation_bleu" in row for outcome in outcomes for row in outcome.training.history)
    assert all({"bleu", "bleu_signature"}.isdisjoint(outcome.test_results) for outcome in outcomes)
    summary = json.loads((tmp_path / "run" / "seeds.json").read_text(encoding="utf-8"))
    assert (summary["measure"], summary["part"]) == ("chrf", "test")
    facts = facts_of(tmp_path / "run" / "seed-0", *load_model(str(tmp_path / "run" / "seed-0")))
    assert "| BLEU |" not in str(render_card(facts))


def test_pairs_with_an_empty_side_are_not_learned(capsys: pytest.CaptureFixture[str]) -> None:
    holes = [ROWS[0], {"source": " ", "target": "x"}, {"source": "y", "target": ""}, ROWS[1]]
    found = TASK.read(small_recipe(train_rows=holes), "train")
    assert list(found or ()) == ROWS[:2]
    assert (
        "2 of 4 pairs are left out: a side is empty, the recipe's train_rows, row 2 the first"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("files", "part", "message"),
    [
        (["a.txt", "short.txt"], "train", "a.txt has 8 lines and short.txt 2: they are not aligned"),
        (["a.txt"], "train", "a.txt has no partner: line-aligned files go in pairs"),
        (["a.txt", "holes.txt"], "test", "a.txt with holes.txt, row 2 has an empty side"),
        (["one.jsonl"], "train", "one.jsonl has no column 'target', only source"),
        (["half.jsonl"], "train", "half.jsonl, row 2 has no target: a pair has both sides"),
        (["three.tsv"], "train", "three.tsv, line 1 names none of the columns source, target"),
        (["none.txt", "none.txt"], "train", "none.txt is empty"),
        (["blank.txt", "blank.txt"], "train", "all 2 pairs are left out: a side is empty"),
        (["missing.txt", "a.txt"], "train", "there is no file missing.txt"),
    ],
)
def test_bad_data_are_named(
    files: list[str], part: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, a=SOURCES, short=TARGETS[:2], holes=["x", "", *TARGETS[2:]], none=[], blank=["", " "])
    Path("one.jsonl").write_text('{"source": "a"}\n')
    Path("half.jsonl").write_text('{"source": "a", "target": "b"}\n{"source": "c"}\n')
    Path("three.tsv").write_text("a\tb\tc\n")
    with pytest.raises((ValueError, OSError), match=re.escape(message)):
        TASK.read(small_recipe(train_rows=[], **{f"{part}_files": files}), part)


# What the model cannot read


def test_pairs_past_the_limit() -> None:
    long = rows([*PAIRS, ("la " * 80, "the")])
    model, tokenizer = make_translator()
    with pytest.raises(ValueError, match=r"pairs.tsv, row 9 has a side of \d+ tokens and the model reads 64 at most"):
        TASK.batches(model, tokenizer, long, small_recipe())
    batches: Any = TASK.batches(model, tokenizer, long, small_recipe(max_length=30))
    assert batches.num_rows == len(PAIRS)
    with pytest.raises(ValueError, match="all 9 pairs are left out: a side has more than 2 tokens"):
        TASK.batches(model, tokenizer, long, small_recipe(max_length=2))
    with pytest.raises(ValueError, match=r"pairs.tsv, row 9 has \d+ tokens and the model reads 64 at most"):
        TASK.evaluation(model, tokenizer, long, small_recipe())
    assert TASK.evaluate(model, tokenizer, long, small_recipe(max_length=30))["pairs"] == 9


def test_the_vocabulary_of_another_model() -> None:
    model, _ = make_translator()
    _, other = make_translator(tokenizer={"type": "bpe", "form": "bytes", "vocab_size": 330})
    for use in (
        lambda: translate(model, other, SOURCES),
        lambda: TASK.batches(model, other, rows(), small_recipe()),
        lambda: TASK.evaluation(model, other, rows(), small_recipe()),
    ):
        with pytest.raises(ValueError, match="load the tokenizer that was saved with the model"):
            use()


def test_marks_around_a_source_are_left_out_as_in_training() -> None:
    model, tokenizer = make_translator()
    marked = [f"<s> {source} </s>" for source in SOURCES]
    assert encode_sources(model, tokenizer, marked) == encode_sources(model, tokenizer, SOURCES)


def test_recipes_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="task french_english brings pairs of its own, but others to train on"):
        TranslationRecipe(task="french_english", train_files=["a.fr.txt", "a.en.txt"])


def test_the_smoothed_loss_is_the_models_own_where_nothing_is_smoothed(tmp_path: Path) -> None:
    """Stock and ours, with labels or with what the decoder reads."""
    for kind in MODELS:
        model, tokenizer = make_translator(kind)
        batches = [
            TASK.batches(model, tokenizer, rows(), small_recipe(kind, batch_tokens=4000, label_smoothing=share))
            for share in (0.0, 1e-9)
        ]
        losses = []
        for source in batches:
            (batch,) = source.next_step()
            with torch.no_grad():
                losses.append(batch.loss_of(model(**batch.inputs, use_cache=False)))
        torch.testing.assert_close(*losses)


# Training


@pytest.mark.cases(0, 3)
@pytest.mark.slow
@pytest.mark.parametrize("cross_attention", ["target_query", "source_query_key"])
@pytest.mark.parametrize("position_encoding", ["sinusoidal", "learned"])
@pytest.mark.parametrize("norm_position", ["post", "pre"])
def test_every_kind_of_transformer(
    norm_position: str, position_encoding: str, cross_attention: str, tmp_path: Path
) -> None:
    kind = {"norm_position": norm_position, "position_encoding": position_encoding, "cross_attention": cross_attention}
    shape = MODELS["transformer"] | kind | {"max_position_embeddings": 24}
    train_and_test(TASK, small_recipe(model=shape, output_dir=str(tmp_path)))
    model, tokenizer = load_model(str(tmp_path))
    found = translate(model, tokenizer, SOURCES)
    translator = pipeline("machine-translation", model=str(tmp_path))
    assert [one["translation_text"] for one in translator(SOURCES)] == [one.text for one in found]
    if position_encoding == "learned" or cross_attention == "source_query_key":
        with pytest.raises(ValueError, match=r"text 1 of 1 has \d+ tokens and the model reads 24 at most"):
            translator("chat " * 30)
    else:
        assert "translation_text" in translator("chat " * 30)


def test_a_vocabulary_for_each_language(tmp_path: Path) -> None:
    for kind, size in (("ours", 300), ("stock", None)):
        folder = tmp_path / kind
        options = {"type": "word"} if size is None else {"type": "bpe", "form": "bytes", "vocab_size": size}
        recipe = small_recipe(kind, output_dir=str(folder), joint_vocabulary=False, tokenizer=options, epochs=1)
        train_and_test(TASK, recipe)
        model, pair = load_model(str(folder))
        assert len(pair.source) == len(pair.target) == model.config.vocab_size == model.config.decoder_vocab_size
        assert pair.source.get_vocab() != pair.target.get_vocab()
        tokens = model.get_encoder().get_input_embeddings(), model.get_decoder().get_input_embeddings()
        assert tokens[0].weight is not tokens[1].weight
        found = translate(model, pair, SOURCES)
        alone = AutoTokenizer.from_pretrained(folder)
        assert translate(AutoModelForSeq2SeqLM.from_pretrained(folder), alone, SOURCES) == found
        target = AutoTokenizer.from_pretrained(folder, subfolder="target_tokenizer")
        assert found[0].text == target.decode(found[0].ids, skip_special_tokens=True).strip()


def test_a_run_is_not_resumed_with_another_target_vocabulary(tmp_path: Path) -> None:
    recipe = small_recipe("ours", output_dir=str(tmp_path), joint_vocabulary=False, tokenizer={"type": "word"})
    data = rows()
    pair = TASK.processor(recipe, data)
    TASK.train(TASK.model(recipe, pair, data), pair, data, None, recipe, quiet=True)
    others = TokenizerPair(pair.source, pair.source)
    with pytest.raises(ValueError, match="cannot resume: the tokenizer changed since the run was started"):
        TASK.train(TASK.model(recipe, pair, data), others, data, None, recipe, resume=True, quiet=True)


@pytest.mark.slow
def test_averaged_checkpoints_are_kept_where_they_are_best(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    fields: dict[str, Any] = {"validation_rows": [], "average_checkpoints": 3, "save_every": 1, "epochs": 3}
    train_and_test(TASK, small_recipe(output_dir=str(folder), **fields))
    checkpoints = sorted((folder / "checkpoints").iterdir())
    assert len(checkpoints) == 3, "as many are kept as are averaged"
    weights = [load_file(path / "model.safetensors") for path in checkpoints]
    kept = dict(AutoModelForSeq2SeqLM.from_pretrained(folder).named_parameters())
    for name in weights[0].keys() & kept.keys():
        torch.testing.assert_close(kept[name].data, torch.stack([one[name] for one in weights]).mean(0))
    record = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    assert record["history"][-1]["averaged"] == 3
    # Measured, they must be better than the best.
    fields |= {"validation_rows": ROWS, "learning_rate": 1e-9}
    train_and_test(TASK, small_recipe(output_dir=str(tmp_path / "measured"), **fields))
    record = json.loads((tmp_path / "measured" / "training.json").read_text(encoding="utf-8"))
    assert record["history"][-1]["validation_bleu"] == pytest.approx(record["best_metric"], abs=1e-6)


@pytest.mark.parametrize(
    ("first", "is_header"),
    [
        ("fr\ten", True),
        ("\ufefffr\ten", True),
        ("French\tEnglish", True),
        ("en_US\tfr_FR", True),
        ("Va !\tGo.", False),
        ("Oui\tYes.", False),
        ("source\ttarget", False),
        ("Il dort\tHe sleeps", False),
    ],
)
@pytest.mark.parametrize("name", ["train.tsv", "train.TSV"])
def test_names_of_columns_are_not_learned_as_a_pair(tmp_path: Path, first: str, is_header: bool, name: str) -> None:
    """A `.tsv` file that names its columns otherwise than the recipe is refused, with the options that mend it."""
    path = tmp_path / name
    path.write_text("\n".join([first, *(f"{source}\t{target}" for source, target in PAIRS)]) + "\n", encoding="utf-8")
    recipe = TranslationRecipe(train_files=[str(path)])
    if is_header:
        source, target = first.removeprefix("\ufeff").split("\t")
        said = f"line 1 reads like .* `columns.source` {source} and `columns.target` {target} say"
        with pytest.raises(ValueError, match=said):
            TASK.read(recipe, "train")
        recipe = TranslationRecipe(train_files=[str(path)], columns={"source": source, "target": target})
    data = TASK.read(recipe, "train")
    assert data is not None
    assert len(data) == len(PAIRS) + (not is_header and first != "source\ttarget")


def test_a_dictionary_has_no_header(tmp_path: Path) -> None:
    """Of single words nothing tells the first pair from the others."""
    path = tmp_path / "words.tsv"
    path.write_text("chat\tcat\nchien\tdog\nmaison\thouse\n", encoding="utf-8")
    data = TASK.read(TranslationRecipe(train_files=[str(path)]), "train")
    assert data is not None
    assert data[0] == {"source": "chat", "target": "cat"}
