# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Masked language models (BERT): they predict masked words, and whether one segment of text follows another.

The loss is that of Devlin et al. 2018, the mean over masked tokens plus the mean over pairs. The training loop weights
each term by its own count (`trainer/loop.py`), so that both are means over the whole step.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForMaskedLM, AutoModelForPreTraining

from hf_lecture_models.base.evaluation_mode import evaluation_mode
from hf_lecture_models.base.heads.losses import NOT_COUNTED
from hf_lecture_models.base.limits import check_tokenizer, refuse_long_rows
from hf_lecture_models.data.recipe import TextsRecipe
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.io.auto_classes import learns_next_sentences, model_classes
from hf_lecture_models.io.progress import ProgressBar
from hf_lecture_models.io.recipe import setting
from hf_lecture_models.tasks.core.factories import SMALL_BERT, load_checkpoint, log_once, make_model
from hf_lecture_models.tasks.core.inputs import encode_inputs
from hf_lecture_models.tasks.core.lines import LineForm, PredictionOptions
from hf_lecture_models.tasks.core.settings import Settings
from hf_lecture_models.tasks.core.task import Encoded, Measure, TaskRecipe
from hf_lecture_models.tasks.language_models.baseline import TokenUnigram, log_probabilities
from hf_lecture_models.tasks.language_models.documents import RULES, encode_documents
from hf_lecture_models.tasks.language_models.masked_batches import IS_RANDOM, MaskedBatches, MaskedTexts
from hf_lecture_models.tasks.language_models.texts import TextsTask, perplexity
from hf_lecture_models.tasks.metrics.sums import Sums, exp_ratio, ratio
from hf_lecture_models.tokenization.registry import tokenizer_types
from hf_lecture_models.trainer.batches import Batch, Batches

MASKING_SEED = 0
"""The seed of pairs and masks in every evaluation, so that runs with different seeds can be compared."""

# The number of rows whose masks are drawn together; another number gives other masks.
_EVALUATION_ROWS = 64
# The most logits in memory.
_MOST_LOGITS = 2**26


@dataclass(kw_only=True)
class MaskedLMSettings(Settings):
    """The settings of a masked language model."""

    next_sentence: bool = setting(
        True, "rows are pairs, and the model learns whether the second text follows the first"
    )
    documents: str = setting(
        "blank_lines", "; ".join(f"{name}: {rule}" for name, rule in RULES.items()), choices=tuple(RULES)
    )
    sequence_length: int = setting(128, "tokens of the longest row, special ones included", least=1)
    mask_probability: float = setting(0.15, "share of the tokens of a row to predict", least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.mask_probability <= 1:
            raise ValueError(f"recipe: mask_probability must be above 0 and at most 1, not {self.mask_probability}")

    def auto_class(self) -> Any:
        """Return the Auto class of models with, or without, a head for next sentences."""
        return AutoModelForPreTraining if self.next_sentence else AutoModelForMaskedLM


@dataclass(kw_only=True)
class MaskedLMRecipe(MaskedLMSettings, TaskRecipe, TextsRecipe):
    """The recipe of a masked language model."""

    tokenizer: dict[str, Any] = setting(
        {"type": "wordpiece"},
        f"type {tokenizer_types()}, all but wordpiece with template bert (or roberta, without token types); options of "
        "its train()",
    )
    model: dict[str, Any] = setting(SMALL_BERT, "model_type and the fields of its config")

    def effective_batch(self) -> str:
        """Return the rows and tokens of one optimizer step, and how many of these are predicted."""
        tokens = self.batch_size * self.sequence_length
        predicted = f"{self.mask_probability:.0%} of them predicted"
        return f"{self.batch_size} rows x {self.sequence_length} = at most {tokens:,} tokens, {predicted}"


class _MaskedUnigram(TokenUnigram):
    """The baseline: each masked token by its share of the training tokens, and pairs that are always neighbours."""

    def answers(
        self, facts: Mapping[str, Any], model: Any, processor: Any, encoded: Encoded, settings: Any
    ) -> np.ndarray | None:
        """Return the sums of each row."""
        log_probs = log_probabilities(facts, model.config.vocab_size)
        return None if log_probs is None else sums_of_rows(model, encoded.inputs, settings, log_probs)

    def sums(self, model: Any, processor: Any, encoded: Encoded, answers: np.ndarray, settings: Any) -> dict[str, Sums]:
        """Return the measures of masked tokens and, if there are pairs, of next sentences."""
        nats, right, targets, right_pairs, pairs = answers.T
        found = {"masked_perplexity": exp_ratio(nats, targets), "masked_accuracy": ratio(right, targets)}
        return found | ({"next_sentence_accuracy": ratio(right_pairs, pairs)} if encoded.inputs.next_sentence else {})


class MaskedLM(TextsTask[MaskedLMRecipe]):
    """The task of predicting masked tokens and, with `next_sentence`, whether two segments are neighbours in a text.

    Its data are lists of texts, which are joined by the recipe's `documents`. With `next_sentence` its models are those
    of `AutoModelForPreTraining`, without it those of `AutoModelForMaskedLM`.

    >>> [measure.key for measure in MaskedLM().measures(MaskedLMRecipe())]
    ['masked_perplexity', 'masked_accuracy', 'next_sentence_accuracy']
    """

    name = "masked_lm"
    auto_class = AutoModelForMaskedLM
    pipeline_tag = "fill-mask"
    items = "targets"
    script = "train_masked_lm.py"
    recipe_class = MaskedLMRecipe
    settings_class = MaskedLMSettings
    line_form = LineForm(usual=5)
    baseline = _MaskedUnigram()

    def is_for(self, model: Any) -> bool:
        """Return whether the model predicts masked tokens, also together with next sentences."""
        pretrained = type(model) in model_classes(AutoModelForPreTraining, type(model.config))
        return super().is_for(model) or (pretrained and learns_next_sentences(model))

    def measures(self, settings: MaskedLMSettings) -> tuple[Measure, ...]:
        """Return the measures of masked tokens and, if there are pairs, of next sentences."""
        masked = (
            Measure("masked_perplexity", "perplexity per masked token", lower_is_better=True),
            Measure("masked_accuracy", "accuracy of masked tokens", lower_is_better=False),
        )
        pairs = Measure("next_sentence_accuracy", "accuracy of next sentences", lower_is_better=False)
        return (*masked, pairs) if settings.next_sentence else masked

    def model(self, recipe: MaskedLMRecipe, processor: Any, data: Sequence[str]) -> Any:
        """Return the model; a checkpoint without one of the heads gets a new one."""
        auto_class = recipe.auto_class()
        if not recipe.from_pretrained:
            return make_model(auto_class, recipe.model, processor, recipe.seed)
        model, new = load_checkpoint(auto_class, recipe.from_pretrained, recipe.seed)
        if new:
            log_once(f"weights that {recipe.from_pretrained} does not hold start anew: {', '.join(new)}")
        return model

    def batches(self, model: Any, processor: Any, data: Sequence[str], recipe: MaskedLMRecipe) -> Batches:
        """Return batches of rows in a new order, and with new masks, each epoch."""
        if learns_next_sentences(model) != recipe.next_sentence:
            raise ValueError(
                f"{type(model).__name__} "
                + ("needs pairs" if learns_next_sentences(model) else "predicts no next sentences")
                + f"; set next_sentence {str(not recipe.next_sentence).lower()}, or load the model by "
                + recipe.auto_class().__name__
            )
        texts = _masked_texts(model, processor, data, recipe, "training")
        return MaskedBatches(texts, recipe.batch_size, recipe.seed)

    def encode(self, model: Any, processor: Any, data: Sequence[str], settings: MaskedLMSettings) -> Encoded:
        """Cut the documents into rows with masked words; the model determines whether rows are pairs."""
        settings = _settings_for(model, settings)
        return Encoded(data, _masked_texts(model, processor, data, settings, "validation or test"))

    def answers(self, model: Any, processor: Any, encoded: Encoded, settings: MaskedLMSettings) -> np.ndarray:
        """Return the sums of each row, on masks that are always the same."""
        return sums_of_rows(model, encoded.inputs, settings)

    def measure_answers(
        self, model: Any, processor: Any, encoded: Encoded, answers: np.ndarray, settings: MaskedLMSettings
    ) -> dict[str, Any]:
        """Return the measures."""
        return _measures(answers, encoded.inputs.next_sentence, settings)

    def predictions(
        self, model: Any, processor: Any, data: Any, settings: MaskedLMSettings, options: PredictionOptions
    ) -> list[list[dict[str, Any]]]:
        """Return the most probable words for the first mask of each text, then for the next.

        Raises:
            ValueError: a text has no mask, or is too long for the model.
        """
        rows = data if isinstance(data, Rows) else Rows({"text": list(data)}, [("the texts", len(data))])
        return fill_masks(model, processor, rows, options)

    def describe(self, model: Any, settings: MaskedLMSettings, data: Any = None) -> dict[str, Any]:
        """Describe the task; the model determines whether there are pairs."""
        own = _settings_for(model, settings)
        return super().describe(model, own, data) | {"auto_class": own.auto_class().__name__}


def measure_masked(model: Any, texts: MaskedTexts, settings: MaskedLMSettings) -> dict[str, Any]:
    """Measure a model on masked texts.

    Returns:
        `masked_perplexity`, exp of the mean -ln P(token) of masked tokens; `masked_accuracy`, the share of them whose
        token is the most probable one; for pairs `next_sentence_accuracy`. `targets` and `pairs` are the numbers of
        both; `sequence_length`, `mask_probability` and `masking_seed` determine the masks.
    """
    return _measures(sums_of_rows(model, texts, settings), texts.next_sentence, settings)


def _measures(sums: np.ndarray, next_sentence: bool, settings: MaskedLMSettings) -> dict[str, Any]:
    """Return the measures of (rows, 5) sums."""
    nats, right, targets, right_pairs, pairs = sums.sum(0).tolist()
    measured = {"masked_perplexity": perplexity(nats / targets), "masked_accuracy": right / targets}
    measured["targets"] = int(targets)
    if next_sentence:
        measured |= {"next_sentence_accuracy": right_pairs / pairs, "pairs": int(pairs)}
    return measured | {
        "sequence_length": settings.sequence_length,
        "mask_probability": settings.mask_probability,
        "masking_seed": MASKING_SEED,
    }


@torch.no_grad()
def sums_of_rows(
    model: Any, texts: MaskedTexts, settings: MaskedLMSettings, log_probs: np.ndarray | None = None
) -> np.ndarray:
    """Return (rows, 5) sums over the masked tokens of each row: nats, right ones, all; and of pairs: right ones, all.

    Args:
        log_probs: (vocab,) ln P of each token, in the place of the model's; pairs are then said to be neighbours.

    Raises:
        ValueError: no token is masked.
    """
    generator = np.random.default_rng(MASKING_SEED)
    size = max(1, _MOST_LOGITS // (settings.sequence_length * model.config.vocab_size))
    sums = []
    with evaluation_mode(model):
        starts = range(0, len(texts), _EVALUATION_ROWS)
        for start in ProgressBar(starts, desc="evaluating", unit="batch", shown=log_probs is None):
            rows = texts.draw(np.arange(start, min(start + _EVALUATION_ROWS, len(texts))), generator)
            for first in range(0, len(rows.inputs), size):
                sums.append(_sums(model, rows.to_batch(slice(first, first + size)), log_probs))
    found = np.concatenate([np.zeros((0, 5)), *sums])
    if not found[:, 2].sum():
        raise ValueError("there is no token to mask; all of them are special or unknown to the tokenizer")
    return found


def _sums(model: Any, batch: Batch, log_probs: np.ndarray | None) -> np.ndarray:
    labels, pairs = batch.inputs["labels"], batch.inputs.get("next_sentence_label")
    counted = labels != NOT_COUNTED
    rows, tokens = counted.nonzero()[:, 0].numpy(), labels[counted]
    if log_probs is None:
        inputs = {name: tensor.to(model.device) for name, tensor in batch.inputs.items()}
        del inputs["labels"]
        inputs.pop("next_sentence_label", None)
        outputs = model(**inputs)
        logits = (outputs.logits if pairs is None else outputs.prediction_logits)[counted.to(model.device)].float()
        nats = torch.nn.functional.cross_entropy(logits, tokens.to(model.device), reduction="none").cpu().numpy()
        best = logits.argmax(1).cpu()
    else:
        nats, best = -log_probs[tokens.numpy()], torch.full_like(tokens, int(log_probs.argmax()))
    found = np.zeros((len(labels), 5))
    for column, values in enumerate((nats, (best == tokens).numpy(), None)):
        found[:, column] = np.bincount(rows, values, len(labels))
    if pairs is not None:
        says_random = torch.zeros_like(pairs, dtype=torch.bool)
        if log_probs is None:
            says_random = outputs.seq_relationship_logits.argmax(1).cpu() == IS_RANDOM
        found[:, 3] = ((says_random == (pairs == IS_RANDOM)) & (pairs != NOT_COUNTED)).numpy()
        found[:, 4] = (pairs != NOT_COUNTED).numpy()
    return found


def fill_masks(model: Any, tokenizer: Any, rows: Rows, options: PredictionOptions) -> list[list[dict[str, Any]]]:
    """Predict the words of each text's masks with transformers' pipeline "fill-mask", the most probable one first.

    Raises:
        ValueError: a text has no mask, or is too long for the model.
    """
    texts, mask = rows.texts("text"), tokenizer.mask_token
    cut = {} if options.max_length is None else {"truncation": True, "max_length": options.max_length}
    encoded = encode_inputs(model, tokenizer, rows, texts, max_length=options.max_length)
    for index, ids in enumerate(encoded["input_ids"]):
        if tokenizer.mask_token_id not in ids:
            raise ValueError(
                f"{rows.where(index)} has no mask that is read: write {mask} for the word that is asked for"
            )
    from transformers import pipeline

    fill = pipeline("fill-mask", model=model, tokenizer=tokenizer, device=model.device)
    top_k = options.top_k or MaskedLM.line_form.usual
    found = fill(texts, top_k=top_k, tokenizer_kwargs=cut, batch_size=options.batch_size)
    return [
        [
            {"mask": number, "label": word["token_str"], "score": word["score"], "text": word["sequence"]}
            for number, words in enumerate(masks if isinstance(masks[0], list) else [masks])
            for word in words
        ]
        for masks in ([found] if len(texts) == 1 else found)  # for a single text the pipeline returns no outer list
    ]


def _settings_for(model: Any, settings: MaskedLMSettings) -> MaskedLMSettings:
    return replace(settings, next_sentence=learns_next_sentences(model))


def _masked_texts(
    model: Any, tokenizer: Any, data: Sequence[str], settings: MaskedLMSettings, part: str
) -> MaskedTexts:
    check_tokenizer(model, tokenizer)
    refuse_long_rows(model, settings.sequence_length)
    documents = encode_documents(tokenizer, data, settings.documents)
    length, probability, next_sentence = settings.sequence_length, settings.mask_probability, settings.next_sentence
    try:
        return MaskedTexts(documents, tokenizer, length, probability, next_sentence)
    except ValueError as error:
        raise ValueError(f"{part} data: {error}") from error
