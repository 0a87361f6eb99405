# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Pre-training as text to text: an encoder-decoder writes the spans that were left out of a text (T5).

`tasks/language_models/span_batches.py` chooses the spans. The model is any encoder-decoder, also one of transformers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForSeq2SeqLM

from hf_lecture_models.base.evaluation_mode import evaluation_mode
from hf_lecture_models.base.heads.losses import NOT_COUNTED
from hf_lecture_models.base.limits import check_tokenizer, longest_input
from hf_lecture_models.base.traits import trait
from hf_lecture_models.data.recipe import TextsRecipe
from hf_lecture_models.io.progress import ProgressBar
from hf_lecture_models.io.recipe import setting
from hf_lecture_models.tasks.core.encoder_decoder import make_encoder_decoder, new_tokenizer
from hf_lecture_models.tasks.core.factories import SMALL_TRANSFORMER, load_tokenizer
from hf_lecture_models.tasks.core.settings import Settings
from hf_lecture_models.tasks.core.task import Encoded, Measure, TaskRecipe
from hf_lecture_models.tasks.language_models.documents import RULES, encode_documents
from hf_lecture_models.tasks.language_models.span_batches import CorruptedTexts, SpanBatches, SpanNoise, collate_pairs
from hf_lecture_models.tasks.language_models.texts import TextsTask, perplexity
from hf_lecture_models.tasks.translation.translate import start_of
from hf_lecture_models.tokenization.registry import tokenizer_types
from hf_lecture_models.tokenization.sentinels import add_sentinels
from hf_lecture_models.tokenization.templates import Template
from hf_lecture_models.trainer.batches import Batches

NOISE_SEED = 0
"""The seed of the spans in every evaluation, so that runs with different seeds can be compared."""

_T5_TEMPLATE = Template("$A eos_token", "$A eos_token $B eos_token", {"eos_token": "</s>"}, type_ids=False)
# The most logits in memory.
_MOST_LOGITS = 2**26


@dataclass(kw_only=True)
class SpanSettings(Settings):
    """The settings of an encoder-decoder that writes the spans left out of a text."""

    documents: str = setting(
        "blank_lines", "; ".join(f"{name}: {rule}" for name, rule in RULES.items()), choices=tuple(RULES)
    )
    sequence_length: int = setting(128, "tokens of the longest source, sentinels and end of text included", least=1)
    noise_density: float = setting(0.15, "share of the tokens of a text that are left out", least=0)
    mean_span_length: float = setting(3.0, "tokens that are left out together, on average", least=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.noise_density < 1:
            raise ValueError(f"recipe: noise_density must be above 0 and below 1, not {self.noise_density}")

    @property
    def noise(self) -> SpanNoise:
        """The share of tokens to leave out, and the mean length of spans."""
        return SpanNoise(self.noise_density, self.mean_span_length)


@dataclass(kw_only=True)
class SpanCorruptionRecipe(SpanSettings, TaskRecipe, TextsRecipe):
    """The recipe of an encoder-decoder that writes the spans left out of a text."""

    sentinels: int = setting(100, "sentinels of a new tokenizer, as many as a text may have spans", least=1)
    tokenizer: dict[str, Any] = setting(
        {"type": "bpe", "form": "bytes", "vocab_size": 8000}, f"type {tokenizer_types()}; options of its train()"
    )
    model: dict[str, Any] = setting(
        {**SMALL_TRANSFORMER, "position_encoding": "relative_buckets", "norm_position": "pre"},
        "model_type and the fields of its config",
    )

    def effective_batch(self) -> str:
        """Return the rows and tokens of one optimizer step, and how many of a text are left out."""
        tokens = self.batch_size * self.sequence_length
        left_out = f"{self.noise_density:.0%} of each text left out"
        return f"{self.batch_size} rows x {self.sequence_length} = at most {tokens:,} source tokens, {left_out}"


class SpanCorruption(TextsTask[SpanCorruptionRecipe]):
    """The task of writing the spans that were left out of a text.

    Its data are lists of texts, which are joined by the recipe's `documents`.

    >>> [measure.key for measure in SpanCorruption().measures(SpanCorruptionRecipe())]
    ['span_perplexity', 'span_accuracy']
    """

    name = "span_corruption"
    auto_class = AutoModelForSeq2SeqLM
    pipeline_tag = ""
    items = "tokens"
    script = "train_span_corruption.py"
    recipe_class = SpanCorruptionRecipe
    settings_class = SpanSettings

    def measures(self, settings: SpanSettings) -> tuple[Measure, ...]:
        """Return the measures of the tokens left out, each given all before it, without sentinels and ends of text."""
        return (
            Measure("span_perplexity", "perplexity per token left out", lower_is_better=True),
            Measure("span_accuracy", "accuracy of tokens left out", lower_is_better=False),
        )

    def processor(self, recipe: SpanCorruptionRecipe, data: Sequence[str]) -> Any:
        """Return the tokenizer; a new one gets sentinels, and adds only the end of text to a text."""
        if recipe.from_pretrained:
            return load_tokenizer(recipe.from_pretrained)
        tokenizer = new_tokenizer(recipe.tokenizer, list(data))
        if tokenizer.eos_token is None and "template" not in recipe.tokenizer:
            tokenizer.set_template(_T5_TEMPLATE)  # in place of BERT's, the default of word pieces
        add_sentinels(tokenizer, recipe.sentinels)
        return tokenizer

    def model(self, recipe: SpanCorruptionRecipe, processor: Any, data: Sequence[str]) -> Any:
        """The encoder-decoder."""
        model = make_encoder_decoder(recipe, processor)
        if model.config.to_dict().get("decoder_start_token_id") is None:  # as in transformers' T5Config
            model.config.decoder_start_token_id = processor.pad_token_id
            model.generation_config.decoder_start_token_id = processor.pad_token_id
        return model

    def batches(self, model: Any, processor: Any, data: Sequence[str], recipe: SpanCorruptionRecipe) -> Batches:
        """Return batches of texts in a new order, and with other spans left out, in each epoch.

        Raises:
            ValueError: the tokenizer belongs to another model, or `sequence_length` is too long for the model; or as
                `CorruptedTexts`.
        """
        texts = _corrupted_texts(model, processor, data, recipe, "training")
        return SpanBatches(texts, start_of(model), processor.pad_token_id, recipe.batch_size, recipe.seed)

    def training_options(self, model: Any, recipe: SpanCorruptionRecipe) -> dict[str, Any]:
        """Turn off the cache, and logits that the loss does not need."""
        spared = {"logits_to_keep": 1} if trait(model, "loss_without_logits") else {}
        return {"forward_options": {"use_cache": False, **spared}}

    def encode(self, model: Any, processor: Any, data: Sequence[str], settings: SpanSettings) -> Encoded:
        """Cut the documents into texts, and leave spans out of them."""
        return Encoded(data, _corrupted_texts(model, processor, data, settings, "validation or test"))

    def measure(self, model: Any, processor: Any, encoded: Encoded, settings: SpanSettings) -> dict[str, Any]:
        """Return the measures, on spans that are always the same."""
        return measure_spans(model, processor, encoded.inputs, settings)


@torch.no_grad()
def measure_spans(model: Any, tokenizer: Any, texts: CorruptedTexts, settings: SpanSettings) -> dict[str, Any]:
    """Measure a model on corrupted texts.

    Returns:
        `span_perplexity`, exp of the mean -ln P(token) of the tokens left out, each given the source and all before it
        in the target; `span_accuracy`, the share of them that are the most probable token. `targets` is their number;
        `sequence_length`, `noise_density`, `mean_span_length` and `noise_seed` determine the spans.
    """
    with evaluation_mode(model):
        special = np.concatenate((texts.sentinels, texts.before, texts.after, [NOT_COUNTED]))
        width = texts.noise.lengths(int(texts.lengths.max()))[1] + len(texts.before) + len(texts.after)
        size = max(1, min(64, _MOST_LOGITS // (width * model.config.vocab_size)))
        sums = np.zeros(3)  # nats, right tokens, tokens
        for start in ProgressBar(range(0, len(texts), size), desc="evaluating", unit="batch"):
            rows = range(start, min(start + size, len(texts)))
            pairs = [texts.draw(row, np.random.default_rng((NOISE_SEED, row + 1))) for row in rows]
            batch = collate_pairs(pairs, len(pairs), start_of(model), tokenizer.pad_token_id)
            inputs = {name: tensor.to(model.device) for name, tensor in batch.inputs.items()}
            counted = torch.from_numpy(~np.isin(batch.inputs["labels"].numpy(), special)).to(model.device)
            logits, labels = model(**inputs, use_cache=False).logits[counted].float(), inputs["labels"][counted]
            surprisal = torch.nn.functional.cross_entropy(logits, labels, reduction="sum")
            sums += [float(surprisal), int((logits.argmax(1) == labels).sum()), len(labels)]
    nats, right, tokens = sums.tolist()
    return {
        "span_perplexity": perplexity(nats / tokens),
        "span_accuracy": right / tokens,
        "targets": int(tokens),
        "sequence_length": settings.sequence_length,
        "noise_density": settings.noise_density,
        "mean_span_length": settings.mean_span_length,
        "noise_seed": NOISE_SEED,
    }


def _corrupted_texts(
    model: Any, tokenizer: Any, data: Sequence[str], settings: SpanSettings, part: str
) -> CorruptedTexts:
    check_tokenizer(model, tokenizer)
    if settings.sequence_length > (longest := longest_input(model, tokenizer)):
        raise ValueError(
            f"sequence_length {settings.sequence_length} is more than the model's longest input, {longest} tokens; "
            "make it smaller"
        )
    documents = encode_documents(tokenizer, data, settings.documents)
    try:
        return CorruptedTexts(documents, tokenizer, settings.sequence_length, settings.noise)
    except ValueError as error:
        raise ValueError(f"{part} data: {error}") from error
