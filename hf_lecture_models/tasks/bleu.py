# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""BLEU (Papineni et al. 2002) and chrF (Popović 2015) by sacrebleu (Post 2018), on text as people read it."""

from collections.abc import Sequence
from typing import Any


def bleu_and_chrf(translations: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Both measures of a whole corpus, from 0 to 100.

    >>> bleu_and_chrf(["the cat sat on the mat"], ["the cat sat on the mat"])["bleu"]
    100.00000000000004

    Raises:
        ImportError: sacrebleu is not installed.
        ValueError: there are not as many references as translations, or none.
    """
    if len(translations) != len(references) or not references:
        raise ValueError(f"there are {len(translations)} translations and {len(references)} references")
    scores = {name: metric.corpus_score(translations, [references]) for name, metric in _metrics().items()}
    return {name: float(score.score) for name, score in scores.items()}


def signatures() -> dict[str, str]:
    """What sacrebleu says of how it measures: by it figures of several papers can be compared.

    >>> signatures()["bleu"].partition("|version:")[0]
    'nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp'

    Raises:
        ImportError: sacrebleu is not installed.
    """
    found = {}
    for name, metric in _metrics().items():
        metric.corpus_score(["a"], [["a"]])  # before this it does not know the number of references
        found[name] = str(metric.get_signature())
    return found


def _metrics() -> dict[str, Any]:
    try:
        from sacrebleu.metrics import BLEU, CHRF
    except ImportError as error:
        raise ImportError("BLEU and chrF need sacrebleu: pip install 'hf-lecture-models[train]'") from error
    # Of translations that are not tokenized a warning that they look tokenized says nothing.
    return {"bleu": BLEU(force=True), "chrf": CHRF()}
