# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""BLiMP: how often a model prefers the grammatical one of two similar sentences (Warstadt et al. 2020).

There are 67 paradigms of 1,000 minimal pairs. A pair counts 1 where ln P(good) > ln P(bad), 1/2 where they are equal
(the vocabulary may not distinguish them), else 0. The accuracies of phenomena, fields and all are means over paradigms.

Deviations: the data's label "s-selection" counts as argument structure, which gives the paper's twelve phenomena; the
field "syntax/semantics" is written "syntax_semantics".
"""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

from hf_lecture_models.evaluation.scoring import score_texts
from hf_lecture_models.io.files import write_file
from hf_lecture_models.io.strict_json import strict_json
from hf_lecture_models.tokenization.corpus import read_texts

HUB_NAME = "nyu-mll/blimp"
HUB_REVISION = "877fba0801ffb7cbd8c39c1ff314a46f053f6036"

_FIELDS = ("sentence_good", "sentence_bad", "field", "linguistics_term", "UID")
_PUNCTUATION = re.compile(r"(?<=\w)(?=['.,;:?!](?:\s|$))|(?<=\w)(?='\w)")


@dataclass(frozen=True)
class Paradigm:
    """Minimal pairs of one kind; `good[i]` and `bad[i]` are one pair."""

    name: str
    field: str
    phenomenon: str
    good: list[str]
    bad: list[str]


def read_blimp(folder: str | Path) -> list[Paradigm]:
    """Read a folder of `PARADIGM.jsonl` or `PARADIGM.jsonl.gz` files, as BLiMP's authors publish them.

        paradigms = read_blimp("blimp/data")

    >>> import tempfile
    >>> pair = {"sentence_good": "She sleeps.", "sentence_bad": "She sleep.", "UID": "agreement", "field": "morphology"}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     line = json.dumps(pair | {"linguistics_term": "subject_verb_agreement"})
    ...     _ = Path(folder, "agreement.jsonl").write_text(line, encoding="utf-8")
    ...     [paradigm] = read_blimp(folder)
    >>> paradigm.name, paradigm.good, paradigm.bad
    ('agreement', ['She sleeps.'], ['She sleep.'])

    Raises:
        OSError: the folder is missing, holds no such file, or one is damaged.
        ValueError: a line lacks a field of a minimal pair; the message names file and line.
    """
    place = Path(folder)
    files = sorted([*place.glob("*.jsonl"), *place.glob("*.jsonl.gz")])
    if not files:
        raise FileNotFoundError(f"no *.jsonl or *.jsonl.gz file in {folder}: name the folder of BLiMP's paradigms")
    return [_paradigm(file.name.split(".jsonl")[0], _read_pairs(file)) for file in files]


def _read_pairs(file: Path) -> list[dict[str, str]]:
    pairs = []
    for number, line in enumerate(read_texts(file), start=1):
        try:
            pair = json.loads(line)
            pairs.append({name: pair[name] for name in _FIELDS})
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ValueError(f"{file}, line {number}: no minimal pair of BLiMP ({error})") from None
        if not all(isinstance(value, str) for value in pairs[-1].values()):
            raise ValueError(f"{file}, line {number}: {', '.join(_FIELDS)} must be strings")
    return pairs


def _paradigm(name: str, pairs: Sequence[Mapping[str, str]]) -> Paradigm:
    if not pairs:
        raise ValueError(f"the paradigm {name} has no pairs")
    phenomenon = pairs[0]["linguistics_term"]
    return Paradigm(
        name=pairs[0]["UID"],
        field=pairs[0]["field"].replace("/", "_"),
        phenomenon="argument_structure" if phenomenon == "s-selection" else phenomenon,
        good=[pair["sentence_good"] for pair in pairs],
        bad=[pair["sentence_bad"] for pair in pairs],
    )


def load_blimp() -> list[Paradigm]:
    """Load all paradigms from the Hub, at a fixed revision.

    >>> HUB_NAME
    'nyu-mll/blimp'
    >>> len(load_blimp())  # doctest: +SKIP
    67

    Raises:
        ImportError: `datasets` is not installed.
        OSError: the Hub cannot be reached, and the data are not in its cache.
    """
    try:
        from datasets import get_dataset_config_names, load_dataset
    except ImportError as error:
        raise ImportError("BLiMP from the Hub needs datasets: pip install 'hf-lecture-models[train]'") from error
    try:
        names = get_dataset_config_names(HUB_NAME, revision=HUB_REVISION)
        return [
            _paradigm(name, list(load_dataset(HUB_NAME, name, split="train", revision=HUB_REVISION))) for name in names
        ]
    except Exception as error:  # many kinds, by what is missing
        raise OSError(
            f"the Hub does not give {HUB_NAME} ({error}); read_blimp reads a folder of its files, `data`"
        ) from error


def split_like_wikitext(text: str) -> str:
    """Put spaces around punctuation as WikiText does, for models that were trained on such words.

    >>> split_like_wikitext("Mary's ex-wives don't sleep.")
    "Mary 's ex @-@ wives don 't sleep ."
    """
    return re.sub(r"(?<=\w)-(?=\w)", " @-@ ", _PUNCTUATION.sub(" ", text))


TEXT_FORMS: dict[str, Callable[[str], str]] = {"plain": str, "wikitext": split_like_wikitext}


def compare_scores(first: Any, second: Any) -> float:
    """Return 1 if the first score is larger, 1/2 if both are equal, else 0; numbers or tuples of numbers.

    >>> compare_scores(-3.0, -4.0), compare_scores(-float("inf"), -float("inf")), compare_scores(-4.0, -3.0)
    (1.0, 0.5, 0.0)
    """
    return ((first > second) + (first >= second)) / 2


def measure_paradigm(
    model: Any,
    tokenizer: Any,
    paradigm: Paradigm,
    text_form: str = "plain",
    probability: str = "terminated",
    batch_size: int = 64,
) -> dict[str, Any]:
    """Measure the accuracy of a causal language model on one paradigm.

    Args:
        model: any causal language model of transformers, with its `tokenizer`.
        paradigm: the pairs.
        text_form: "plain", or "wikitext" for `split_like_wikitext`.
        probability, batch_size: as for `score_texts`.

    Returns:
        `field`, `phenomenon`, `pairs`, `accuracy` (ties count 1/2; `TextScore.comparable` compares two sentences of
        probability 0) and `ties`; `known_pairs`, the number of pairs without unknown words, and the `known_accuracy` on
        these (None without any).
    """
    sentences = list(map(TEXT_FORMS[text_form], [*paradigm.good, *paradigm.bad]))
    scores = score_texts(model, tokenizer, sentences, probability, batch_size)
    pairs = list(zip(scores[: len(paradigm.good)], scores[len(paradigm.good) :], strict=True))
    points = [compare_scores(good.comparable(), bad.comparable()) for good, bad in pairs]
    is_known = [not good.encoded.unknown_words and not bad.encoded.unknown_words for good, bad in pairs]
    known_points = [point for point, known in zip(points, is_known, strict=True) if known]
    return {
        "field": paradigm.field,
        "phenomenon": paradigm.phenomenon,
        "pairs": len(pairs),
        "accuracy": fmean(points),
        "ties": points.count(0.5),
        "known_pairs": len(known_points),
        "known_accuracy": fmean(known_points) if known_points else None,
    }


def summarise(paradigms: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Average the accuracies of paradigms, by phenomenon, by field and over all; `known_accuracy` is over pairs.

    >>> row = {"field": "syntax", "phenomenon": "binding", "pairs": 2, "ties": 1, "known_pairs": 0}
    >>> summary = summarise({"a": row | {"accuracy": 0.5, "known_accuracy": None}})
    >>> summary["accuracy"], summary["phenomena"], summary["known_accuracy"]
    (0.5, {'binding': 0.5}, None)
    """
    rows = list(paradigms.values())
    known = sum(row["known_pairs"] for row in rows)
    return {
        "accuracy": fmean(row["accuracy"] for row in rows),
        "paradigms": len(rows),
        "pairs": sum(row["pairs"] for row in rows),
        "ties": sum(row["ties"] for row in rows),
        "known_pairs": known,
        "known_accuracy": sum(row["known_pairs"] * (row["known_accuracy"] or 0.0) for row in rows) / known
        if known
        else None,
        "phenomena": _means(rows, "phenomenon"),
        "fields": _means(rows, "field"),
    }


def _means(rows: Iterable[Mapping[str, Any]], key: str) -> dict[str, float]:
    groups: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        groups[row[key]].append(row["accuracy"])
    return {name: fmean(groups[name]) for name in sorted(groups)}


def evaluate_blimp(
    model: Any,
    tokenizer: Any,
    paradigms: Sequence[Paradigm],
    path: str | Path,
    text_form: str = "plain",
    probability: str = "terminated",
    batch_size: int = 64,
    report: Callable[[int, str, Mapping[str, Any]], None] = lambda done, name, row: None,
) -> dict[str, Any]:
    """Measure all paradigms, and write those that are finished to `path`, from where an interrupted call continues.

    >>> import tempfile
    >>> from hf_lecture_models import NGramForCausalLM, WordTokenizer
    >>> tokenizer = WordTokenizer.train(["she sleeps", "they sleep"])
    >>> model = NGramForCausalLM.fit(["she sleeps", "they sleep"], tokenizer, order=2, smoothing="add_alpha")
    >>> paradigm = Paradigm("agreement", "morphology", "agreement", good=["they sleep"], bad=["they sleeps"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = evaluate_blimp(model, tokenizer, [paradigm], Path(folder, "blimp.json"))
    >>> results["summary"]["accuracy"], results["summary"]["fields"]
    (1.0, {'morphology': 1.0})

    Args:
        model: any causal language model of transformers, with its `tokenizer`.
        paradigms: from `read_blimp` or `load_blimp`.
        path: a JSON file, replaced whole after each paradigm.
        text_form, probability, batch_size: as for `measure_paradigm`.
        report: called after each paradigm with the number done, its name and its row.

    Returns:
        The contents of the file: {"settings", "summary" (see `summarise`), "paradigms": {name: `measure_paradigm`}}.

    Raises:
        ValueError: the file holds results of another model, tokenizer or other settings.
    """
    settings = {"model": model_fingerprint(model, tokenizer), "text_form": text_form, "probability": probability}
    settings["ties"] = "count half"
    done = _finished(Path(path), settings)
    for number, paradigm in enumerate(paradigms, start=1):
        if paradigm.name not in done:
            done[paradigm.name] = measure_paradigm(model, tokenizer, paradigm, text_form, probability, batch_size)
            _write(Path(path), settings, done)
        report(number, paradigm.name, done[paradigm.name])
    return _write(Path(path), settings, {paradigm.name: done[paradigm.name] for paradigm in paradigms})


def model_fingerprint(model: Any, tokenizer: Any) -> str:
    """Return a hash of weights and vocabulary, so that the results of two models are not mixed.

    >>> from hf_lecture_models import NGramForCausalLM, WordTokenizer
    >>> tokenizer = WordTokenizer.train(["a b"], progress=False)
    >>> fit = {"order": 2, "smoothing": "add_alpha", "progress": False}
    >>> one, other = (NGramForCausalLM.fit([text], tokenizer, **fit) for text in ("a b", "b a"))
    >>> model_fingerprint(one, tokenizer) == model_fingerprint(other, tokenizer)
    False
    """
    digest = hashlib.sha256(repr(sorted(tokenizer.get_vocab().items())).encode())
    for name, tensor in model.state_dict().items():
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().reshape(-1).view(torch.uint8).numpy())
    return f"{type(model).__name__} {digest.hexdigest()[:16]}"


def _finished(path: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        same = found["settings"] == settings
        rows = dict(found["paradigms"])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is no result of BLiMP ({error}); remove it or name another folder") from None
    if not same:
        raise ValueError(
            f"{path} holds the result of another model or other settings; remove it or name another folder"
        )
    return rows


def _write(path: Path, settings: Mapping[str, Any], rows: Mapping[str, Any]) -> dict[str, Any]:
    results = {"settings": dict(settings), "summary": summarise(rows), "paradigms": dict(rows)}
    write_file(path, strict_json(results, indent=1) + "\n")
    return results
