# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from hf_lecture_models.models.recurrent import RecurrentConfig, RecurrentForCausalLM
from hf_lecture_models.tasks.core.shuffled import ShuffledBatches
from hf_lecture_models.tasks.language_models.blocks import BlockCollator, StreamBatches, token_stream
from hf_lecture_models.tasks.language_models.streamed_blocks import StreamedBlocks
from hf_lecture_models.tasks.language_models.tokens import text_spans
from hf_lecture_models.tokenization.word import WordTokenizer
from hf_lecture_models.trainer.batches import RowShard
from hf_lecture_models.trainer.recipe import TrainingRecipe
from tests.interop.small_models import small_tokenizer
from tests.trainer.small_runs import KINDS, make_batches, make_model

TEXTS = ["a b c", "", "d", "e f a b", "c c c c c c c", "b"]


@pytest.fixture(scope="module")
def tokenizer():
    return WordTokenizer.train(TEXTS, progress=False)


@pytest.fixture(scope="module")
def model(tokenizer):
    torch.manual_seed(0)
    config = RecurrentConfig(
        vocab_size=len(tokenizer),
        hidden_size=8,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return RecurrentForCausalLM(config).eval()


def targets(batch):
    labels = batch.inputs["shift_labels"]
    return labels[labels != -100].tolist()


def run(batches, model, steps):
    """The summed loss and the targets of some steps, with whatever state the batches carry."""
    total, seen = 0.0, []
    for _ in range(steps):
        for index, batch in enumerate(batches.next_step()):
            outputs = model(**batch.inputs, num_items_in_batch=1)
            batches.on_step_outputs(index, outputs)
            total += outputs.loss.item()
            seen += targets(batch)
            assert batch.num_items == len(targets(batch))
    return total, seen


def test_the_stream_is_begin_words_end_for_each_text(tokenizer):
    stream, starts = token_stream(tokenizer, ["a b", "", "c"])
    names = tokenizer.convert_ids_to_tokens(stream.tolist())
    assert names == ["<s>", "a", "b", "</s>", "<s>", "</s>", "<s>", "c", "</s>"]
    assert starts.tolist() == [0, 4, 6]


def test_a_tokenizer_without_an_end_is_refused():
    with pytest.raises(ValueError, match="its eos_token_id None"):
        token_stream(SimpleNamespace(bos_token_id=1, eos_token_id=None), ["a"])


@given(st.lists(st.integers(0, 6), min_size=1, max_size=8), st.integers(1, 5), st.integers(1, 7), st.integers(1, 3))
@settings(max_examples=60)
def test_each_token_but_begin_is_predicted_once_in_a_stream(lengths, batch_size, sequence_length, accumulation):
    stream = np.concatenate([[90, *range(10, 10 + n), 91] for n in lengths]).astype(np.int32)
    rows = batch_size * accumulation
    batches = StreamBatches(stream, rows, sequence_length, bos_id=90)
    batches.set_shard(RowShard(rows, accumulation))
    seen = Counter()
    for _ in range(batches.steps_per_epoch):
        for batch in batches.next_step():
            seen.update(targets(batch))
    assert seen == Counter(stream.tolist()) - Counter({90: len(lengths)})


@pytest.mark.parametrize("sequence_length", [1, 3, 4, 100])
def test_the_loss_over_segments_with_carried_state_is_that_of_the_uncut_stream(tokenizer, model, sequence_length):
    stream, _ = token_stream(tokenizer, TEXTS)
    batches = StreamBatches(stream, 1, sequence_length, tokenizer.bos_token_id)
    total, _ = run(batches, model, batches.steps_per_epoch)
    ids = torch.from_numpy(stream.astype(np.int64))
    labels = ids[1:].masked_fill(ids[1:] == tokenizer.bos_token_id, -100)
    uncut = F.cross_entropy(model(ids[None, :-1]).logits[0], labels, reduction="sum").item()
    assert total == pytest.approx(uncut, rel=1e-5)


def test_streams_start_empty_in_each_epoch(tokenizer, model):
    stream, _ = token_stream(tokenizer, TEXTS)
    batches = StreamBatches(stream, 2, 4, tokenizer.bos_token_id)
    first = run(batches, model, batches.steps_per_epoch)
    assert run(batches, model, batches.steps_per_epoch) == first


def test_rows_that_cannot_be_shared_are_refused():
    with pytest.raises(ValueError, match="make it a multiple of 6"):
        RowShard(8, accumulation_steps=3, num_processes=2)


def test_a_model_without_recurrent_state_cannot_be_streamed(tokenizer):
    stream, _ = token_stream(tokenizer, TEXTS)
    with pytest.raises(ValueError, match="use layout blocks"):
        StreamBatches(stream, 1, 3, tokenizer.bos_token_id).on_step_outputs(0, SimpleNamespace(past_key_values=None))


@pytest.mark.parametrize("longest", [2, 3, 50])
@pytest.mark.parametrize("per_text", [True, False])
def test_each_token_but_begin_is_predicted_once_in_shuffled_rows(tokenizer, longest, per_text):
    stream, starts = token_stream(tokenizer, TEXTS)
    starts, lengths = text_spans(starts if per_text else np.zeros(1, np.int64), len(stream), longest)
    rows = BlockCollator(stream, starts, lengths, tokenizer.bos_token_id, tokenizer.pad_token_id)
    batches = ShuffledBatches(len(starts), rows, batch_size=4, seed=0)
    batches.set_shard(RowShard(4, accumulation_steps=2))
    for _ in range(2):
        seen = Counter()
        for _ in range(batches.steps_per_epoch):
            for batch in batches.next_step():
                seen.update(targets(batch))
        assert seen == Counter(stream.tolist()) - Counter({tokenizer.bos_token_id: len(TEXTS)})


def test_padded_rows_have_the_loss_of_the_single_texts(tokenizer, model):
    stream, starts = token_stream(tokenizer, TEXTS)
    starts, lengths = text_spans(starts, len(stream), 50)
    rows = BlockCollator(stream, starts, lengths, tokenizer.bos_token_id, tokenizer.pad_token_id)
    batch = rows(np.array([0, 1, 2, 3, 4, 5, -1]))
    single = sum(model(**rows(np.array([i])).inputs, num_items_in_batch=1).loss.item() for i in range(6))
    assert model(**batch.inputs, num_items_in_batch=1).loss.item() == pytest.approx(single, rel=1e-5)


class TextsInMemory(list):
    """What the batches ask of a streamed data set."""

    def set_epoch(self, epoch):
        pass


def streamed_blocks(tokenizer):
    recipe = SimpleNamespace(batch_size=3, sequence_length=4, shuffle_buffer=0, text_column="text")
    return StreamedBlocks(TextsInMemory({"text": text} for text in TEXTS), tokenizer, recipe)


@pytest.mark.parametrize("layout", ["rows", "streamed"])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if "bert" not in kind])
def test_a_models_mean_is_over_the_items_of_its_batch(tokenizer, kind, layout):
    """Padded rows, empty rows and `<s>` among them: what the loop weighs by must be what the model divided by."""
    model = make_model(kind).eval()
    if layout == "rows":
        batches = make_batches(kind, TrainingRecipe(batch_size=8))
    else:
        batches = streamed_blocks(small_tokenizer())
    for _ in range(5):
        for index, batch in enumerate(batches.next_step()):
            outputs = model(**batch.inputs)
            batches.on_step_outputs(index, outputs)
            labels = batch.inputs["shift_labels"]
            expected = F.cross_entropy(model(**batch.inputs).logits.flatten(0, 1), labels.flatten(), reduction="sum")
            assert outputs.loss.item() * batch.num_items == pytest.approx(expected.item(), rel=1e-5)
