# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What discounts gain by the size of the corpus: n-grams of orders 2, 3 and 5 on growing parts of two corpora.

    OMP_NUM_THREADS=1 python -m benchmarks.discounting --reviews aclImdb

WikiText-2 is from the folder of data sets. `--reviews` is the folder of the Large Movie Review Dataset (Maas et al.
2011) as its archive unpacks; its reviews of 300 films are the test text, those of 300 others the validation text, and
all others, of both of its parts, are counted. Parts are nested: the first articles or films of a random order. The
vocabulary is that of the whole counted text for all parts; all other words are one word, `<unk>`.

Six arms have the same counts. The number that is added, and all weights, are chosen on the validation text; discounts
follow from the counts:

    adding           (c(hw) + alpha) / (c(h) + alpha |V|), the best of a few alphas
    one weight       linear interpolation with one weight for each order (Jelinek and Mercer 1980)
    weights          linear interpolation, whose weights depend on the mean count of the words after h (Chen 1996)
    weights, Kneser  the same, but the shorter contexts count the different words before, as those of Kneser-Ney
    absolute         absolute discounting, one discount for each order
    Kneser-Ney       the same, and the shorter contexts count the different words before
    modified         Kneser-Ney with three discounts for each order

A difference is of 100 ln P for each token, so 1 is about a percent of the perplexity. Errors are by article or film.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.common import new_parser, read_options, timed, wikitext, write_results
from hf_lecture_models import WordTokenizer
from hf_lecture_models.lab.claims.effect import effect_of
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.counting_ngram import (
    NGramCounts,
    Stream,
    continuation_counts,
    count_ngrams,
    make_stream,
)
from hf_lecture_models.models.ngram.estimation_ngram import config_for
from hf_lecture_models.models.ngram.fitting_ngram import fit_ids
from hf_lecture_models.tokenization.corpus import encode_corpus

ORDERS = (2, 3, 5)
PARTS = (1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
ALPHAS = (1.0, 0.1, 0.01, 0.001, 0.0001)
HELD_OUT_FILMS, MIN_COUNT = 300, 3
# A weight is set by at least so many events of the validation text.
EVENTS_PER_WEIGHT, MAX_STEPS, TOLERANCE = 1000, 500, 1e-5
COMPARISONS = {
    "beside adding": ("modified", "adding"),
    "beside one weight": ("modified", "one weight"),
    "beside weights": ("modified", "weights"),
    "discounts, own counts": ("absolute", "weights"),
    "discounts, Kneser's counts": ("Kneser-Ney", "weights, Kneser"),
    "Kneser's counts, weights": ("weights, Kneser", "weights"),
    "Kneser's counts, discounts": ("Kneser-Ney", "absolute"),
    "three discounts": ("modified", "Kneser-Ney"),
}


@dataclass(frozen=True)
class Texts:
    """Texts, and the article or film that each is from."""

    texts: list[str]
    clusters: list[str]


Corpus = dict[str, Texts]
Encoded = tuple[np.ndarray, np.ndarray]


def wikitext_2() -> Corpus:
    """Return the paragraphs of each part, with the number of their article."""
    return {part: articles(wikitext(name)) for part, name in (("train",) * 2, ("validation", "valid"), ("test",) * 2)}


def articles(lines: Sequence[str]) -> Texts:
    """Return the lines that are not blank, and the number of their article, which begins with its title.

    >>> articles([" = Cats = ", "", " They sleep . ", " = = Food = = ", " = Dogs = "]).clusters
    ['1', '1', '1', '2']
    """
    texts, numbers, number = [], [], 0
    for line in lines:
        number += re.fullmatch(r" = [^=]+ = ", line) is not None
        if line.strip():
            texts.append(line)
            numbers.append(str(number))
    return Texts(texts, numbers)


def reviews(folder: Path) -> Corpus:
    """Return the reviews of the counted, the validation and the test films.

    Raises:
        FileNotFoundError: the folder is not that of the archive.
    """
    texts, films = [], []
    for part in ("train", "test"):
        for side in ("neg", "pos"):
            pages = (folder / part / f"urls_{side}.txt").read_text("utf-8").split()
            files = sorted((folder / part / side).glob("*.txt"), key=lambda path: int(path.stem.partition("_")[0]))
            texts += [path.read_text("utf-8").replace("<br />", " ") for path in files]
            films += [pages[int(path.stem.partition("_")[0])].split("/")[4] for path in files]
    order = np.random.default_rng(0).permutation(sorted(set(films))).tolist()
    held_out = {film: ("validation", "test")[n >= HELD_OUT_FILMS] for n, film in enumerate(order[: 2 * HELD_OUT_FILMS])}
    corpus: Corpus = {part: Texts([], []) for part in ("train", "validation", "test")}
    for text, film in zip(texts, films, strict=True):
        part = corpus[held_out.get(film, "train")]
        part.texts.append(text)
        part.clusters.append(film)
    return corpus


def part_of(encoded: Encoded, clusters: Sequence[str], share: float, draw: int) -> Encoded:
    """Return the ids and lengths of a part: the first clusters of a random order, until it is large enough."""
    ids, lengths = encoded
    numbers = np.unique(clusters, return_inverse=True)[1]
    order = np.random.default_rng(draw).permutation(numbers.max() + 1)
    tokens = np.bincount(numbers, lengths)[order].cumsum()
    chosen = np.isin(numbers, order[: 1 + np.searchsorted(tokens, share * len(ids))])
    return ids[np.repeat(chosen, lengths)], lengths[chosen]


def text_sums(log_probs: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return 100 ln P of each text, (texts,), from ln P of each event of a stream."""
    number = np.cumsum(places == 0)[places > 0] - 1
    return 100 * np.bincount(number, log_probs)


def fitted(part: Encoded, encoded: dict[str, Encoded], config: NGramConfig, stream: Stream) -> np.ndarray:
    """Return ln P of each event of a stream by the package's model of a part."""
    model = fit_ids(*part, config, held_out=encoded["validation"])
    starts = torch.from_numpy(stream.places == 0)
    scores = model.score_rows(torch.from_numpy(stream.words.astype(np.int64)), starts).numpy()
    return scores[stream.places > 0].astype(np.float64)


