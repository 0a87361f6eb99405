# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
# ruff: noqa: RUF009  (setting() makes fields of a dataclass)
"""Training causal language models: the recipe's language part, batches of tokens, and perplexity on held-out text."""

import inspect
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import torch

from hf_lecture_models.base.limits import check_tokenizer
from hf_lecture_models.evaluation.language_model import evaluate_language_model
from hf_lecture_models.trainer.batches import Batches, BlockCollator, ShuffledBatches, StreamBatches, stream_fingerprint
from hf_lecture_models.trainer.loop import Evaluation, TrainingResult, train
from hf_lecture_models.trainer.recipe import TrainingRecipe, setting
from hf_lecture_models.trainer.streaming import StreamedBlocks
from hf_lecture_models.trainer.tokens import text_spans, token_stream

# Of streamed texts, those whose tokens are counted for a model that wants counts.
_COUNTED_TEXTS = 10_000


@dataclass(kw_only=True)
class CausalLMRecipe(TrainingRecipe):
    """The recipe of a causal language model."""

    layout: str = setting(
        "blocks",
        "stream: parallel streams with carried state; blocks: shuffled pieces of the stream; texts: one row per text",
        choices=("stream", "blocks", "texts"),
    )
    sequence_length: int = setting(128, "tokens of a segment, a block, or the longest piece of a text", least=1)

    output_dir: str = setting("output", "folder of the trained model, its checkpoints and its history", free=True)
    train_texts: list[str] = setting([], "texts written into the recipe itself, in place of files")
    validation_texts: list[str] = setting([], "the same for validation")
    train_files: list[str] = setting([], "local .txt (one text per line), .csv, .json, .jsonl or .parquet files")
    validation_files: list[str] = setting([], "the same for validation")
    dataset_name: str = setting("", "data set on the Hub, in place of files")
    dataset_config: str | None = setting(None, "its configuration")
    dataset_revision: str = setting("", "its revision: a commit, so that the data stay the same")
    train_split: str = setting("train", "its split to train on")
    validation_split: str = setting("validation", "its split to validate on")
    text_column: str = setting("text", "column that holds the text")
    streaming: bool = setting(False, "read the training data while training, with layout blocks and max_steps")
    shuffle_buffer: int = setting(0, "rows of a streamed data set to shuffle among; a resumed run loses them", least=0)

    name: str = setting("", "title of the model's card", free=True)
    data: dict[str, str] = setting({}, "what the card says of the data: name, language, licence, source", free=True)

    tokenizer: dict[str, Any] = setting({"type": "word"}, "type word, bpe, char or byte; options of its train()")
    model: dict[str, Any] = setting({"model_type": "lecture_recurrent"}, "model_type and the fields of its config")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.output_dir:
            raise ValueError("recipe: output_dir is empty; name a folder")

    def effective_batch(self) -> str:
        """Rows and tokens of one optimizer step; with layout texts the tokens are a limit."""
        limit = "at most " if self.layout == "texts" else ""
        tokens = self.batch_size * self.sequence_length
        return f"{self.batch_size} rows x {self.sequence_length} = {limit}{tokens:,} tokens"


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
) -> TrainingResult:
    """Train a causal language model by a recipe; the one of lowest validation perplexity stays in `output_dir`.

    The loss reported is the model's own: nats per token, but with `output_layer="noise_contrastive"` the loss of that
    estimation, which is no code length. The validation perplexity is exact with every output layer.

    Args:
        model: any causal language model of transformers that takes `shift_labels`.
        train_texts: strings, or a `datasets.IterableDataset` with the recipe's text column.
        validation_texts: measured as one stream, as the layouts stream and blocks train; with layout texts each text
            by itself. None: nothing is measured, and the last model is kept.

    Raises:
        ValueError: no training text, or a tokenizer that does not belong to the model; and as `train`.
    """
    check_tokenizer(model, tokenizer)
    _refuse_long_rows(model, recipe)
    return train(
        model,
        make_batches(tokenizer, train_texts, recipe, model),
        recipe,
        output_dir,
        evaluation=_evaluation(tokenizer, validation_texts, stream=recipe.layout != "texts"),
        save_with=(tokenizer,),
        forward_options=_forward_options(model, recipe),
        items_name="tokens",
        resume=resume,
        quiet=quiet,
    )


def _forward_options(model: Any, recipe: CausalLMRecipe) -> dict[str, Any]:
    """Spare what training throws away: logits that the loss does not need, a cache that nothing goes on from."""
    options: dict[str, Any] = {"logits_to_keep": 1} if getattr(model, "loss_without_logits", False) else {}
    if recipe.layout != "stream" and "use_cache" in inspect.signature(model.forward).parameters:
        options["use_cache"] = False
    return options


def _refuse_long_rows(model: Any, recipe: CausalLMRecipe) -> None:
    longest = getattr(model.config, "max_position_embeddings", None)
    if longest is not None and recipe.sequence_length > longest:
        raise ValueError(
            f"sequence_length {recipe.sequence_length} is more than the model's max_position_embeddings {longest}; "
            "lower the one or raise the other"
        )


def _evaluation(tokenizer: Any, texts: Sequence[str] | None, stream: bool) -> Evaluation | None:
    if texts is None:
        return None
    if not len(texts):
        raise ValueError("validation_texts is empty; give None to measure nothing")
    measure = partial(_measures, tokenizer=tokenizer, texts=texts, stream=stream)
    return Evaluation(measure, "perplexity", lower_is_better=True)


def _measures(model: Any, tokenizer: Any, texts: Sequence[str], stream: bool) -> dict[str, Any]:
    measures = evaluate_language_model(model, tokenizer, texts, stream)
    if measures["unk_token"] is None and measures["unknown"] and math.isinf(measures["perplexity"]):
        raise FloatingPointError(
            "the validation perplexity is infinite: the vocabulary is closed (the tokenizer has no unknown token) and "
            f"lacks {measures['unknown']} words of the validation texts, whose probability is 0; set unk_token"
        )
    return measures


def make_batches(tokenizer: Any, texts: Any, recipe: CausalLMRecipe, model: Any = None) -> Batches:
    """The batches of a recipe's layout; a model that wants token counts is given those of its targets.

    Of streamed texts the first 10,000 are counted: the rest is not known yet.
    """
    if recipe.streaming:
        if recipe.layout != "blocks":
            raise ValueError(f"streaming feeds layout blocks only, not {recipe.layout}; set layout blocks")
        if _wants_counts(model):
            first = (row[recipe.text_column] for row in islice(texts, _COUNTED_TEXTS))
            _give_counts(model, token_stream(tokenizer, first)[0], tokenizer.bos_token_id)
        return StreamedBlocks(texts, tokenizer, recipe)
    stream, starts = token_stream(tokenizer, texts)
    if not len(stream):
        raise ValueError("there is no text to train on; check the training files and text_column")
    if _wants_counts(model):
        _give_counts(model, stream, tokenizer.bos_token_id)
    if recipe.layout == "stream":
        return StreamBatches(stream, recipe.batch_size, recipe.sequence_length, tokenizer.bos_token_id)
    if recipe.layout == "texts":
        starts, lengths = text_spans(starts, len(stream), recipe.sequence_length)
    else:
        starts, lengths = text_spans(np.zeros(1, dtype=np.int64), len(stream), recipe.sequence_length)
    pad = tokenizer.eos_token_id if tokenizer.pad_token_id is None else tokenizer.pad_token_id
    rows = BlockCollator(stream, starts, lengths, tokenizer.bos_token_id, pad)
    return ShuffledBatches(len(starts), rows, recipe.batch_size, recipe.seed, stream_fingerprint(stream))


def _wants_counts(model: Any) -> bool:
    return bool(getattr(model, "needs_token_counts", False))


def _give_counts(model: Any, stream: np.ndarray, bos_token_id: int) -> None:
    counts = np.bincount(stream, minlength=model.config.vocab_size)
    counts[bos_token_id] = 0  # read, never predicted
    model.set_token_counts(torch.from_numpy(counts))
