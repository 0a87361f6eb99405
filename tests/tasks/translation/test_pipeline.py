# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""pipeline("machine-translation"): batches, beams, alignments, inputs, and that it travels with the model."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, pipeline

from hf_lecture_models.hub import export
from hf_lecture_models.tasks.translation.alignment import align, words_of
from hf_lecture_models.tasks.translation.pipeline import MachineTranslationPipeline
from hf_lecture_models.tasks.translation.translate import translate, translate_n_best
from tests.forked_python import PATIENCE
from tests.tasks.many_inputs import check_forms, check_laziness
from tests.tasks.small_translator import MODELS, SOURCES, make_translator, save_translator

NAME: Any = "machine-translation"


@pytest.fixture(scope="module", params=list(MODELS))
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_translator(tmp_path_factory.mktemp("translator") / "model", request.param)


@pytest.fixture(scope="module")
def translator(folder: Path) -> Any:
    return pipeline(NAME, model=str(folder))


@pytest.mark.cases(1, 2)
def test_it_is_what_generate_gives_for_one_text_alone(translator: Any) -> None:
    """Of the model, one by one, without padding; so batches change nothing, of greedy search and of beams."""
    model, tokenizer = translator.model, translator.tokenizer
    for options in ({"num_beams": 1}, {"num_beams": 3, "length_penalty": 0.5}):
        expected = []
        for text in SOURCES:
            inputs = tokenizer(text, return_tensors="pt")
            length = inputs["input_ids"].shape[1]
            limit = min(2 * length + 10, getattr(model.config, "max_position_embeddings", 99) - 1)
            ids = model.generate(**inputs, **options, max_new_tokens=limit)[0]
            expected.append(tokenizer.decode(ids, skip_special_tokens=True).strip())
        assert len({*expected}) > 2, "else there would be nothing to mix up"
        for size in (1, 3, 8):
            found = translator(SOURCES, batch_size=size, **options)
            assert [one["translation_text"] for one in found] == expected
            assert all(("score" in one) == (options["num_beams"] > 1) for one in found)


def test_several_translations_are_the_best_ones_in_order(translator: Any) -> None:
    found = translator(SOURCES, num_beams=3, num_return_sequences=3, max_new_tokens=5)
    assert [len(one) for one in found] == [3] * len(SOURCES)
    best = translator(SOURCES, num_beams=3, max_new_tokens=5)
    for entries, one in zip(found, best, strict=True):
        assert entries[0]["translation_text"] == one["translation_text"]
        scores = [entry["score"] for entry in entries]
        assert scores == sorted(scores, reverse=True)


@pytest.mark.cases(1, 2)
def test_inputs(translator: Any) -> None:
    one = translator(SOURCES[0], num_beams=1)
    assert translator([SOURCES[0]], num_beams=1) == [one]
    assert translator((SOURCES[0],), num_beams=1) == [one]
    three = translator(SOURCES[:3], num_beams=1)
    assert list(translator((text for text in SOURCES[:3]), num_beams=1, batch_size=2)) == three
    assert translator([]) == []
    with pytest.raises(TypeError, match="takes a text or several"):
        translator(3)
    with pytest.raises(TypeError, match="one of them is a int"):
        translator(["a", 3])
    with pytest.raises(ValueError, match="text 2 of 2 is blank: there is nothing to translate"):
        translator(["a", " "])
    with pytest.raises(ValueError, match="batch_size is 0"):
        translator("a", batch_size=0)


@pytest.mark.cases(1, 2)
def test_data_sets_and_streams(translator: Any) -> None:
    """KeyDataset, the form that transformers' documentation recommends, was "a text or several, not KeyDataset"."""
    options = {"num_beams": 1, "max_new_tokens": 4}
    answers = lambda inputs, **size: translator(inputs, **options, **size)  # noqa: E731
    check_forms(answers, SOURCES[:3], translator(SOURCES[:3], **options))
    check_laziness(answers, SOURCES[0])
    for wrong in ({"text": "a"}, b"a", None):
        with pytest.raises(TypeError, match="machine-translation takes a text or several, not"):
            translator(wrong)
    with pytest.raises(TypeError, match="one of them is a dict"):
        next(translator(iter([{"text": "a"}])))


def test_a_source_past_the_limit() -> None:
    model, tokenizer = make_translator("stock")
    with pytest.raises(ValueError, match=r"text 2 of 2 has \d+ tokens and the model reads 64 at most"):
        translate(model, tokenizer, ["a", "la " * 70])
    (cut,) = translate(model, tokenizer, ["la " * 70], max_length=10)
    assert len(cut.source_ids) == 10
    (long,) = translate(model, tokenizer, ["la " * 30])
    assert len(long.ids) < 64


def test_the_alignment_is_the_models_cross_attention(translator: Any) -> None:
    model, tokenizer = translator.model, translator.tokenizer
    text = SOURCES[5]
    (found,) = translate(model, tokenizer, [text], num_beams=3)
    (alignment,) = align(model, tokenizer, [found])
    shown = translator(text, num_beams=3, alignment=True)["alignment"]
    assert (tuple(shown["source"]), tuple(shown["target"])) == (alignment.source, alignment.target)
    assert alignment.source == (*text.split(), tokenizer.eos_token)
    weights = torch.tensor(shown["weights"])
    assert weights.shape == (len(alignment.target), len(alignment.source))
    torch.testing.assert_close(weights.sum(1), torch.ones(len(weights)))
    torch.testing.assert_close(weights, torch.cat(alignment.layers).mean(0))
    # By hand, from what generate returns of greedy search, token by token.
    (greedy,) = translate(model, tokenizer, [text], num_beams=1, max_new_tokens=6)
    options = {"num_beams": 1, "max_new_tokens": 6, "output_attentions": True, "return_dict_in_generate": True}
    model.set_attn_implementation("eager")
    steps = model.generate(**tokenizer(text, return_tensors="pt"), **options).cross_attentions
    by_token = torch.stack([torch.cat([layer[0, :, -1] for layer in step]).mean(0) for step in steps])
    (alignment,) = align(model, tokenizer, [greedy])
    places, columns = words_of(tokenizer, greedy.ids)[1], words_of(tokenizer, greedy.source_ids)[1]
    expected = torch.zeros(max(places) + 1, max(columns) + 1)
    for row, place in enumerate(places):
        for column, of in enumerate(columns):
            expected[place, of] += by_token[row, column] / places.count(place)
    torch.testing.assert_close(alignment.of(), expected)


def test_a_model_without_attention_shows_no_alignment() -> None:
    model, tokenizer = make_translator("ours", model=MODELS["ours"] | {"attention_type": "none"})
    found = translate(model, tokenizer, SOURCES[:1])
    with pytest.raises(ValueError, match="gives no attention weights from target to source"):
        align(model, tokenizer, found)


def test_heads_and_layers_are_counted_from_one() -> None:
    model, tokenizer = make_translator("stock")
    (alignment,) = align(model, tokenizer, translate(model, tokenizer, SOURCES[:1]))
    assert [len(layer) for layer in alignment.layers] == [2, 2]
    assert torch.equal(alignment.of(2, 1), alignment.layers[1][0])
    for layer, head, message in ((3, None, "no layer 3"), (1, 3, "no head 3"), (None, 1, "a head belongs to a layer")):
        with pytest.raises(ValueError, match=message):
            alignment.of(layer, head)


_WITHOUT_PACKAGE = """
import json, sys
sys.modules["hf_lecture_models"] = None
from transformers import pipeline
translator = pipeline("machine-translation", model=sys.argv[1], trust_remote_code=True)
found = translator(json.loads(sys.argv[2]), num_beams=2, alignment=True)
print(json.dumps([type(translator.tokenizer).__name__, found]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("joint", [True, False])
def test_it_travels_with_the_model(joint: bool, tmp_path: Path) -> None:
    folder = save_translator(tmp_path / "model", "ours", joint_vocabulary=joint)
    model, tokenizer = make_translator("ours", joint_vocabulary=joint)
    export(model, tokenizer, tmp_path / "out")
    entry = json.loads((tmp_path / "out" / "config.json").read_text())["custom_pipelines"][NAME]
    assert entry["impl"] == "tasks_translation_pipeline.MachineTranslationPipeline"
    assert type(pipeline(NAME, model=str(tmp_path / "out"))) is MachineTranslationPipeline
    command = [sys.executable, "-c", _WITHOUT_PACKAGE, str(tmp_path / "out"), json.dumps(SOURCES)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    ours = pipeline(NAME, model=str(folder))(SOURCES, num_beams=2, alignment=True)
    kind, theirs = json.loads(done.stdout)
    assert (kind == "TokenizerPair") == (not joint)
    assert [one["translation_text"] for one in theirs] == [one["translation_text"] for one in ours]


def test_a_model_in_memory_with_two_vocabularies() -> None:
    model, pair = make_translator("ours", joint_vocabulary=False)
    (expected,) = translate(model, pair, SOURCES[:1])
    assert pipeline(NAME, model=model, tokenizer=pair)(SOURCES[0])["translation_text"] == expected.text
    message = "the model has two vocabularies and comes from no folder.* as tokenizer=TokenizerPair"
    with pytest.raises(ValueError, match=message):
        pipeline(NAME, model=model, tokenizer=pair.source)


def test_the_auto_classes_give_the_same(folder: Path) -> None:
    model, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    found = translate_n_best(model, tokenizer, SOURCES[:2])
    again = pipeline(NAME, model=model, tokenizer=tokenizer)(SOURCES[:2])
    assert [one[0].text for one in found] == [one["translation_text"] for one in again]


def test_a_saved_copy_has_both_tokenizers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    save_translator(tmp_path / "model", "ours", joint_vocabulary=False)
    monkeypatch.chdir(tmp_path)
    first = pipeline(NAME, model="model")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    first.save_pretrained("copy")
    assert pipeline(NAME, model="copy")(SOURCES) == first(SOURCES)
    assert "max_new_tokens" not in capfd.readouterr().err  # transformers warns of two limits
    shutil.rmtree(tmp_path / "elsewhere" / "copy" / "target_tokenizer")
    with pytest.raises(FileNotFoundError, match="copy has no folder target_tokenizer, which its config.json names"):
        pipeline(NAME, model="copy")
