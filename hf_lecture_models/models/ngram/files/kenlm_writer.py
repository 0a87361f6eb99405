# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Writing KenLM's binary files: byte for byte what `build_binary` makes of the model's ARPA file.

`kenlm_format.py` describes the format. The ARPA file is that of `write_arpa`. The one that a model was read from may
have its n-grams in another order, in which KenLM then fills its hash tables, and another p for ``<s>``, which is never
asked for.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hf_lecture_models.io.files import staged_file
from hf_lecture_models.layers.ngram_tables import NGramTables
from hf_lecture_models.models.ngram.files.arpa_writer import check_names, words_of_file
from hf_lecture_models.models.ngram.files.kenlm_ends import kenlm_tables
from hf_lecture_models.models.ngram.files.kenlm_format import header
from hf_lecture_models.models.ngram.files.kenlm_probing_writer import check_room, write_probing
from hf_lecture_models.models.ngram.files.kenlm_trie_writer import write_trie
from hf_lecture_models.models.ngram.files.kenlm_tries import MOST_BITS

DEFAULT_MULTIPLIER = 1.5  # of build_binary; also in the header of tries
LARGEST_MULTIPLIER = 100
MOST_ORDER = 6  # KenLM's, unless it was compiled for another
_TRIE = 2


@dataclass
class KenlmLayout:
    """How a file is laid out; the fields are options of `save_kenlm` and `hf-lecture convert`.

    Raises:
        ValueError: an option has no such value, or belongs to the other type.
    """

    kenlm_type: str = "probing"
    probing_multiplier: float | None = None
    quantise_probs: int | None = None
    quantise_backoffs: int | None = None
    array_compress: int | None = None

    def __post_init__(self) -> None:
        """Check the options."""
        if self.kenlm_type not in ("probing", "trie"):
            raise ValueError(f"`kenlm_type` is {self.kenlm_type!r}; give 'probing' or 'trie'")
        of_tries = {name: getattr(self, name) for name in ("quantise_probs", "quantise_backoffs", "array_compress")}
        given = [name for name, value in of_tries.items() if value is not None]
        if given and self.kenlm_type != "trie":
            raise ValueError(f"`{given[0]}` is for tries; give `kenlm_type` trie too, or leave it out")
        if self.probing_multiplier is not None:
            self._check_multiplier(self.probing_multiplier)
        if self.quantise_backoffs is not None and self.quantise_probs is None:
            raise ValueError("`quantise_backoffs` needs `quantise_probs`: KenLM quantises both or none")
        for name, least, most in (
            ("quantise_probs", 2, MOST_BITS),
            ("quantise_backoffs", 2, MOST_BITS),
            ("array_compress", 0, 255),
        ):
            if of_tries[name] is not None and not least <= of_tries[name] <= most:
                raise ValueError(f"`{name}` is {of_tries[name]}; it must be from {least} to {most} bits")

    def _check_multiplier(self, multiplier: float) -> None:
        if self.kenlm_type != "probing":
            raise ValueError("`probing_multiplier` is for hash tables; leave it out, or give `kenlm_type` probing")
        if not (multiplier <= LARGEST_MULTIPLIER and np.float32(multiplier) > 1):
            rule = f"it must be above 1, such as KenLM's {DEFAULT_MULTIPLIER}, and at most {LARGEST_MULTIPLIER}"
            raise ValueError(f"`probing_multiplier` is {multiplier}; {rule}")

    @property
    def multiplier(self) -> float:
        """How many times as large as what they hold hash tables are."""
        return self.probing_multiplier or DEFAULT_MULTIPLIER

    @property
    def codebook_bits(self) -> tuple[int, int] | None:
        """The bits of the numbers in the codebooks of probabilities and of back-off weights."""
        probs = self.quantise_probs
        return None if probs is None else (probs, probs if self.quantise_backoffs is None else self.quantise_backoffs)


def write_kenlm(tables: NGramTables, words: Sequence[str], path: str | os.PathLike[str], layout: KenlmLayout) -> None:
    """Write one of KenLM's binary files.

    Args:
        tables: the model.
        words: as `write_arpa` takes them.
        path: the file.
        layout: its type and sizes.

    Raises:
        OSError: the file cannot be written; an older file of this name is untouched.
        ValueError: the words are not one per id, or KenLM cannot hold one of them, or the model.
    """
    if not 2 <= tables.order <= MOST_ORDER:
        reason = "KenLM has no models of order 1" if tables.order == 1 else f"KenLM reads orders up to {MOST_ORDER}"
        raise ValueError(f"the model has order {tables.order}, and {reason}: write an ARPA file")
    names = check_names(tables.check(), words)
    ids = words_of_file(tables, words, unknown=False)
    stored = kenlm_tables(tables, [names[index] for index in ids.tolist()], ids)
    is_trie = layout.kenlm_type == "trie"
    if not is_trie:
        check_room(stored, layout.multiplier)
    bits, array_bits = layout.codebook_bits, layout.array_compress
    kind = _TRIE + (bits is not None) + 2 * (array_bits is not None) if is_trie else 0
    counts = stored.sizes if is_trie else stored.arpa_sizes
    counts[0] = len(stored.names) if is_trie else counts[0]
    with staged_file(path) as stage, open(stage, "wb") as file:
        file.write(header(kind, counts, layout.multiplier))
        if is_trie:
            write_trie(stored, bits, array_bits, file)
        else:
            write_probing(stored, layout.multiplier, file)
