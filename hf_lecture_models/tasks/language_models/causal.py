# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Causal language models: texts as streams of tokens, each predicted from those before; measured by perplexity."""

import inspect
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM

from hf_lecture_models.base.limits import check_tokenizer, refuse_long_rows
from hf_lecture_models.base.traits import trait
from hf_lecture_models.data.fingerprint import fingerprint_files
from hf_lecture_models.data.reading import read_part_texts, read_test_texts
from hf_lecture_models.data.recipe import TextsRecipe
from hf_lecture_models.data.streaming import stream_texts, streamed_lines
from hf_lecture_models.evaluation.language_model import evaluate_language_model
from hf_lecture_models.io.auto_classes import gives_saved_model
from hf_lecture_models.io.recipe import setting
from hf_lecture_models.tasks.core.baselines import LearnedBaseline
from hf_lecture_models.tasks.core.factories import load_checkpoint, make_model, tokenizer_for
from hf_lecture_models.tasks.core.settings import Settings
from hf_lecture_models.tasks.core.shuffled import ShuffledBatches
from hf_lecture_models.tasks.core.task import Encoded, Measure, TaskRecipe
from hf_lecture_models.tasks.language_models.baseline import TextSums, Unigram, measure_texts
from hf_lecture_models.tasks.language_models.blocks import BlockCollator, StreamBatches, token_stream
from hf_lecture_models.tasks.language_models.streamed_blocks import StreamedBlocks
from hf_lecture_models.tasks.language_models.texts import TextsTask
from hf_lecture_models.tasks.language_models.tokens import text_spans
from hf_lecture_models.tokenization.corpus import fingerprint
from hf_lecture_models.trainer.batches import Batches

if TYPE_CHECKING:
    from hf_lecture_models.trainer.loop import Evaluation, TrainingResult

# The number of streamed texts whose tokens are counted for a model that needs counts.
_COUNTED_TEXTS = 10_000
# The number of texts in the fingerprint of a stream that does not come from local files.
_FINGERPRINTED_TEXTS = 1_000
_LAYOUT = "stream: parallel streams with carried state; blocks: shuffled pieces of the stream; texts: one row per text"
_MEASURES = (
    Measure("perplexity", "perplexity per token", True),
    Measure("perplexity_without_unk", "perplexity per token, unknown ones left out", True, "perplexity"),
    Measure("word_perplexity", "perplexity per word", True, "perplexity"),
    Measure(
        "word_perplexity_without_unk",
        "perplexity per word, unknown ones left out",
        True,
        "perplexity_without_unk",
    ),
    Measure("bits_per_byte", "bits per byte", True),
    Measure(
        "bits_per_byte_excluding_oov",
        "bits per byte, the spelling of unknown words left out (no real code length)",
        True,
        "bits_per_byte",
    ),
)


@dataclass(kw_only=True)
class CausalLMSettings(Settings):
    """The settings of a causal language model; one without a recipe, such as an n-gram, is measured text by text."""

    layout: str = setting("texts", _LAYOUT, choices=("stream", "blocks", "texts"))


@dataclass(kw_only=True)
class CausalLMRecipe(CausalLMSettings, TaskRecipe, TextsRecipe):
    """The recipe of a causal language model."""

    layout: str = setting("blocks", _LAYOUT, choices=("stream", "blocks", "texts"))
    sequence_length: int = setting(128, "tokens of a segment, a block, or the longest piece of a text", least=1)
    streaming: bool = setting(False, "read the training data while training, with layout blocks and max_steps")
    shuffle_buffer: int = setting(0, "rows of a streamed data set to shuffle among; a resumed run loses them", least=0)
    model: dict[str, Any] = setting({"model_type": "lecture_recurrent"}, "model_type and the fields of its config")

    def effective_batch(self) -> str:
        """Return the rows and tokens of one optimizer step; with layout texts the tokens are a limit."""
        limit = "at most " if self.layout == "texts" else ""
        tokens = self.batch_size * self.sequence_length
        return f"{self.batch_size} rows x {self.sequence_length} = {limit}{tokens:,} tokens"


class CausalLM(TextsTask[CausalLMRecipe]):
    """The task of predicting the next token; its data are a list or a streamed `IterableDataset` of texts.

    >>> [measure.key for measure in CausalLM().measures(CausalLMRecipe())][:3]
    ['perplexity', 'perplexity_without_unk', 'word_perplexity']
    """

    name = "causal_lm"
    auto_class = AutoModelForCausalLM
    pipeline_tag = "text-generation"
    items = "tokens"
    script = "train_causal_lm.py"
    next_command = "hf-lecture generate {} --prompt 'The'"
    recipe_class = CausalLMRecipe
    settings_class = CausalLMSettings
    baseline = Unigram()

    def measures(self, settings: CausalLMSettings | None = None) -> tuple[Measure, ...]:
        """Return what `evaluate_language_model` measures, whatever the recipe."""
        return _MEASURES

    def read(self, recipe: CausalLMRecipe, part: str) -> Any:
        """Return a list of texts; of training data with `streaming`, an `IterableDataset`; to test on, `FileLines`."""
        if part == "train" and recipe.streaming:
            texts = stream_texts(recipe)
            return texts.shuffle(recipe.seed, buffer_size=recipe.shuffle_buffer) if recipe.shuffle_buffer else texts
        return read_test_texts(recipe) if part == "test" else read_part_texts(recipe, part)

    def processor(self, recipe: CausalLMRecipe, data: Any) -> Any:
        """Return the tokenizer."""
        return tokenizer_for(recipe, streamed_lines(data, recipe.text_column) if recipe.streaming else data)

    def model(self, recipe: CausalLMRecipe, processor: Any, data: Any) -> Any:
        """Return the language model; a checkpoint must hold a causal language model with all of its weights."""
        if not recipe.from_pretrained:
            return make_model(self.auto_class, recipe.model, processor, recipe.seed)
        model, new = load_checkpoint(self.auto_class, recipe.from_pretrained, recipe.seed)
        if not gives_saved_model(self.auto_class, model.config):
            saved = ", ".join(model.config.architectures or ())
            raise ValueError(f"{recipe.from_pretrained} holds {saved}, which is no causal language model")
        if new:
            raise ValueError(f"{recipe.from_pretrained} lacks weights of {type(model).__name__}: {', '.join(new[:5])}")
        return model

    def batches(self, model: Any, processor: Any, data: Any, recipe: CausalLMRecipe) -> Batches:
        """Return the batches of the recipe's layout."""
        check_tokenizer(model, processor)
        refuse_long_rows(model, recipe.sequence_length)
        return make_batches(processor, data, recipe, model)

    def encode(self, model: Any, processor: Any, data: Any, settings: CausalLMSettings) -> Encoded:
        """Return the texts themselves; `evaluate_language_model` encodes them, a few thousand at a time."""
        return Encoded(data, data)

    def measure(self, model: Any, processor: Any, encoded: Encoded, settings: CausalLMSettings) -> dict[str, Any]:
        """Measure by `evaluate_language_model`: on one stream after layouts stream and blocks, else text by text."""
        return evaluate_language_model(model, processor, encoded.inputs, stream=settings.layout != "texts")

    def answers(self, model: Any, processor: Any, encoded: Encoded, settings: CausalLMSettings) -> TextSums:
        """Return the measures with the sums of each text, for a comparison with the baseline."""
        return measure_texts(model, processor, encoded.inputs, settings)

    def measure_answers(
        self, model: Any, processor: Any, encoded: Encoded, answers: TextSums, settings: CausalLMSettings
    ) -> dict[str, Any]:
        """Return the measures."""
        return answers.measures

    def evaluation(
        self, model: Any, processor: Any, data: Any, recipe: CausalLMRecipe, beside: LearnedBaseline | None = None
    ) -> "Evaluation":
        """Measure by perplexity, which must be finite."""
        if not len(data):
            raise ValueError("validation_texts is empty; give None to measure nothing")
        found = super().evaluation(model, processor, data, recipe, beside)
        return replace(found, measure=partial(_measure_finite, found.measure))

    def fingerprint(self, recipe: CausalLMRecipe, part: str, data: Any) -> str:
        """Return a checksum of the texts.

        For streamed texts it is that of their local files, or else of the first 1,000 texts: a data set of the Hub is
        the same by its revision, which the recipe names.
        """
        if part != "train" or not recipe.streaming:
            return "none" if data is None else fingerprint(data)
        if recipe.train_files:
            return fingerprint_files(recipe.train_files)
        return fingerprint(row[recipe.text_column] for row in islice(data, _FINGERPRINTED_TEXTS))

    def training_options(self, model: Any, recipe: CausalLMRecipe) -> dict[str, Any]:
        """Turn off what training does not need: logits besides the loss, and the cache."""
        options: dict[str, Any] = {"logits_to_keep": 1} if trait(model, "loss_without_logits") else {}
        if recipe.layout != "stream" and "use_cache" in inspect.signature(model.forward).parameters:
            options["use_cache"] = False
        return {"forward_options": options}


def _measure_finite(measure: Callable[[Any], dict[str, Any]], model: Any) -> dict[str, Any]:
    measures = measure(model)
    if measures["unk_token"] is None and measures["unknown"] and math.isinf(measures["perplexity"]):
        raise FloatingPointError(
            "the validation perplexity is infinite: the vocabulary is closed (the tokenizer has no unknown token) "
            f"and lacks {measures['unknown']} words of the validation texts, whose probability is 0; set unk_token"
        )
    return measures


def train_causal_lm(
    model: Any,
    tokenizer: Any,
    train_texts: Any,
    validation_texts: Sequence[str] | None,
    output_dir: str | os.PathLike[str],
    recipe: CausalLMRecipe,
    *,
    resume: bool = False,
    quiet: bool = False,
) -> "TrainingResult":
    """Train a causal language model by a recipe, and save the weights of lowest validation perplexity in `output_dir`.

    The reported loss is the model's own: nats per token, except with `output_layer="noise_contrastive"`, whose loss is
    not a code length. The validation perplexity is exact with every output layer.

    Args:
        model: any causal language model of transformers that takes `shift_labels`.
        train_texts: strings, or a `datasets.IterableDataset` with the recipe's text column.
        validation_texts: texts to measure, as one stream or, with layout texts, one by one. None: nothing is measured,
            and the last weights are saved.

    Raises:
        ValueError: training texts are missing, or the tokenizer does not belong to the model; and as `train`.
    """
    return CausalLM().train(
        model, tokenizer, train_texts, validation_texts, recipe, output_dir=output_dir, resume=resume, quiet=quiet
    )


def make_batches(tokenizer: Any, texts: Any, recipe: CausalLMRecipe, model: Any = None) -> Batches:
    """Return the batches of a recipe's layout; a model that wants token counts is given those of its targets."""
    if recipe.streaming:
        return _streamed_batches(tokenizer, texts, recipe, model)
    stream, starts = token_stream(tokenizer, texts)
    if not len(stream):
        raise ValueError("there is no text to train on; check the training files and columns")
    if trait(model, "needs_token_counts"):
        _give_counts(model, stream, tokenizer.bos_token_id)
    if recipe.layout == "stream":
        return StreamBatches(stream, recipe.batch_size, recipe.sequence_length, tokenizer.bos_token_id)
    if recipe.layout == "texts":
        starts, lengths = text_spans(starts, len(stream), recipe.sequence_length)
    else:
        starts, lengths = text_spans(np.zeros(1, dtype=np.int64), len(stream), recipe.sequence_length)
    pad = tokenizer.eos_token_id if tokenizer.pad_token_id is None else tokenizer.pad_token_id
    rows = BlockCollator(stream, starts, lengths, tokenizer.bos_token_id, pad)
    return ShuffledBatches(len(starts), rows, recipe.batch_size, recipe.seed)


def _streamed_batches(tokenizer: Any, texts: Any, recipe: CausalLMRecipe, model: Any) -> Batches:
    """Return blocks of streamed texts; the first 10,000 texts are counted, since the rest is not known yet."""
    if recipe.layout != "blocks":
        raise ValueError(f"streaming feeds layout blocks only, not {recipe.layout}; set layout blocks")
    if trait(model, "needs_token_counts"):
        first = (row[recipe.text_column] for row in islice(texts, _COUNTED_TEXTS))
        _give_counts(model, token_stream(tokenizer, first)[0], tokenizer.bos_token_id)
    return StreamedBlocks(texts, tokenizer, recipe)


def _give_counts(model: Any, stream: np.ndarray, bos_token_id: int) -> None:
    counts = np.bincount(stream, minlength=model.config.vocab_size)
    counts[bos_token_id] = 0  # read, never predicted
    model.set_token_counts(torch.from_numpy(counts))
