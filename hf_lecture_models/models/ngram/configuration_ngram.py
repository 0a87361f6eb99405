# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Configuration of the n-gram language model."""

from typing import Any

from hf_lecture_models.base.configuration import LectureConfig
from hf_lecture_models.io.compat import strict

VOCABULARY_FIELDS = ("vocab_size", "bos_token_id", "eos_token_id", "pad_token_id", "unk_token_id")


@strict
class NGramConfig(LectureConfig):
    """How an n-gram model was estimated, and how large its tables are; `checks_ngram.py` has the rules.

    Args:
        vocab_size: number of tokens, special ones included.
        order: words in the longest n-gram; 1 is a unigram.
        smoothing: how the probabilities were estimated, as `checks_ngram.py` lists; None where a file does not say.
        alpha: added to every count by add-alpha smoothing; 1 is Laplace.
        katz_k: Katz discounts counts of 1 to `katz_k`, and trusts higher ones (SRILM: 7).
        backoff_factor: factor of a stupid back-off score for each step to a shorter context; read when scoring, so
            that it can be changed without counting again.
        prune: per order, n-grams that occurred at most so often are not stored; the last value holds for all higher
            orders (as `lmplz --prune`). Words below a first value above 0 are not in the vocabulary. None stores all.
        discounts: estimated: subtracted from the counts of each order, one number (absolute discounting, Kneser-Ney,
            Pitman-Yor) or three (modified Kneser-Ney: from counts of 1, 2, 3 and more).
        strengths: estimated: how much each order trusts the shorter contexts beside the discount (Pitman-Yor).
        discount_ratios: estimated: for each order, the factors of counts of 1, 2, 3 ... (Katz: up to `katz_k`;
            Good-Turing: the first ten, though all counts have one).
        interpolation_weights: estimated: the weight of each order against the shorter ones (Jelinek-Mercer).
        num_classes: number of word classes in a class-based model, those of `<s>` and the like included; None for
            n-grams of words.
        quantisation_bits: size of the stored logarithms of orders 2 and up, 8 or 16 (`NGramForCausalLM.quantise`);
            None is float32.
        hashed: True if hashes of the n-grams of orders 2 and up are stored, and not their words
            (`NGramForCausalLM.from_kenlm`).
        table_sizes: number of stored n-grams of each order; None is a model that has not been fitted.
        components: the fields above of each model in an interpolation (`NGramForCausalLM.interpolate`).
        mixture_weights: estimated: the weight of each of these models.
        bos_token_id: `<s>`, context only: its probability is 0.
        eos_token_id: `</s>`, an event like any word.
        pad_token_id: `<pad>`, neither event nor context.
        unk_token_id: `<unk>`, an event like any word.

    >>> NGramConfig(vocab_size=1000, order=3, smoothing="kneser_ney").order
    3
    """

    model_type = "lecture_ngram"

    vocab_size: int = 1000
    order: int = 5
    smoothing: str | None = "modified_kneser_ney"
    alpha: float | int = 1.0
    katz_k: int = 5
    backoff_factor: float | int = 0.4
    prune: list[int] | None = None
    discounts: list[list[float]] | None = None
    strengths: list[float] | None = None
    discount_ratios: list[list[float]] | None = None
    interpolation_weights: list[float] | None = None
    num_classes: int | None = None
    quantisation_bits: int | None = None
    hashed: bool = False
    table_sizes: list[int] | None = None
    components: list[dict[str, Any]] | None = None
    mixture_weights: list[float] | None = None
    bos_token_id: int | None = None
    eos_token_id: int | None = None
    pad_token_id: int | None = None
    unk_token_id: int | None = None

    @property
    def component_configs(self) -> list["NGramConfig"]:
        """The configurations of the interpolated models."""
        same = {name: getattr(self, name) for name in VOCABULARY_FIELDS}
        return [NGramConfig(**{**one, **same}) for one in self.components or []]

    @property
    def units(self) -> int:
        """Number of classes, or of words where the n-grams are of words."""
        return self.num_classes or self.vocab_size

    @property
    def sizes(self) -> list[int]:
        """`table_sizes`, or those of a model that has not been fitted."""
        return self.table_sizes or [self.units] + [0] * (self.order - 1)

    @property
    def table_entries(self) -> int:
        """The n-grams that are stored, in all tables of all components."""
        return sum(self.table_sizes or ()) + sum(one.table_entries for one in self.component_configs)

    @property
    def is_distribution(self) -> bool:
        """True if the scores sum to one; those of stupid back-off do not."""
        return self.smoothing != "stupid_backoff"

    @property
    def non_events(self) -> list[int]:
        """Ids that never follow anything: `<s>` and `<pad>`, unless `</s>` is the same token."""
        return sorted({self.bos_token_id, self.pad_token_id} - {self.eos_token_id, None})  # type: ignore[arg-type]
