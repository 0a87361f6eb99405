# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Word vectors (word2vec): a word is predicted from those around it, or those around it from the word.

They are trained by hundreds of small updates a second (`updates.py`), with the recipes and checkpoints of the
training loop, and measured by the model's own loss, with windows and noise drawn with a fixed seed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForPreTraining

from hf_lecture_models.base.evaluation_mode import evaluation_mode
from hf_lecture_models.base.limits import check_tokenizer
from hf_lecture_models.data.recipe import TextsRecipe
from hf_lecture_models.io.recipe import setting
from hf_lecture_models.tasks.core.factories import load_checkpoint, make_model
from hf_lecture_models.tasks.core.settings import Settings
from hf_lecture_models.tasks.core.task import Encoded, Measure, TaskRecipe
from hf_lecture_models.tasks.language_models.texts import TextsTask
from hf_lecture_models.tasks.translation.translate import pad_rows
from hf_lecture_models.tasks.word_vectors.updates import WordUpdates, make_row_adagrad
from hf_lecture_models.tasks.word_vectors.windows import (
    SUBSAMPLING,
    WindowOptions,
    WordBlocks,
    WordLine,
    keep_probabilities,
)
from hf_lecture_models.tokenization.corpus import encode_training_texts
from hf_lecture_models.trainer.batches import Batches

# The words of a row, and the rows, that are measured at once; other numbers give other windows and noise.
_EVALUATION_WORDS, _EVALUATION_ROWS = 256, 16


@dataclass(kw_only=True)
class WordVectorsRecipe(TaskRecipe, TextsRecipe):
    """The recipe of word vectors."""

    batch_size: int = setting(16, "blocks of one update", least=1)
    block_words: int = setting(32, "words in the middle of a block, whose windows reach beyond it", least=1)
    updates_per_step: int = setting(64, "updates in one step of the loop, between which nothing else is done", least=1)
    shared_noise: int = setting(128, "words of noise that all pairs of an update share", least=1)
    subsample_threshold: float = setting(1e-3, "t: words of a frequency above this are thinned; 0: none", least=0)
    subsampling: str = setting(
        "program", "; ".join(f"{name}: {rule}" for name, rule in SUBSAMPLING.items()), choices=tuple(SUBSAMPLING)
    )
    epochs: float = setting(5.0, "passes over the training data", least=0)
    optimizer: str = setting("row_adagrad", "Adagrad with a rate for each word's vector", choices=("row_adagrad",))
    learning_rate: float = setting(0.4, "learning rate after warm-up", least=0)
    schedule: str = setting(
        "linear", "learning rate after warm-up", choices=("constant", "linear", "cosine", "plateau")
    )
    clip_norm: float | None = setting(None, "word vectors are trained without clipping", least=0)
    tokenizer: dict[str, Any] = setting({"type": "word", "min_count": 5}, "type word; options of its train()")
    model: dict[str, Any] = setting({"model_type": "lecture_word2vec"}, "model_type and the fields of its config")

    def __post_init__(self) -> None:
        super().__post_init__()
        unread: dict[str, Any] = {"accumulation_steps": 1, "weight_decay": 0.0, "clip_norm": None}
        unread |= {"adam_beta1": 0.9, "adam_beta2": 0.999, "adam_epsilon": 1e-8}
        for name, only in unread.items():
            if getattr(self, name) != only:
                raise ValueError(f"recipe: word vectors are trained without {name}; leave it out")

    def effective_batch(self) -> str:
        """Return the words of one update, and the updates of one step."""
        words = self.batch_size * self.block_words
        return f"{self.batch_size} blocks x {self.block_words} = {words:,} words, {self.updates_per_step} times a step"


class WordVectors(TextsTask[WordVectorsRecipe]):
    """The task of predicting words from their neighbours; its data are lists of texts.

    >>> [measure.key for measure in WordVectors().measures(WordVectorsRecipe())]
    ['pair_loss']
    """

    name = "word_vectors"
    auto_class = AutoModelForPreTraining
    pipeline_tag = "feature-extraction"
    items = "pairs"
    script = "train_word2vec.py"
    next_command = "hf-lecture neighbours {} WORD"
    recipe_class = WordVectorsRecipe

    def is_for(self, model: Any) -> bool:
        """Return whether the model is word2vec's."""
        return super().is_for(model) and model.config.model_type == "lecture_word2vec"

    def measures(self, settings: Settings) -> tuple[Measure, ...]:
        """Return the loss of a pair; analogies and similarities of words are separate benchmarks."""
        return (Measure("pair_loss", "loss of a pair of words (nats)", lower_is_better=True),)

    def model(self, recipe: WordVectorsRecipe, processor: Any, data: Sequence[str]) -> Any:
        """Return the model with the counts of the words; a checkpoint's model keeps the counts of its training.

        Raises:
            ValueError: the model is not a word2vec model; or as `make_model` and `load_checkpoint`.
        """
        if recipe.from_pretrained:
            model, new = load_checkpoint(self.auto_class, recipe.from_pretrained, recipe.seed)
        else:
            fields = {"unk_token_id": processor.unk_token_id} if _is_word2vec(recipe) else {}
            model, new = make_model(self.auto_class, recipe.model | fields, processor, recipe.seed), []
        if not self.is_for(model):
            raise ValueError(f"recipe: {type(model).__name__} is no word2vec; set model.model_type lecture_word2vec")
        if new:
            raise ValueError(
                f"{recipe.from_pretrained} lacks weights of {type(model).__name__}: {', '.join(new[:5])}; to go on "
                "training, both matrices are needed, as training saves them"
            )
        if model.needs_token_counts:
            ids = encode_training_texts(processor, data).ids
            model.set_token_counts(torch.from_numpy(np.bincount(ids, minlength=model.config.vocab_size)))
        return model

    def batches(self, model: Any, processor: Any, data: Sequence[str], recipe: WordVectorsRecipe) -> Batches:
        """Return batches of blocks of words."""
        check_tokenizer(model, processor)
        corpus, config = encode_training_texts(processor, data), model.config
        line = WordLine.of(corpus.ids, corpus.lengths, config.special_ids)
        counts = np.bincount(line.ids, minlength=config.vocab_size)
        sampled = config.output_layer == "negative_sampling"
        options = WindowOptions(
            config.window_size,
            recipe.block_words,
            recipe.batch_size,
            recipe.updates_per_step,
            recipe.shared_noise if sampled else 0,
        )
        keep = keep_probabilities(counts, recipe.subsample_threshold, recipe.subsampling)
        noise = model.output.cumulative_noise().cpu().numpy() if sampled else np.ones(1)
        return WordBlocks(line, keep, noise, options, recipe.seed)

    def training_options(self, model: Any, recipe: WordVectorsRecipe) -> dict[str, Any]:
        """Return word2vec's own optimizer and updates."""
        return {"optimizer_factory": make_row_adagrad, "update": WordUpdates(model, recipe.batch_size)}

    def encode(self, model: Any, processor: Any, data: Sequence[str], settings: Settings) -> Encoded:
        """Return the ids of the words, text after text.

        Raises:
            ValueError: the tokenizer does not belong to the model.
        """
        check_tokenizer(model, processor)
        return Encoded(data, encode_training_texts(processor, data))

    def measure(self, model: Any, processor: Any, encoded: Encoded, settings: Settings) -> dict[str, Any]:
        """Return `pair_loss`, the mean over `pairs`; frequent words are not left out.

        Raises:
            ValueError: no text has two known words.
        """
        corpus = encoded.inputs
        known = ~np.isin(corpus.ids, model.config.special_ids)
        rows = [
            ids[start : start + _EVALUATION_WORDS]
            for ids in np.split(np.where(known, corpus.ids, -1), np.cumsum(corpus.lengths)[:-1])
            for start in range(0, len(ids), _EVALUATION_WORDS)
        ]
        rows = sorted((row[row >= 0] for row in rows), key=len)
        nats, pairs = 0.0, 0
        with evaluation_mode(model):
            for start in range(0, len(rows), _EVALUATION_ROWS):
                loss, count = _summed_loss(model, rows[start : start + _EVALUATION_ROWS])
                nats, pairs = nats + loss, pairs + count
        if not pairs:
            raise ValueError("no text has two words of the vocabulary; check the files and columns")
        return {
            "pair_loss": nats / pairs,
            "pairs": pairs,
            "words": int(known.sum()),
            "unknown": int((~known).sum()),
        }


@torch.no_grad()
def _summed_loss(model: Any, rows: Sequence[np.ndarray]) -> tuple[float, int]:
    """Return the summed loss of some texts, which are sorted by length, and the number of pairs."""
    words, mask = (tensor.to(model.device) for tensor in pad_rows(rows, 0))
    outputs = model(words, attention_mask=mask, labels=words)
    return float(outputs.loss) * int(outputs.num_pairs), int(outputs.num_pairs)


def _is_word2vec(recipe: WordVectorsRecipe) -> bool:
    return bool(recipe.model.get("model_type") == "lecture_word2vec")
