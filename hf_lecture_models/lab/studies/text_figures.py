# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A perplexity as a function of a column of texts: for DuckDB, Spark, pandas and the processes of `datasets`."""

import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from hf_lecture_models.cli.io import load_language_model
from hf_lecture_models.lab.studies.filtering import text_differences, text_perplexities

_LOADING = threading.Lock()


@dataclass(frozen=True)
class TextFigures:
    """A function that returns the figures of texts, and loads its models when it is first called.

    It holds names alone, so it can be sent to other processes. A process loads each model once, whatever the number of
    such functions and threads, and keeps it.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from hf_lecture_models import NGramForCausalLM, WordTokenizer
    >>> tokenizer = WordTokenizer.train(["the cat sat", "the cat ran"])
    >>> model = NGramForCausalLM.fit(["the cat sat", "the cat ran"], tokenizer, order=2, smoothing="add_alpha")
    >>> with TemporaryDirectory() as folder:
    ...     model.save_arpa(Path(folder, "lm.arpa"), tokenizer)
    ...     TextFigures(f"{folder}/lm.arpa")(["the cat sat", "sat cat the", None]).round(2)
    array([3.16, 7.74,  nan])

    Args:
        model: any causal language model: a folder, a file of n-grams, or a name on the Hub.
        measure: as in `text_perplexities`.
        minus: another model; the figures are those of `text_differences`.
        sentencepiece: a sentencepiece model, whose pieces are the words of the models.
        batch_size: as in `text_perplexities`.
    """

    model: str | os.PathLike[str]
    measure: str = "perplexity"
    minus: str | os.PathLike[str] | None = None
    sentencepiece: str | os.PathLike[str] | None = None
    batch_size: int | None = None

    def __call__(self, texts: Iterable[str | None]) -> np.ndarray:
        """Return the figure of each text, (texts,) float64: NaN for a blank text, infinity for probability 0.

        Args:
            texts: a list, or a column of Arrow, pandas, polars, numpy or `datasets`.

        Raises:
            TypeError, ValueError: as `text_perplexities` and `text_differences`.
            OSError, ImportError: the model cannot be loaded.
        """
        pieces = None if self.sentencepiece is None else os.fspath(self.sentencepiece)
        model = _loaded(os.fspath(self.model), pieces)
        if self.minus is None:
            return text_perplexities(*model, _as_list(texts), self.measure, self.batch_size)
        other = _loaded(os.fspath(self.minus), pieces)
        return text_differences(*model, *other, _as_list(texts), self.measure, self.batch_size)

    def arrow(self, texts: Any) -> Any:
        """Return the figures of a `pyarrow.Array` or `ChunkedArray` as a `pyarrow.Array`: null without a word.

        DuckDB takes NaN for the largest number, so `perplexity(text) > 1000` would find blank texts too. With null it
        does not.
        """
        import pyarrow

        return pyarrow.array(self(texts), from_pandas=True)


def _loaded(name: str, sentencepiece: str | None) -> tuple[Any, Any]:
    with _LOADING:
        return _load(name, sentencepiece)


@cache
def _load(name: str, sentencepiece: str | None) -> tuple[Any, Any]:
    return load_language_model(name, None if sentencepiece is None else Path(sentencepiece))


def _as_list(texts: Any) -> Any:
    if hasattr(texts, "isna"):  # pandas has several values for a missing text
        return [None if missing else text for text, missing in zip(texts, texts.isna(), strict=True)]
    convert = getattr(texts, "to_pylist", None) or getattr(texts, "tolist", None)
    return texts if convert is None else convert()
