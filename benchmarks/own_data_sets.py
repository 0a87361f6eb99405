# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The sets of `own_data`: small real data as a user's own files, each with rows to train on and rows to test on.

The rows are drawn with a fixed seed, so that every program and every run reads the same ones.
"""

import csv
import gzip
import json
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks.common import data_folder

Row = dict[str, Any]
Parts = tuple[list[Row], list[Row]]
"""The rows to train on, and those to test on."""


def read_lines(name: str) -> list[str]:
    """Return the lines of a file, also of one that gzip packed."""
    path = data_folder() / name
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return content.decode("utf-8").removesuffix("\n").split("\n")


def read_json(name: str) -> list[Row]:
    """Return the objects of a file of JSON lines."""
    return [json.loads(line) for line in read_lines(name)]


def read_table(name: str, header: Iterable[str] = ()) -> list[Row]:
    """Return the rows of a table with tabs, in which nothing is quoted; `header` names the columns if no line does."""
    cells = [line.rstrip("\r").split("\t") for line in read_lines(name)]
    names = list(header) or cells.pop(0)
    return [dict(zip(names, row, strict=True)) for row in cells]


def renamed(rows: Iterable[Row], **columns: str) -> list[Row]:
    """Return the rows with the columns `columns`, each from the one that it names.

    >>> renamed([{"sentence": "A cat.", "label": 1, "id": 7}], text="sentence", label="label")
    [{'text': 'A cat.', 'label': 1}]
    """
    return [{name: row[source] for name, source in columns.items()} for row in rows]


def sample(rows: list[Row], number: int) -> list[Row]:
    """Return `number` rows, drawn with a fixed seed."""
    return random.Random(0).sample(rows, number)


def divide(rows: list[Row], number: int) -> Parts:
    """Return `number` rows to train on and the others to test on, drawn with a fixed seed."""
    mixed = sample(rows, len(rows))
    return mixed[:number], mixed[number:]


def sst2(number: int | None = None) -> Parts:
    """Whole sentences of the Stanford Sentiment Treebank, positive or negative; neutral ones are left out."""
    train, test = (
        [
            {"text": row["sentence"], "label": "positive" if row["label3"] > 0 else "negative"}
            for row in read_json(f"sst5/{part}.jsonl")
            if row["label3"]
        ]
        for part in ("train", "test")
    )
    return train if number is None else sample(train, number), test


def phrases() -> Parts:
    """Phrases of the same treebank, positive or negative, as GLUE has them to train on; the test rows are sentences."""
    train, test = (
        renamed(read_table(f"glue/sst2/{part}.tsv"), text="sentence", label="label") for part in ("train", "dev")
    )
    return sample(train, 1500), test


def sst(label: str) -> Parts:
    """The same treebank in three (`label3`) or five (`label`) classes."""
    train, test = (renamed(read_json(f"sst5/{part}.jsonl"), text="sentence", label=label) for part in ("train", "test"))
    return sample(train, 7000), test


def cola() -> Parts:
    """Sentences from books on linguistics, acceptable or not."""
    names = ("source", "label", "mark", "sentence")
    train, *tests = (
        renamed(read_table(f"glue/cola/{part}.tsv", names), text="sentence", label="label")
        for part in ("in_domain_train", "in_domain_dev", "out_of_domain_dev")
    )
    return sample(train, 7000), [row for part in tests for row in part]


def tweets() -> Parts:
    """Tweets: negative, neutral or positive. The training rows are TweetEval's validation rows."""
    train, test = (read_json(f"tweeteval_sentiment/{part}.jsonl") for part in ("val", "test"))
    return renamed(train, text="text", label="label"), renamed(test, text="text", label="label")


def imdb() -> Parts:
    """Reviews of films, 230 words long on average, positive or negative."""
    train, test = (
        renamed(read_json(f"imdb/{part}.jsonl.gz"), text="text", label="label") for part in ("train", "test")
    )
    return train, test


def articles() -> Parts:
    """Questions on 48 articles of Wikipedia: which article?"""
    content = json.loads("\n".join(read_lines("squad/dev-v1.1.json.gz")))
    rows = [
        {"text": question["question"], "label": article["title"]}
        for article in content["data"]
        for paragraph in article["paragraphs"]
        for question in paragraph["qas"]
    ]
    return divide(sample(rows, 6000), 4000)


def rte() -> Parts:
    """Pairs: does the first text entail the second one?"""
    train, test = (
        renamed(read_table(f"glue/rte/{part}.tsv"), text="sentence1", text_pair="sentence2", label="label")
        for part in ("train", "dev")
    )
    return train, test


def mrpc() -> Parts:
    """Pairs: are the two sentences paraphrases?"""
    train, test = (
        renamed(read_json(f"glue/mrpc/{part}.jsonl"), text="sentence1", text_pair="sentence2", label="label")
        for part in ("train", "test")
    )
    return train, test


def qnli() -> Parts:
    """Pairs: does the sentence answer the question?"""
    rows = renamed(read_table("glue/qnli/dev.tsv"), text="question", text_pair="sentence", label="label")
    return divide(rows, 4000)


def arc() -> Parts:
    """Questions on science: from the easy or the challenging part of ARC?"""
    train, test = (
        [
            {"text": row["question"], "label": level}
            for level in ("easy", "challenge")
            for row in read_json(f"arc/{level}_{part}.jsonl")
        ]
        for part in ("train", "validation")
    )
    return train, test


def biases() -> Parts:
    """Sentences of CrowS-Pairs: which of nine kinds of bias?"""
    with (data_folder() / "crows_pairs" / "crows_pairs.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return divide(renamed(rows, text="sent_more", label="bias_type"), 1000)


def genres() -> Parts:
    """Sentences of the English Web Treebank: from answers, e-mails, newsgroups, reviews or weblogs?"""

    def read(part: str) -> list[Row]:
        lines = read_lines(f"ud_english_ewt/en_ewt-ud-{part}.conllu.gz")
        kinds = [line.removeprefix("# sent_id = ").split("-")[0] for line in lines if line.startswith("# sent_id")]
        texts = [line.removeprefix("# text = ") for line in lines if line.startswith("# text = ")]
        return [{"text": text, "label": kind} for text, kind in zip(texts, kinds, strict=True)]

    return sample(read("train"), 5000), read("test")


CLASSES: dict[str, tuple[str, Callable[[], Parts]]] = {
    "sst2_1500": ("SST-2, 1,500 rows", lambda: sst2(1500)),
    "sst2": ("SST-2", sst2),
    "phrases": ("SST-2's phrases", phrases),
    "sst3": ("SST, three classes", lambda: sst("label3")),
    "sst5": ("SST, five classes", lambda: sst("label")),
    "cola": ("CoLA", cola),
    "tweets": ("tweets", tweets),
    "imdb": ("IMDb", imdb),
    "articles": ("questions by article", articles),
    "rte": ("RTE (pairs)", rte),
    "mrpc": ("MRPC (pairs)", mrpc),
    "arc": ("ARC, easy or challenge", arc),
    "biases": ("CrowS-Pairs, kind of bias", biases),
    "genres": ("EWT, genre", genres),
    "qnli": ("QNLI (pairs)", qnli),
}
"""The sets of classes, title and rows, by their names in the record."""
KEPT_BACK = ("arc", "biases", "genres", "qnli")
"""The sets on which nothing was chosen."""


def write_csv(rows: list[Row], path: Path) -> None:
    """Write rows as a table with commas and a line of names."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
