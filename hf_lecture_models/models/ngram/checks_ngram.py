# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What `NGramConfig` refuses; `__init__.py` binds it to the class. A published copy of the model does without."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from hf_lecture_models.base.configuration import LectureConfig
from hf_lecture_models.models.ngram.configuration_ngram import VOCABULARY_FIELDS, NGramConfig

SMOOTHINGS = (
    "maximum_likelihood",
    "add_alpha",
    "jelinek_mercer",
    "witten_bell",
    "witten_bell_backoff",
    "absolute_discounting",
    "kneser_ney",
    "modified_kneser_ney",
    "pitman_yor",
    "good_turing",
    "katz",
    "stupid_backoff",
)
ALLOWED_VALUES: dict[str, tuple[Any, ...]] = {"smoothing": (*SMOOTHINGS, None), "quantisation_bits": (8, 16, None)}
POSITIVE_FIELDS = ("vocab_size", "order", "katz_k", "num_classes")
LARGEST_VALUES = {
    **LectureConfig.largest_values,
    "order": 64,
    "katz_k": 10_000,
    **dict.fromkeys(("vocab_size", "num_classes"), 2**31 - 1),
}
# 0.4 terabytes of tables: a configuration that asks for more is damaged.
LARGEST_TABLES = 2**35
# Field -> a bound on each estimated number.
LARGEST_ESTIMATES = {"discounts": 3, "strengths": 2**31, "discount_ratios": 2, "interpolation_weights": 1}


def check_fields(config: NGramConfig) -> None:
    """Check the pruning thresholds, what was estimated, and the table sizes."""
    if len(config.non_events) >= config.vocab_size:
        raise ValueError(f"NGramConfig.vocab_size is {config.vocab_size}; beside <s> and <pad> there must be a word")
    if config.prune:
        _check_prune(config, config.prune)
    for name, largest in LARGEST_ESTIMATES.items():
        if getattr(config, name) is not None:
            _check_estimates(config, name, largest)
    if config.num_classes is not None:
        _check_classes(config, config.num_classes)
    if config.table_sizes is not None:
        _check_table_sizes(config, config.table_sizes)
    if config.components or config.mixture_weights:
        _check_mixture(config)


def _check_prune(config: NGramConfig, prune: list[int]) -> None:
    if len(prune) > config.order or prune[0] < 0 or sorted(prune) != prune:
        raise ValueError(
            f"NGramConfig.prune is {prune}; give at most order={config.order} thresholds of 0 or more that do not "
            "decrease, such as [0, 1, 2]"
        )


def broken_rule(config: NGramConfig, name: str, value: float) -> str | None:
    """Return the rule for this field that a number breaks, if any."""
    if name == "alpha" and not 0 < value < math.inf:
        return "it must be a positive number (1 is Laplace's)"
    if name == "backoff_factor" and not 0 < value <= 1:
        return "it must be above 0 and at most 1 (0.4 is usual)"
    return LectureConfig._broken_rule(config, name, value)


def _check_estimates(config: NGramConfig, name: str, largest: int) -> None:
    entries = [entry if isinstance(entry, list) else [entry] for entry in getattr(config, name)]
    possible = all(entry and all(0 <= number <= largest for number in entry) for entry in entries)
    if len(entries) != config.order or not possible:
        raise ValueError(f"NGramConfig.{name}: {config.order} entries within 0 and {largest} belong to this order")


def _check_classes(config: NGramConfig, num_classes: int) -> None:
    if not bool(config.non_events) < num_classes <= config.vocab_size:
        raise ValueError(
            f"NGramConfig.num_classes is {num_classes}; there can be as many as words, "
            f"vocab_size={config.vocab_size}, and beside that of <s> and <pad> there must be one"
        )
    _refuse_hashes(config)


def _refuse_hashes(config: NGramConfig) -> None:
    if config.hashed:
        raise ValueError(
            "NGramConfig.hashed: num_classes and components are None beside it; a model of classes, or of several "
            "models, has no hashes of its own"
        )


def _check_table_sizes(config: NGramConfig, sizes: list[int]) -> None:
    if sum(sizes) > LARGEST_TABLES:
        raise ValueError(f"NGramConfig.table_sizes: more than {LARGEST_TABLES} n-grams are not allowed")
    if len(sizes) != config.order or sizes[0] != config.units:
        raise ValueError(
            f"NGramConfig.table_sizes is {sizes}; it must be {config.order} numbers, one for each order, the "
            f"first of them {'vocab_size' if config.num_classes is None else 'num_classes'}={config.units}"
        )
    for n, (shorter, longer) in enumerate(pairwise(sizes), 2):
        if not 0 <= longer <= shorter * config.units < 2**63:
            raise ValueError(f"NGramConfig.table_sizes: there cannot be {longer} different {n}-grams")


def _check_mixture(config: NGramConfig) -> None:
    weights, components = config.mixture_weights or [], config.components or []
    _refuse_hashes(config)
    if len(components) != len(weights) or (weights and not math.isclose(sum(weights), 1, rel_tol=1e-6)):
        raise ValueError("NGramConfig.mixture_weights: one weight belongs to each component, together 1")
    if weights and not (min(weights) > 0 and config.table_sizes is config.num_classes is None):
        raise ValueError(
            "NGramConfig.mixture_weights: weights are positive, and classes and tables those of the components"
        )
    try:
        configs = config.component_configs
    except (ValueError, TypeError) as error:
        raise ValueError(f"NGramConfig.components: {error}") from error
    if any(one.order > config.order or one.components for one in configs):
        raise ValueError("NGramConfig.components: a component is of a higher order, or has components itself")


def num_events(config: NGramConfig) -> int:
    """|V| of the equations: how many ids can follow a context."""
    return config.vocab_size - len(config.non_events)


def how_estimated(config: NGramConfig) -> dict[str, Any]:
    """Return the fields of `NGramConfig` without those of the vocabulary, the tables and the interpolated models."""
    others = {*VOCABULARY_FIELDS, "num_classes", "table_sizes", "components", "mixture_weights"}
    return {name: getattr(config, name) for name in vars(NGramConfig)["__annotations__"] if name not in others}


def ngram_counts(config: NGramConfig) -> list[int]:
    """Return how many n-grams of each order there are, as an ARPA file counts them: `sizes` without `<pad>`.

    >>> NGramConfig(vocab_size=4, order=1, pad_token_id=3).ngram_counts
    [3]
    """
    is_padding = config.pad_token_id not in (None, config.bos_token_id, config.eos_token_id, config.unk_token_id)
    return [size - is_padding if n == 1 else size for n, size in enumerate(config.sizes, 1)]
