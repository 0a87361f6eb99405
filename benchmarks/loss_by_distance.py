# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Bits of each word of WikiText-2's test text by the distance to its last occurrence, for every model of the table.

    OMP_NUM_THREADS=1 python -m benchmarks.loss_by_distance [NAME=FOLDER ...]

NAME is a network's name in `benchmarks.wikitext2_table`, FOLDER where it was trained; the n-grams are fitted here, a
unigram and the 5-gram with a cache among them. Rows of networks that are not named stay as they were. The text is one
stream. `<unk>` is left out, because it stands for many words. Seldom words occur at most 100 times in the training
text: frequent ones are near their last occurrence wherever they stand.
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from transformers import AutoModelForCausalLM

from benchmarks.common import markdown_table, new_parser, read_options, read_results, wikitext, write_results
from benchmarks.wikitext2_table import NETWORKS, NGRAMS
from hf_lecture_models import NGramForCausalLM, WordTokenizer
from hf_lecture_models.evaluation.scoring import TextScore, score_stream
from hf_lecture_models.lab.studies.adaptation import score_adapted
from hf_lecture_models.lab.studies.cache import UnigramCache
from hf_lecture_models.lab.studies.repetition import average_by_distance, last_distances, word_bits
from hf_lecture_models.loading import load_model

UNIGRAM, CACHED = "unigram", "5-gram with a cache"
# The best of the settings that `benchmarks.adaptation` tried for the 5-gram on validation text.
CACHE = UnigramCache(0.2, 2000, 0.995)
SELDOM = 100
# First distances of the ranges on the page.
SHOWN = (1, 8, 32, 128, 512, 2048, 8192)


class Text:
    """The test text: its lines, and for each word the distance to its last occurrence and whether it is measured."""

    def __init__(self, train: Sequence[str], lines: list[str]) -> None:
        counts = Counter(word for line in train for word in line.split())
        words = [word for line in lines for word in line.split()]
        self.lines, self.distances = lines, last_distances(lines)
        self.known = np.array([word != "<unk>" for word in words])
        self.seldom = self.known & np.array([counts[word] <= SELDOM for word in words])

    def measure(self, model: Any, tokenizer: Any, scores: Sequence[TextScore]) -> dict[str, Any]:
        """Return the rows of `average_by_distance` for all words and for seldom ones."""
        bits = word_bits(model, tokenizer, scores)
        wanted = {"words": self.known, "seldom": self.seldom}
        return {name: average_by_distance(bits, self.distances, which) for name, which in wanted.items()}


def timed_row(text: Text, model: Any, tokenizer: Any, score: Callable[[], Sequence[TextScore]]) -> dict[str, Any]:
    begin = time.process_time()
    scores = score()
    return {"cpu_s": round(time.process_time() - begin, 1), **text.measure(model, tokenizer, scores)}


def measure_ngrams(train: list[str], text: Text) -> dict[str, dict[str, Any]]:
    """Return the rows of the unigram, the n-grams of the table, and the 5-gram with a cache."""
    tokenizer, rows = WordTokenizer.train(train, progress=False), {}
    for title, order in ({UNIGRAM: 1} | NGRAMS).items():
        model = NGramForCausalLM.fit(train, tokenizer, order=order, smoothing="modified_kneser_ney", progress=False)
        rows[title] = timed_row(text, model, tokenizer, lambda: score_stream(model, tokenizer, text.lines))  # noqa: B023
    rows[CACHED] = timed_row(text, model, tokenizer, lambda: score_adapted(model, tokenizer, text.lines, CACHE)[0])
    return rows


def shown(rows: list[dict[str, Any]]) -> list[tuple[str, int, float]]:
    """Join the record's ranges to those of the page: label, number of words and mean bits.

    >>> record = [{"from": 4, "words": 1, "bits": 2.0}, {"from": 8, "words": 3, "bits": 4.0}]
    >>> shown([*record, {"from": 16, "words": 1, "bits": 8.0}, {"from": None, "words": 1, "bits": 9.0}])
    [('1 to 7', 1, 2.0), ('8 to 31', 4, 5.0), ('first occurrence', 1, 9.0)]
    """
    found = []
    for first, end in zip(SHOWN, [*SHOWN[1:], math.inf], strict=True):
        label = f"{first:,} to {end - 1:,}" if end < math.inf else f"{first:,} and more"
        found.append((label, [row for row in rows if row["from"] is not None and first <= row["from"] < end]))
    found.append(("first occurrence", [row for row in rows if row["from"] is None]))
    joined = [(label, sum(row["words"] for row in part), part) for label, part in found]
    return [
        (label, words, sum(row["words"] * row["bits"] for row in part if row["words"]) / words)
        for label, words, part in joined
        if words
    ]


def table(rows: dict[str, dict[str, Any]], which: str) -> str:
    """Return the table of "words" or of "seldom" ones: a line for each distance, a column for each model."""
    columns = [shown(row[which]) for row in rows.values()]
    lines = [
        [label, f"{words:,}", *(f"{column[number][2]:.1f}" for column in columns)]
        for number, (label, words, _) in enumerate(columns[0])
    ]
    return markdown_table(["words since the last occurrence", "words", *rows], lines)


def main() -> None:
    parser = new_parser(__doc__)
    arguments = read_options(parser, NETWORKS)
    train, test = (wikitext(part) for part in ("train", "test"))
    text = Text(train, test)
    rows = read_results("loss_by_distance", {"rows": {}})["rows"]
    rows |= measure_ngrams(train, text)
    for title, folder in arguments.networks:
        model, tokenizer = load_model(folder, AutoModelForCausalLM)
        rows[title] = timed_row(text, model, tokenizer, lambda: score_stream(model, tokenizer, text.lines))  # noqa: B023
        print(title, rows[title]["cpu_s"], flush=True)
    rows = {title: rows[title] for title in [UNIGRAM, *NGRAMS, CACHED, *NETWORKS] if title in rows}
    print(table(rows, "words"), table(rows, "seldom"), sep="\n\n")
    write_results("loss_by_distance", {"seldom": SELDOM, "rows": rows})


if __name__ == "__main__":
    main()
