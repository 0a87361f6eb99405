# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What the decoders of speech recognisers need of an ARPA file beyond the format; docs/speech.md has the sources.

- flashlight-text (and torchaudio's decoder) and pyctcdecode read the file with KenLM: orders 2 to 6.
- pyctcdecode reads the words from the text of the file as well, if its name ends in .arpa.
- Kaldi's `arpa2fst` and kaldilm give `<eps>` and `#0` another meaning.
- pocketsphinx reads orders 1 to 5, and knows the unknown word as `<UNK>`. If the last words of an
  n-gram are missing, it computes their probability from the weight of one word, where the context has several.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hf_lecture_models.io.packing import SUFFIXES
from hf_lecture_models.layers.ngram_tables import NGramTables
from hf_lecture_models.models.ngram.files.arpa_format import UNKNOWN
from hf_lecture_models.models.ngram.tools.suffixes import with_suffixes


@dataclass(frozen=True)
class DecoderForm:
    """The files that one decoder reads."""

    orders: range
    packings: tuple[str, ...] = SUFFIXES  # of files that it unpacks, or that its users unpack as a rule
    reads_words: bool = False  # from the text of a file NAME.arpa, and from no other
    unknown_word: str | None = None  # the only spelling of the unknown word; None: any
    reserved: tuple[str, ...] = ()  # words with another meaning
    suffixes: bool = False  # the last words of each n-gram must be an n-gram


FORMS = {
    "flashlight": DecoderForm(range(2, 7), packings=(".gz",)),
    "kaldi": DecoderForm(range(1, 65), reserved=("<eps>", "#0")),
    "pocketsphinx": DecoderForm(range(1, 6), packings=(".gz", ".bz2"), unknown_word="<UNK>", suffixes=True),
    "pyctcdecode": DecoderForm(range(2, 7), reads_words=True),
}


def spelling_of_unknown(decoder: str | None, unknown_word: str | None) -> str:
    """Return how a decoder wants the unknown word to be spelled; `unknown_word` is the caller's wish.

    >>> spelling_of_unknown("pocketsphinx", None), spelling_of_unknown("kaldi", "<SPOKEN_NOISE>")
    ('<UNK>', '<SPOKEN_NOISE>')

    Raises:
        ValueError: the decoder knows another spelling only, or there is no such decoder.
    """
    only = None if decoder is None else _form(decoder).unknown_word
    if only is not None and unknown_word not in (None, only):
        raise ValueError(f"`unknown_word` is {unknown_word!r}, but {decoder} knows only {only}; leave it out")
    return unknown_word if unknown_word is not None else only or UNKNOWN


def for_decoder(decoder: str, tables: NGramTables, words: Sequence[str], path: str | os.PathLike[str]) -> NGramTables:
    """Return the tables as a decoder reads them rightly.

    Args:
        decoder: a name in `FORMS`.
        tables: the model.
        words: by id, as they are written.
        path: the file.

    Raises:
        ValueError: the decoder cannot read this order, this name of a file or one of the words; the message names it.
    """
    form = _form(decoder)
    if tables.order not in form.orders:
        raise ValueError(
            f"the model is of order {tables.order}, and {decoder} reads orders {form.orders[0]} to {form.orders[-1]}: "
            "fit another order"
        )
    _check_name(form, decoder, os.fspath(path))
    for word in form.reserved:
        if word in words:
            raise ValueError(f"the word {word!r} has another meaning for {decoder}; rename the token")
    return with_suffixes(tables) if form.suffixes else tables


def _check_name(form: DecoderForm, decoder: str, name: str) -> None:
    packing = Path(name.lower()).suffix
    if form.reads_words and not name.endswith(".arpa"):
        raise ValueError(
            f"{decoder} takes its list of words from the text of a file that ends in .arpa, and from no other; name "
            f"{name} so"
        )
    if packing in SUFFIXES and packing not in form.packings:
        names = " or ".join(f".arpa{ending}" for ending in ("", *form.packings))
        raise ValueError(f"{decoder} does not unpack {packing}: name the file {names}")


def _form(decoder: str) -> DecoderForm:
    if decoder not in FORMS:
        raise ValueError(f"`decoder` is {decoder!r}; known are {', '.join(FORMS)}")
    return FORMS[decoder]
