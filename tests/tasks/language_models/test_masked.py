# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Pre-training as a task: ours and transformers' own models, with next sentences and without."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch.nn import functional as F
from transformers import (
    AlbertConfig,
    AlbertForPreTraining,
    BertForNextSentencePrediction,
    ElectraConfig,
    ElectraForPreTraining,
    GPT2Config,
    GPT2LMHeadModel,
    RobertaConfig,
    RobertaForMaskedLM,
    T5Config,
    T5ForConditionalGeneration,
)

from hf_lecture_models.hub.card import render_card
from hf_lecture_models.hub.facts import facts_of, plain_task
from hf_lecture_models.hub.publish import prepare
from hf_lecture_models.loading import load_model
from hf_lecture_models.tasks.core.main import train_and_test
from hf_lecture_models.tasks.language_models.masked import MASKING_SEED, MaskedLM, MaskedLMRecipe, measure_masked
from hf_lecture_models.tasks.language_models.masked_batches import IS_RANDOM, MaskedBatches
from hf_lecture_models.tasks.registry import measure_file, task_of
from tests.tasks.small_pretraining import TEXTS, masked_texts, small_bert, word_tokenizer

KINDS = {"ours": (True, True), "stock": (False, True), "ours, words": (True, False), "stock, words": (False, False)}
# Both models and both objectives; the other two combinations are slow.
TRAINED = [pytest.param(kind, marks=[] if kind in ("ours", "stock, words") else pytest.mark.slow) for kind in KINDS]
TASK = MaskedLM()


def recipe(**fields: Any) -> MaskedLMRecipe:
    """Documents of one line each, in steps of half of them."""
    small = {"documents": "texts", "sequence_length": 16, "batch_size": 8, "learning_rate": 0.02, "log_every": 1}
    return MaskedLMRecipe(**small | fields)


@pytest.fixture(scope="module", params=TRAINED)
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A kind, and the folder of its model, trained and tested by a recipe."""
    folder = tmp_path_factory.mktemp("trained") / "run"
    ours, pairs = KINDS[request.param]
    start = tmp_path_factory.mktemp("start")
    small_bert(word_tokenizer(), ours, pairs).save_pretrained(start)
    word_tokenizer().save_pretrained(start)
    test = start / "test.txt"
    test.write_text("\n".join(TEXTS[8:]), encoding="utf-8")
    fields = {"train_texts": TEXTS, "validation_texts": TEXTS[3:9], "epochs": 8, "test_files": [str(test)]}
    data = {"name": "Short Lines", "language": "en"}
    chosen = recipe(from_pretrained=str(start), output_dir=str(folder), data=data, next_sentence=pairs, **fields)
    train_and_test(TASK, chosen)
    return request.param, folder


@pytest.mark.cases(1, 1)
@pytest.mark.parametrize("kind", TRAINED)
def test_each_kind_learns_and_the_folder_is_the_best_model(tmp_path: Path, kind: str) -> None:
    ours, pairs = KINDS[kind]
    tokenizer = word_tokenizer()
    before = TASK.evaluate(small_bert(tokenizer, ours, pairs), tokenizer, TEXTS, recipe())
    model = small_bert(tokenizer, ours, pairs, dropout=0.1)
    chosen = recipe(next_sentence=pairs, epochs=10, learning_rate=0.005, evaluate_every=30)
    result = TASK.train(model, tokenizer, TEXTS * 4, TEXTS, chosen, output_dir=tmp_path, quiet=True)
    assert result.best_metric is not None
    assert result.best_metric < 0.6 * before["masked_perplexity"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_measures_are_those_of_a_loop_over_rows(kind: str) -> None:
    ours, pairs = KINDS[kind]
    tokenizer = word_tokenizer()
    model = small_bert(tokenizer, ours, pairs).eval()
    chosen = recipe(next_sentence=pairs)
    measured = TASK.evaluate(model, tokenizer, TEXTS, chosen)
    texts = masked_texts(tokenizer, TEXTS, next_sentence=pairs)
    rows = texts.draw(np.arange(len(texts)), np.random.default_rng(MASKING_SEED))
    nats, right, targets, right_pairs, count = 0.0, 0, 0, 0, 0
    for row in range(len(texts)):
        batch = rows.to_batch(slice(row, row + 1)).inputs
        labels, pair = batch.pop("labels")[0], batch.pop("next_sentence_label", None)
        with torch.no_grad():
            outputs = model(**batch)
        logits = (outputs.prediction_logits if pairs else outputs.logits)[0]
        for position in (labels != -100).nonzero().flatten().tolist():
            nats -= torch.log_softmax(logits[position], 0)[labels[position]].item()
            right += int(logits[position].argmax() == labels[position])
            targets += 1
        if pair is not None:
            count += 1
            right_pairs += int((outputs.seq_relationship_logits[0].argmax() == 1) == (pair[0] == IS_RANDOM))
    assert measured["masked_perplexity"] == pytest.approx(math.exp(nats / targets), rel=1e-5)
    assert measured["masked_accuracy"] == pytest.approx(right / targets)
    assert (measured["targets"], measured.get("pairs", 0)) == (targets, count)
    if pairs:
        assert measured["next_sentence_accuracy"] == pytest.approx(right_pairs / count)
    assert TASK.evaluate(model, tokenizer, TEXTS, recipe(next_sentence=pairs, seed=7)) == measured


def test_few_logits_at_once_measure_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = word_tokenizer()
    model = small_bert(tokenizer)
    expected = TASK.evaluate(model, tokenizer, TEXTS, recipe())
    monkeypatch.setattr("hf_lecture_models.tasks.language_models.masked._MOST_LOGITS", 1)
    assert TASK.evaluate(model, tokenizer, TEXTS, recipe()) == pytest.approx(expected, rel=1e-5)
    assert model.training


@pytest.mark.parametrize("ours", [True, False])
def test_the_loss_is_the_mean_over_masked_tokens_and_that_over_pairs(ours: bool) -> None:
    """What the loop weighs by must be what the model divided by; and the second term stands in the model's loss."""
    tokenizer = word_tokenizer()
    model = small_bert(tokenizer, ours).eval()
    source = MaskedBatches(masked_texts(tokenizer, TEXTS), batch_size=8, seed=0)
    for _ in range(source.steps_per_epoch):
        (batch,) = source.next_step()
        outputs, logits = model(**batch.inputs), model(**batch.inputs).prediction_logits
        labels, second = batch.inputs["labels"], batch.second_term
        assert second is not None
        words = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum") / batch.num_items
        pairs = second.of(outputs)
        label = batch.inputs["next_sentence_label"]
        total = F.cross_entropy(outputs.seq_relationship_logits, label, reduction="sum")
        assert pairs.item() == pytest.approx(total.item() / second.num_items, rel=1e-5)
        assert outputs.loss.item() == pytest.approx((words + pairs).item(), rel=1e-5)


def test_a_head_that_a_checkpoint_lacks_starts_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tokenizer = word_tokenizer()
    start = small_bert(tokenizer, pairs=False)
    start.save_pretrained(tmp_path)
    model = TASK.model(recipe(from_pretrained=str(tmp_path)), tokenizer, TEXTS)
    told = capsys.readouterr().err
    assert "seq_relationship" in told
    assert "pooler" in told
    assert "embed_tokens" not in told
    assert torch.equal(model.lm_head.weight, start.lm_head.weight)


def test_data_and_models_that_do_not_fit_are_refused() -> None:
    tokenizer = word_tokenizer()
    plain, model = small_bert(tokenizer, pairs=False), small_bert(tokenizer)
    for other, pairs, message in (
        (plain, True, "predicts no next sentences; set next_sentence false, or load the model by Au"),
        (model, False, "LectureBertForPreTraining needs pairs; set next_sentence true, or load the model"),
    ):
        with pytest.raises(ValueError, match=message):
            TASK.batches(other, tokenizer, TEXTS, recipe(next_sentence=pairs))
    with pytest.raises(ValueError, match="^validation or test data: next sentences need two documents"):
        TASK.evaluation(model, tokenizer, TEXTS[4:5], recipe())
    zebras = ["zebra zebra"] * 3
    with pytest.raises(ValueError, match="no token to mask; all of them are special or unknown"):
        TASK.evaluate(plain, tokenizer, zebras, recipe())


def test_the_task_of_a_model_is_that_of_its_class() -> None:
    tokenizer, shape = word_tokenizer(), {"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 1}
    for ours, pairs in KINDS.values():
        model = small_bert(tokenizer, ours, pairs)
        assert task_of(model).name == "masked_lm"
        tag, auto = plain_task(model)["pipeline_tag"], plain_task(model)["auto_class"]
        assert (tag, auto) == ("fill-mask", "AutoModelForPreTraining" if pairs else "AutoModelForMaskedLM")
    roberta = RobertaForMaskedLM(RobertaConfig(vocab_size=9, intermediate_size=8, **shape))
    assert task_of(roberta).name == "masked_lm"
    gpt2 = GPT2LMHeadModel(GPT2Config(vocab_size=9, n_embd=8, n_layer=1, n_head=2))
    assert task_of(gpt2).name == "causal_lm"
    t5 = T5ForConditionalGeneration(T5Config(vocab_size=9, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2))
    assert task_of(t5).name == "translation"
    config = AlbertConfig(vocab_size=9, embedding_size=4, intermediate_size=8, **shape)
    electra = ElectraForPreTraining(ElectraConfig(vocab_size=9, embedding_size=4, intermediate_size=8, **shape))
    bert = BertForNextSentencePrediction(small_bert(tokenizer, ours=False).config)
    for other in (AlbertForPreTraining(config), electra, bert):
        with pytest.raises(ValueError, match="is a model of none of the tasks"):
            task_of(other)


def test_the_card_of_a_trained_folder(trained: tuple[str, Path]) -> None:
    kind, folder = trained
    pairs = KINDS[kind][1]
    model, tokenizer = load_model(str(folder))
    facts = facts_of(folder, model, tokenizer)
    assert facts["task"]["auto_class"] == ("AutoModelForPreTraining" if pairs else "AutoModelForMaskedLM")
    assert facts["data"] == {"name": "Short Lines", "language": "en", "split": "test"}
    card = render_card(facts | {"data": facts["data"] | {"hub_id": "somebody/lines"}})
    assert card.data.pipeline_tag == "fill-mask"
    keys = ["masked_perplexity", "masked_accuracy", *(["next_sentence_accuracy"] if pairs else [])]
    assert [result.metric_type for result in card.data.eval_results] == keys
    assert ("| accuracy of next sentences |" in card.text) == pairs
    assert "15 % of the tokens of each row masked, by seed 0; rows of at most 16 tokens." in card.text
    counted = f"Counted over {facts['results']['targets']} masked tokens"
    assert f"{counted} and {facts['results'].get('pairs')} pairs." in card.text if pairs else f"{counted}." in card.text
    assert ("AutoModelForPreTraining" in card.text) == pairs


def test_what_is_published_loads(trained: tuple[str, Path], tmp_path: Path) -> None:
    kind, folder = trained
    model, tokenizer = load_model(str(folder))
    stage = prepare(model, tokenizer, "somebody/small", tmp_path / "stage", facts_of(folder, model, tokenizer))
    assert any(stage.glob("*.py")) == KINDS[kind][0]
    loaded, _ = load_model(str(stage))
    assert type(loaded) is type(model)
    weights = load_file(stage / "model.safetensors")
    assert all(torch.equal(tensor, loaded.state_dict()[name]) for name, tensor in weights.items())
    bare = prepare(model, tokenizer, "somebody/bare", tmp_path / "bare")
    text = (bare / "README.md").read_text()
    assert 'pipeline("fill-mask", model="somebody/bare")' in text
    assert "Nothing was measured." in text


def test_a_file_is_measured_as_the_model_was_trained(trained: tuple[str, Path], tmp_path: Path) -> None:
    kind, folder = trained
    pairs = KINDS[kind][1]
    model, tokenizer = load_model(str(folder))
    facts = facts_of(folder, model, tokenizer)
    (tmp_path / "more.tokens").write_text("\n".join(TEXTS), encoding="utf-8")
    measured = measure_file(tmp_path / "more.tokens", model, tokenizer, facts)
    assert measured["task"] == facts["task"]
    assert measured["data"]["split"] == "more.tokens"
    assert measured["results"] == measure_masked(
        model, masked_texts(tokenizer, TEXTS, next_sentence=pairs), recipe(next_sentence=pairs)
    )
    # Of a model from elsewhere nothing is known but itself.
    (tmp_path / "parted.txt").write_text("\n\n".join(TEXTS), encoding="utf-8")
    with pytest.raises(ValueError, match="sequence_length 128 is more than the model's longest input"):
        measure_file(tmp_path / "parted.txt", model, tokenizer, {})
    fresh = small_bert(tokenizer, *KINDS[kind], max_position_embeddings=128)
    found = measure_file(tmp_path / "parted.txt", fresh, tokenizer, {})
    assert ("next_sentence_accuracy" in found["results"]) == pairs
