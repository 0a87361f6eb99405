# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The sets of tags and entities of `own_data`, and their measures."""

import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.common import data_folder
from benchmarks.own_data_sets import Parts, Row, divide, read_json, renamed, sample

Tags = list[list[str]]


def parts_of_speech(number: int) -> Parts:
    """Sentences of the English Web Treebank, and the part of speech of each word."""
    train, test = (
        renamed(read_json(f"ud_english_ewt/{part}.jsonl"), tokens="tokens", tags="upos") for part in ("train", "test")
    )
    return sample(train, number), test


def entities() -> Parts:
    """Tweets and comments, with the names of people, places, companies, products, works and groups (WNUT-17)."""
    train, test = (
        renamed(read_json(f"wnut17/{part}.jsonl"), tokens="tokens", tags="ner_tags") for part in ("train", "test")
    )
    return train, test


def treebank(part: str, column: int, genre: str = "") -> list[Row]:
    """Return the sentences of the English Web Treebank with the tags of a column, 0 to 9, of its CoNLL-U files."""
    path = data_folder() / "ud_english_ewt" / f"en_ewt-ud-{part}.conllu.gz"
    rows: list[Row] = []
    for block in gzip.decompress(path.read_bytes()).decode("utf-8").strip().split("\n\n"):
        lines = block.split("\n")
        words = [cells for line in lines if (cells := line.split("\t"))[0].isdigit()]
        if any(line.startswith(f"# sent_id = {genre}") for line in lines):
            rows.append({"tokens": [cells[1] for cells in words], "tags": [cells[column] for cells in words]})
    return rows


def penn_tags() -> Parts:
    """The same treebank with the tags of the Penn Treebank, 1,500 sentences."""
    return sample(treebank("train", 4), 1500), treebank("test", 4)


def relations() -> Parts:
    """The same treebank, 1,500 sentences: the relation of each word to its head (subject, object, ...)."""
    return sample(treebank("train", 7), 1500), treebank("test", 7)


def reviews() -> Parts:
    """The parts of speech of its reviews, 700 sentences; the test rows are reviews too."""
    return sample(treebank("train", 3, "reviews"), 700), treebank("test", 3, "reviews")


def recent_entities() -> Parts:
    """Names in the validation and test rows of WNUT-17, which are of other years and sites than its training rows."""
    rows = [row for part in ("dev", "test") for row in read_json(f"wnut17/{part}.jsonl")]
    return divide(renamed(rows, tokens="tokens", tags="ner_tags"), 1500)


TAGS: dict[str, tuple[str, Callable[[], Parts]]] = {
    "tags_500": ("EWT tags, 500 rows", lambda: parts_of_speech(500)),
    "tags_1500": ("EWT tags, 1,500 rows", lambda: parts_of_speech(1500)),
    "tags_7000": ("EWT tags, 7,000 rows", lambda: parts_of_speech(7000)),
    "tags_penn": ("EWT, Penn tags", penn_tags),
    "tags_relations": ("EWT, relations", relations),
    "tags_reviews": ("EWT tags, reviews", reviews),
}
"""The sets of tags, title and rows, by their names in the record."""
ENTITIES: dict[str, tuple[str, Callable[[], Parts]]] = {
    "wnut17": ("WNUT-17 entities", entities),
    "wnut17_recent": ("WNUT-17, recent entities", recent_entities),
}
"""The sets of entities."""
KEPT_BACK_TAGS = ("tags_penn", "tags_relations", "tags_reviews", "wnut17_recent")
"""The sets on which nothing was chosen."""


def write_json(rows: list[Row], path: Path) -> None:
    """Write rows as JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def written_tags(folder: Path) -> Tags:
    """Return the tags that the command predicted for `--predict_files`."""
    text = (folder / "predictions" / "predictions.conll").read_text(encoding="utf-8")
    return [[line.split("\t")[1] for line in block.split("\n")] for block in text.strip().split("\n\n")]


def tag_measures(predictions: Sequence[Sequence[str]], rows: list[Row]) -> dict[str, float]:
    """Return the accuracy of tags."""
    pairs = [
        (found, tag)
        for own, row in zip(predictions, rows, strict=True)
        for found, tag in zip(own, row["tags"], strict=True)
    ]
    return {"accuracy": sum(found == tag for found, tag in pairs) / len(pairs)}


def entity_measures(predictions: Sequence[Sequence[str]], rows: list[Row]) -> dict[str, float]:
    """Return F1, precision and recall of entities, by seqeval."""
    from seqeval.metrics import f1_score, precision_score, recall_score

    right, found = [row["tags"] for row in rows], [list(tags) for tags in predictions]
    measures = {"f1": f1_score, "precision": precision_score, "recall": recall_score}
    return {name: float(measure(right, found, zero_division=0)) for name, measure in measures.items()}


def most_frequent_tags(train: list[Row], tests: list[Row]) -> Tags:
    """Return each word's most frequent tag in the training rows; for other words the most frequent tag of all.

    >>> train = [{"tokens": ["a", "cat", "cat"], "tags": ["DET", "NOUN", "NOUN"]}]
    >>> most_frequent_tags(train, [{"tokens": ["a", "dog"]}])
    [['DET', 'NOUN']]
    """
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in train:
        for word, tag in zip(row["tokens"], row["tags"], strict=True):
            counts[word][tag] += 1
    most = sum(counts.values(), Counter()).most_common(1)[0][0]
    return [[counts[word].most_common(1)[0][0] if word in counts else most for word in row["tokens"]] for row in tests]
