# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Linear interpolation of n-gram models (slide Y:179-225), into one model that is saved and used like any other:

    P(w | h) = sum_i weight_i P_i(w | h)

The weights, one per model, are given, or make held-out texts most probable (`tools/mixture_weights.py`). The models may
number the same words differently, as two ARPA files do, or have different words (`tools/united_words.py`). The new
model keeps the tables of all, and mixes at each word; or, static, it is one back-off model (`tools/static_mixture.py`).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from hf_lecture_models.io.progress import ProgressBar
from hf_lecture_models.layers.ngram_tables import NGramTables, WordClasses
from hf_lecture_models.models.ngram.checks_ngram import how_estimated
from hf_lecture_models.models.ngram.configuration_ngram import VOCABULARY_FIELDS, NGramConfig
from hf_lecture_models.models.ngram.counting_ngram import make_stream
from hf_lecture_models.models.ngram.estimation_ngram import config_for, read_corpus
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM, new_trie
from hf_lecture_models.models.ngram.tables_ngram import classes_of, load_tables, tables_of, tries_of
from hf_lecture_models.models.ngram.tools.mixture_weights import checked_weights, fit_weights
from hf_lecture_models.models.ngram.tools.model_checks import own_tokenizer_of, reason_against
from hf_lecture_models.models.ngram.tools.static_mixture import mix_tables
from hf_lecture_models.models.ngram.tools.united_words import new_ids, over_words, united_tokenizer

_Texts = Iterable[str] | str | os.PathLike[str]


def interpolate(
    cls: type[NGramForCausalLM],
    models: Sequence[Any],
    tokenizer: Any = None,
    held_out: _Texts | None = None,
    progress: bool = True,
    weights: Sequence[float] | None = None,
    static: bool = False,
) -> NGramForCausalLM:
    """Mix several models into one, word by word: `NGramForCausalLM.interpolate([words, classes], tokenizer, held_out)`.

    >>> from hf_lecture_models import WordTokenizer
    >>> texts = ["the cat sat", "the dog ran"]
    >>> tokenizer = WordTokenizer.train(texts)
    >>> models = [NGramForCausalLM.fit(texts, tokenizer, order=n, smoothing="add_alpha") for n in (1, 2)]
    >>> mixed = NGramForCausalLM.interpolate(models, tokenizer, ["the cat ran"])
    >>> [round(weight, 2) for weight in mixed.config.mixture_weights]
    [0.0, 1.0]

    Args:
        models: two or more `NGramForCausalLM`; tables whose words keep their numbers are shared. A mixture among them
            counts as one model; its parts become parts of the new one.
        tokenizer: that of the new model, with the words of all. A model's own is its `own_tokenizer`, else that of its
            folder, else `tokenizer`, with a warning. Or a list with one for each model, or None for their own: the new
            model's `own_tokenizer` is then the first, or a new one if this lacks words. A word that a model lacks has
            the probability 0 there.
        held_out: texts to set the weights by, other than those that the models were estimated from; given as to `fit`.
        weights: one for each model, together 1, in place of `held_out`.
        static: return one back-off model, which `save_arpa` can write and which differs (`tools/static_mixture.py`).

    Raises:
        ValueError: there are fewer than two models, one has words that `tokenizer` lacks, their words cannot be united,
            or they are of a kind that cannot be mixed so; or not one of `held_out` and `weights` is given, or is wrong.
        OSError: the file cannot be read.
    """
    if (held_out is None) == (weights is None):
        raise ValueError("give `held_out`, texts to set the weights by, or `weights`: one of the two")
    if weights is not None:
        weights = checked_weights(weights, len(models))
    together = UnitedModels(models, tokenizer, static)
    if weights is None:
        weights = fit_weights(together.measure(held_out or [], progress).probs)
    return together.mix(weights, cls, progress)


@dataclass(frozen=True)
class HeldOut:
    """The events of held-out texts, words and ends of texts, and what several models say of them."""

    words: torch.Tensor  # (tokens,) ids, with `<s>`, which is no event
    starts: torch.Tensor  # (tokens,) bool: where texts start
    probs: np.ndarray  # (models, events) float64: P_i(word | before)
    is_known: np.ndarray  # (models, events) bool: the model has the word, which is not `<unk>`

    def probs_of(self, trie: Any) -> np.ndarray:
        """Return the probability of each event, (events,) float64, by the trie of a model over the same words."""
        return _score(trie, self.words, self.starts)[~self.starts.numpy()]


@dataclass(frozen=True)
class _Part:
    """One set of tables over the words of all models, and its fields in the configuration of a mixture."""

    owner: int  # the model that it is of
    weight: float  # in that model: 1, or less if that is a mixture
    fields: dict[str, Any]
    tables: NGramTables
    classes: WordClasses | None
    words: np.ndarray  # (vocab,) bool: those that it has


class UnitedModels:
    """Several models over the words of all; the arguments are those of `interpolate`.

    >>> from hf_lecture_models import WordTokenizer
    >>> tokenizers = [WordTokenizer.train([text]) for text in ("a cat", "a dog")]
    >>> fit = NGramForCausalLM.fit
    >>> models = [fit([t], own, 2, "add_alpha") for t, own in zip(("a cat", "a dog"), tokenizers)]
    >>> together = UnitedModels(models)
    >>> together.tokenizer.tokenize("a cat a dog")
    ['a', 'cat', 'a', 'dog']
    >>> together.measure(["a cat"], progress=False).is_known  # the events a, cat and the end of the text
    array([[ True,  True,  True],
           [ True, False,  True]])

    Attributes:
        tokenizer: that of the mixtures.
        vocabulary: its size and ids.
    """

    def __init__(self, models: Sequence[Any], tokenizer: Any = None, static: bool = False) -> None:
        _check(models, static)
        self.static = static
        self.tokenizer, tokenizers = _tokenizers(models, tokenizer)
        self.vocabulary = config_for(self.tokenizer)
        self.parts: list[_Part] = []
        for number, (model, own) in enumerate(zip(models, tokenizers, strict=True)):
            ids = new_ids(model.config, own, self.tokenizer)
            self.parts += _parts(number, model, ids, self.vocabulary.vocab_size)

    def measure(self, held_out: _Texts, progress: bool = True) -> HeldOut:
        """Return what each model says of held-out texts.

        Raises:
            ValueError: the text is empty, or it has an unknown word for which no model has `<unk>`.
            OSError: the file cannot be read.
        """
        corpus = read_corpus(self.tokenizer, held_out, progress, "encoding held-out texts")
        stream = make_stream(*corpus, self.vocabulary)
        words, starts = stream.words, stream.places == 0
        probs = np.zeros((self.parts[-1].owner + 1, len(words)))
        known = np.zeros(probs.shape, bool)
        both = torch.from_numpy(words), torch.from_numpy(starts)
        for part in self.parts:
            probs[part.owner] += part.weight * _score(_trie(part, self.vocabulary), *both)
            known[part.owner] |= part.words[words]
        if self.vocabulary.unk_token_id is not None:
            known &= words != self.vocabulary.unk_token_id
        return HeldOut(*both, probs[:, ~starts], known[:, ~starts])

    def mix(
        self, weights: Sequence[float], cls: type[NGramForCausalLM] = NGramForCausalLM, progress: bool = True
    ) -> NGramForCausalLM:
        """Return the mixture, dynamic or static, with these weights, one for each model."""
        of_parts = [weights[part.owner] * part.weight for part in self.parts]
        if self.static:
            tables = [part.tables for part in self.parts]
            steps = len(tables) * (max(one.order for one in tables) - 1)
            with ProgressBar(total=steps, desc="mixing", shown=progress) as bar:
                found = mix_tables(tables, of_parts, bar)
            model = cls.from_tables(found, config_for(self.tokenizer, order=found.order, smoothing=None))
        else:
            with torch.device("meta"):
                model = cls(self._config(of_parts))
            for trie, part in zip(tries_of(model.trie), self.parts, strict=True):
                load_tables(trie, part.tables, part.classes)
        model.own_tokenizer = self.tokenizer
        return model.eval()

    def _config(self, weights: list[float]) -> NGramConfig:
        return NGramConfig(
            order=max(part.tables.order for part in self.parts),
            smoothing=None,
            components=[part.fields for part in self.parts],
            mixture_weights=weights,
            **_ids(self.vocabulary),
        )


def _parts(owner: int, model: NGramForCausalLM, ids: np.ndarray, size: int) -> list[_Part]:
    """Return the tables of a model, whose word i has the number `ids[i]` among `size`: one set, or several."""
    config, found = model.config, []
    configs, weights = (config.component_configs, config.mixture_weights) if config.components else ([config], [1.0])
    for trie, one, weight in zip(tries_of(model.trie), configs, weights or [], strict=True):
        tables, classes = over_words(tables_of(trie), classes_of(trie), ids, size)
        fields = {**how_estimated(one), "num_classes": one.num_classes, "table_sizes": tables.sizes}
        words = np.zeros(size, bool)
        words[ids] = True
        found.append(_Part(owner, weight, fields, tables, classes, words))
    return found


def _trie(part: _Part, vocabulary: NGramConfig) -> Any:
    with torch.device("meta"):
        trie = new_trie(NGramConfig(**part.fields, **_ids(vocabulary)))
    load_tables(trie, part.tables, part.classes)
    return trie


def _ids(vocabulary: NGramConfig) -> dict[str, Any]:
    return {name: getattr(vocabulary, name) for name in VOCABULARY_FIELDS}


@torch.no_grad()
def _score(trie: Any, words: torch.Tensor, starts: torch.Tensor) -> np.ndarray:
    """Return the probability of each word of a stream, (tokens,) float64."""
    return trie.score(words, starts)[0].double().exp().numpy()


def _tokenizers(models: Sequence[Any], tokenizer: Any) -> tuple[Any, list[Any]]:
    """Return the tokenizer of the new model, and that of each model."""
    if tokenizer is not None and not isinstance(tokenizer, list | tuple):
        return tokenizer, [_own_tokenizer(number, model, tokenizer) for number, model in enumerate(models, 1)]
    own = tokenizer or [_own_tokenizer(number, model, None) for number, model in enumerate(models, 1)]
    if len(own) != len(models):
        raise ValueError(f"{len(own)} tokenizers for {len(models)} models; give one, or one for each")
    return united_tokenizer([model.config for model in models], own), list(own)


def _own_tokenizer(number: int, model: NGramForCausalLM, tokenizer: Any) -> Any:
    """Return the tokenizer that a model was estimated, read or saved with, or else `tokenizer`."""
    if (own := own_tokenizer_of(model)) is not None:
        return own
    if tokenizer is None:
        rule = f"model {number} has no tokenizer of its own"
        raise ValueError(f"{rule}; give `tokenizer`, one for all or a list with one for each model")
    warnings.warn(
        f"model {number} has no tokenizer of its own, so its words are taken to have the numbers of the one given; "
        "if they have others, give a list with a tokenizer for each model",
        stacklevel=6,
    )
    return tokenizer


def _check(models: Sequence[Any], static: bool) -> None:
    if len(models) < 2:
        raise ValueError(f"{len(models)} model{'s' * (len(models) != 1)} given, and a mixture is of two or more")
    for number, model in enumerate(models, 1):
        if not model.config.is_distribution:
            raise ValueError(f"model {number} {'; '.join(reason_against(model.config, classes=True) or ())}")
        for config in model.config.component_configs or [model.config] if static else []:
            if (found := reason_against(config)) is not None:
                raise ValueError(
                    "a static mixture is one table of n-grams and their probabilities, but model "
                    f"{number} {'; '.join(found)}, or mix at each word"
                )
