# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Language models of both directions (ELMo): each word is predicted from those before it, and from those after it.

A text is `<S> words </S>`. A text that is longer than a row is cut, and neighbouring rows share a word, so that each
word is predicted once from the left and once from the right. A row does not see the words of other rows.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForPreTraining

from hf_lecture_models.base.evaluation_mode import evaluation_mode
from hf_lecture_models.base.heads.bidirectional_lm import BidirectionalLMHead
from hf_lecture_models.base.heads.losses import NOT_COUNTED
from hf_lecture_models.base.limits import check_tokenizer
from hf_lecture_models.data.recipe import TextsRecipe
from hf_lecture_models.io.progress import ProgressBar
from hf_lecture_models.io.recipe import setting
from hf_lecture_models.tasks.core.baselines import Baseline
from hf_lecture_models.tasks.core.factories import load_checkpoint, log_once, make_model
from hf_lecture_models.tasks.core.settings import Settings
from hf_lecture_models.tasks.core.shuffled import ShuffledBatches
from hf_lecture_models.tasks.core.task import Encoded, Measure, TaskRecipe
from hf_lecture_models.tasks.language_models.baseline import log_probabilities, some_texts
from hf_lecture_models.tasks.language_models.texts import TextsTask, perplexity
from hf_lecture_models.tasks.language_models.tokens import text_spans
from hf_lecture_models.tasks.metrics.sums import Sums, exp_ratio
from hf_lecture_models.tokenization.bounds import plain_texts
from hf_lecture_models.trainer.batches import Batch, Batches

_EVALUATION_ROWS = 32


@dataclass(kw_only=True)
class BidirectionalLMSettings(Settings):
    """The settings of a language model of both directions."""

    sequence_length: int = setting(64, "words of the longest row, <S> and </S> included", least=2)


@dataclass(kw_only=True)
class BidirectionalLMRecipe(BidirectionalLMSettings, TaskRecipe, TextsRecipe):
    """The recipe of a language model of both directions."""

    tokenizer: dict[str, Any] = setting({"type": "elmo"}, "type elmo; options of its train()")
    model: dict[str, Any] = setting(
        {
            "model_type": "lecture_elmo",
            "char_filters": [[1, 16], [2, 32], [3, 64]],
            "hidden_size": 128,
            "projection_size": 64,
        },
        "model_type and the fields of its config",
    )

    def effective_batch(self) -> str:
        """Rows and words of one optimizer step."""
        words = self.batch_size * self.sequence_length
        return f"{self.batch_size} rows x {self.sequence_length} = at most {words:,} words, in both directions"


class WordUnigram(Baseline):
    """The baseline: each word, and the ends of texts, by their share of the training texts, in both directions."""

    def learn(self, processor: Any, data: Any, settings: Any) -> dict[str, Any]:
        """Return the counts of the words that the tokenizer predicts, by their numbers."""
        counts: Counter[str] = Counter()
        for text in plain_texts(some_texts(data), processor):
            counts.update(processor.tokenize(text, add_special_tokens=True))
        found: Counter[str] = Counter()
        for number, count in zip(processor.word_numbers(list(counts)), counts.values(), strict=True):
            found[str(number)] += count
        return {"name": "unigram", "counts": dict(found)}

    def answers(
        self, facts: Mapping[str, Any], model: Any, processor: Any, encoded: Encoded, settings: Any
    ) -> np.ndarray | None:
        """Return the sums of each batch of rows."""
        log_probs = log_probabilities(facts, model.config.num_words)
        return None if log_probs is None else sums_of_batches(model, encoded.inputs, log_probs)

    def sums(self, model: Any, processor: Any, encoded: Encoded, answers: np.ndarray, settings: Any) -> dict[str, Sums]:
        """Return the perplexities as sums over batches of rows."""
        ahead, back, predictions, _ = answers.T
        return {
            "perplexity": exp_ratio((ahead + back) / 2, predictions),
            "forward_perplexity": exp_ratio(ahead, predictions),
            "backward_perplexity": exp_ratio(back, predictions),
        }


class BidirectionalLM(TextsTask[BidirectionalLMRecipe]):
    """The task of predicting each word from its left and, separately, from its right; its data are a list of texts.

    >>> [measure.key for measure in BidirectionalLM().measures(BidirectionalLMRecipe())]
    ['perplexity', 'forward_perplexity', 'backward_perplexity']
    """

    name = "bidirectional_lm"
    auto_class = AutoModelForPreTraining
    pipeline_tag = "feature-extraction"
    items = "predictions"
    script = "train_bilm.py"
    recipe_class = BidirectionalLMRecipe
    settings_class = BidirectionalLMSettings
    baseline = WordUnigram()

    def is_for(self, model: Any) -> bool:
        """Return whether a model for pre-training has the head of this task."""
        return isinstance(model, BidirectionalLMHead)

    def measures(self, settings: BidirectionalLMSettings) -> tuple[Measure, ...]:
        """Return the perplexities over the whole vocabulary, also after training with a sampled softmax."""
        return (
            Measure("perplexity", "perplexity per word, both directions' geometric mean", lower_is_better=True),
            Measure("forward_perplexity", "perplexity per word, from the words before it", lower_is_better=True),
            Measure("backward_perplexity", "perplexity per word, from the words behind it", lower_is_better=True),
        )

    def model(self, recipe: BidirectionalLMRecipe, processor: Any, data: Sequence[str]) -> Any:
        """Return the model, which predicts the tokenizer's words; a checkpoint without a softmax gets a new one."""
        _refuse_other_tokenizer(processor)
        shape = {
            "num_words": len(processor.words),
            "max_characters_per_token": processor.max_characters_per_token,
        }
        if not recipe.from_pretrained:
            return make_model(self.auto_class, shape | dict(recipe.model), processor, recipe.seed)
        model, new = load_checkpoint(self.auto_class, recipe.from_pretrained, recipe.seed)
        if new:
            log_once(f"weights that {recipe.from_pretrained} does not hold start anew: {', '.join(new)}")
        return model

    def batches(self, model: Any, processor: Any, data: Sequence[str], recipe: BidirectionalLMRecipe) -> Batches:
        """Return batches of rows in a new order each epoch; each micro-batch is padded to its longest row."""
        rows = self.encode(model, processor, data, recipe).inputs
        if model.needs_token_counts:
            counts = np.bincount(rows.numbers[rows.stream], minlength=model.config.num_words)
            model.set_token_counts(torch.from_numpy(counts))
        return ShuffledBatches(len(rows), rows, recipe.batch_size, recipe.seed)

    def encode(self, model: Any, processor: Any, data: Sequence[str], settings: BidirectionalLMSettings) -> Encoded:
        """Split the texts into rows of words."""
        return Encoded(data, NumberedRows(model, processor, data, settings.sequence_length))

    def answers(self, model: Any, processor: Any, encoded: Encoded, settings: BidirectionalLMSettings) -> np.ndarray:
        """Return the sums of each batch of rows."""
        return sums_of_batches(model, encoded.inputs)

    def measure_answers(
        self, model: Any, processor: Any, encoded: Encoded, answers: np.ndarray, settings: BidirectionalLMSettings
    ) -> dict[str, Any]:
        """Return the perplexities, and the numbers of words."""
        return _measures(answers)


class NumberedRows:
    """Texts as rows of words; a word is its number among the different words of all texts.

    Called with the numbers of rows, it returns their batch, padded on the right.

    Attributes:
        characters: (different words, characters) int16, the model's input for each word.
        numbers: (different words,) int64, the model's label for each word.
        stream: (words,) int32, the words `<S> ... </S>` of all texts, one text after the other.

    Raises:
        ValueError: the list of texts is empty, or the tokenizer does not belong to the model.
    """

    def __init__(self, model: Any, tokenizer: Any, texts: Iterable[str], sequence_length: int) -> None:
        _refuse_other_tokenizer(tokenizer)
        check_tokenizer(model, tokenizer)
        if (own := len(tokenizer.words)) != model.config.num_words:
            raise ValueError(
                f"the tokenizer has {own} words to predict, but the model num_words={model.config.num_words}; load the "
                "tokenizer that was saved with the model"
            )
        index: dict[str, int] = {}
        rows = [
            [index.setdefault(word, len(index)) for word in tokenizer.tokenize(text, add_special_tokens=True)]
            for text in plain_texts(texts, tokenizer)
        ]
        if not rows:
            raise ValueError("there is no text; check files and columns")
        words = list(index)
        self.characters = np.array(tokenizer.convert_tokens_to_ids(words), dtype=np.int16)
        self.numbers = np.array(tokenizer.word_numbers(words), dtype=np.int64)
        self.unknown = int(tokenizer.word_numbers([""])[0])
        self.stream = np.array([word for row in rows for word in row], dtype=np.int32)
        starts = np.cumsum([0, *map(len, rows[:-1])])
        # A span of n words is followed by the word from which it is predicted backwards.
        self.starts, spans = text_spans(starts, len(self.stream), sequence_length - 1)
        self.lengths = spans + 1

    def __len__(self) -> int:
        return len(self.starts)

    def __call__(self, rows: np.ndarray) -> Batch:
        """Return the batch of some rows; -1 is an empty row, which does not count."""
        lengths = np.where(rows < 0, 0, self.lengths[rows])
        steps = np.arange(max(2, lengths.max()))
        real = steps < lengths[:, None]
        places = np.minimum(self.starts[rows][:, None] + steps, len(self.stream) - 1)
        words = self.stream[places]
        inputs = {
            "input_ids": np.where(real[..., None], self.characters[words], 0).astype(np.int64),
            "labels": np.where(real, self.numbers[words], NOT_COUNTED),
        }
        if not real.all():
            inputs["attention_mask"] = real.astype(np.int64)
        tensors = {name: torch.from_numpy(array) for name, array in inputs.items()}
        return Batch(tensors, int(2 * (lengths - 1).clip(min=0).sum()))


def measure_directions(model: Any, rows: NumberedRows) -> dict[str, Any]:
    """Measure the perplexities of a model on rows.

    Returns:
        `forward_perplexity` and `backward_perplexity`, exp of the mean -ln P(word) of each direction, and `perplexity`,
        that of both together; `predictions`, the number of predictions in each direction; `unknown`, the number of
        words predicted from the left that the model does not know.
    """
    return _measures(sums_of_batches(model, rows))


def _measures(sums: np.ndarray) -> dict[str, Any]:
    """Return the measures of (batches, 4) sums."""
    ahead, back, predictions, unknown = sums.sum(0).tolist()
    return {
        "perplexity": perplexity((ahead + back) / 2 / predictions),
        "forward_perplexity": perplexity(ahead / predictions),
        "backward_perplexity": perplexity(back / predictions),
        "predictions": int(predictions),
        "unknown": int(unknown),
    }


@torch.no_grad()
def sums_of_batches(model: Any, rows: NumberedRows, log_probs: np.ndarray | None = None) -> np.ndarray:
    """Return (batches, 4) sums: nats forwards and backwards, predictions in each direction, unknown words among them.

    A batch has at most 32 rows of similar length; a model gives the mean loss of a batch alone.

    Args:
        log_probs: (words,) ln P of each word, in the place of the model's.
    """
    sums, order = [], rows.lengths.argsort(kind="stable")
    with evaluation_mode(model):
        starts = range(0, len(order), _EVALUATION_ROWS)
        for start in ProgressBar(starts, desc="evaluating", unit="batch", shown=log_probs is None):
            batch = rows(order[start : start + _EVALUATION_ROWS])
            count, labels = batch.num_items // 2, batch.inputs["labels"]
            if log_probs is None:
                outputs = model(**{name: tensor.to(model.device) for name, tensor in batch.inputs.items()})
                both = count * np.array([float(outputs.forward_loss), float(outputs.backward_loss)])
            else:
                real = [
                    own[(labels[:, :-1] != NOT_COUNTED) & (labels[:, 1:] != NOT_COUNTED)].numpy()
                    for own in (labels[:, 1:], labels[:, :-1])
                ]
                both = np.array([-log_probs[own].sum() for own in real])
            sums.append([*both, count, int((labels[:, 1:] == rows.unknown).sum())])
    return np.array(sums)


def _refuse_other_tokenizer(tokenizer: Any) -> None:
    if not getattr(tokenizer, "words", None):
        raise ValueError(
            f"{type(tokenizer).__name__} has no words to predict; a language model of both directions needs an "
            "ElmoTokenizer that was made of texts: tokenizer.type elmo in a recipe"
        )
