# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""BLEU (Papineni et al. 2002) and chrF (Popović 2015) by sacrebleu (Post 2018), on detokenized text."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from hf_lecture_models.io.runs import log_once


def bleu_and_chrf(translations: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Return both measures of a whole corpus, from 0 to 100, or chrF alone where BLEU is undefined.

    >>> bleu_and_chrf(["the cat sat on the mat"], ["the cat sat on the mat"])["bleu"]
    100.00000000000004
    >>> bleu_and_chrf(["a cat"], ["a cat"])
    {'chrf': 100.0}

    Raises:
        ImportError: sacrebleu is not installed.
        ValueError: the numbers of references and translations differ, or both are 0.
    """
    if len(translations) != len(references) or not references:
        raise ValueError(f"there are {len(translations)} translations and {len(references)} references")
    metrics = _metrics()
    if not is_bleu_defined(references):
        del metrics["bleu"]
        _say_that_bleu_is_left_out()
    return {name: float(metric.corpus_score(translations, [references]).score) for name, metric in metrics.items()}


def sentence_statistics(translations: Sequence[str], references: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the counts of each sentence, whose sums give a measure: (sentences, 10) of BLEU, (sentences, 18) of chrF.

    Those of BLEU are both lengths, the right and all sequences of one to four words; those of chrF, for one to six
    letters, the sequences of the translation, of the reference and of both.

    >>> sentence_statistics(["a cat"], ["a dog"])["bleu"].tolist()
    [[2.0, 2.0, 1.0, 0.0, 0.0, 0.0, 2.0, 1.0, 0.0, 0.0]]

    Raises:
        ImportError: sacrebleu is not installed.
    """
    return {
        name: np.array(metric._extract_corpus_statistics(translations, [references]), float)
        for name, metric in _metrics().items()
    }


def chrf_of_sentences(translations: Sequence[str], references: Sequence[str]) -> list[float]:
    """Return the chrF of each sentence by itself, from 0 to 100.

    >>> chrf_of_sentences(["a cat", "dogs"], ["a cat", "mice"])
    [100.0, 0.0]

    Raises:
        ImportError: sacrebleu is not installed.
    """
    chrf = _metrics()["chrf"]
    pairs = zip(translations, references, strict=True)
    return [float(chrf.sentence_score(translation, [reference]).score) for translation, reference in pairs]


def is_bleu_defined(references: Sequence[str]) -> bool:
    """Return whether a reference has four words; else sacrebleu's BLEU of right translations is 0 / 0, given as 0.

    >>> is_bleu_defined(["a cat", "a cat sat down"]), is_bleu_defined(["a cat", "a cat sat"])
    (True, False)

    Raises:
        ImportError: sacrebleu is not installed.
    """
    return bool(_metrics()["bleu"].corpus_score(references, [references]).totals[-1])


@cache
def _say_that_bleu_is_left_out() -> None:
    """Log a line once: a run measures many times."""
    log_once("BLEU is left out: no reference has four words, so that there are no sequences of four to count")


def signatures() -> dict[str, str]:
    """Return sacrebleu's signatures, which state all settings of a measure, so that figures can be compared.

    >>> signatures()["bleu"].partition("|version:")[0]
    'nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp'

    Raises:
        ImportError: sacrebleu is not installed.
    """
    found = {}
    for name, metric in _metrics().items():
        metric.corpus_score(["a"], [["a"]])  # sets the number of references
        found[name] = str(metric.get_signature())
    return found


def _metrics() -> dict[str, Any]:
    try:
        from sacrebleu.metrics import BLEU, CHRF
    except ImportError as error:
        raise ImportError("BLEU and chrF need sacrebleu: pip install 'hf-lecture-models[train]'") from error
    # `force` turns off a warning that texts look tokenized.
    return {"bleu": BLEU(force=True), "chrf": CHRF()}
