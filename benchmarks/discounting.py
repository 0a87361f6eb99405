# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What discounts gain by the size of the corpus: n-grams of orders 2, 3 and 5 on growing parts of two corpora.

    OMP_NUM_THREADS=1 python -m benchmarks.discounting --reviews aclImdb

WikiText-2 is from the folder of data sets. `--reviews` is the folder of the Large Movie Review Dataset (Maas et al.
2011) as its archive unpacks. The reviews of 200 films are its test text, those of 200 others its validation text, and
all others, of both of its parts, are counted. A part of a corpus is the first articles or films of a random order, of
which there are three. The vocabulary is the same for all parts: all words of WikiText-2, and the words that occur three
times or more in all counted reviews; any other word is `<unk>`.

Seven arms have the same counts. The number that is added, and all weights, are chosen on the validation text; discounts
follow from the counts:

    adding            (c(hw) + alpha) / (c(h) + alpha |V|), the best of five alphas
    one weight        linear interpolation with one weight for each order (Jelinek and Mercer 1980)
    weights           linear interpolation whose weights depend on counts (`benchmarks/count_weights.py`)
    weights, Kneser   the same, but shorter contexts count the different words before them, as those of Kneser-Ney
    absolute          absolute discounting, one discount for each order
    Kneser-Ney        the same, but shorter contexts count the different words before them
    modified          Kneser-Ney with three discounts for each order

A difference is of 100 ln P for each token, so 1 is about a percent of the perplexity; 5 is the smallest that counts, as
in the claim `discounting`. Errors are by article or film, and by the order of the articles or films. How many of them a
decision needs follows from the validation text.
"""

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks import count_weights
from benchmarks.common import new_parser, read_options, wikitext, write_results
from hf_lecture_models import WordTokenizer
from hf_lecture_models.lab.claims.effect import Effect, effect_of
from hf_lecture_models.lab.claims.power import needed_clusters
from hf_lecture_models.lab.claims.rule import holm, outcome_of, p_value
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.counting_ngram import Stream, count_ngrams, make_stream
from hf_lecture_models.models.ngram.estimation_ngram import config_for
from hf_lecture_models.models.ngram.fitting_ngram import fit_ids
from hf_lecture_models.tokenization.corpus import encode_corpus

ORDERS, DRAWS, LEAST = (2, 3, 5), 3, 5.0
PARTS = {f"1/{divisor}": 1 / divisor for divisor in (64, 32, 16, 8, 4, 2, 1)}
ALPHAS = (1.0, 0.1, 0.01, 0.001, 0.0001)
HELD_OUT_FILMS, MIN_COUNT = 200, 3
SMOOTHINGS = {
    "one weight": "jelinek_mercer",
    "absolute": "absolute_discounting",
    "Kneser-Ney": "kneser_ney",
    "modified": "modified_kneser_ney",
}
COMPARISONS = {
    "beside adding": ("modified", "adding"),
    "beside one weight": ("modified", "one weight"),
    "beside weights": ("modified", "weights"),
    "discounts, all occurrences": ("absolute", "weights"),
    "discounts, different words": ("Kneser-Ney", "weights, Kneser"),
    "different words, weights": ("weights, Kneser", "weights"),
    "different words, discounts": ("Kneser-Ney", "absolute"),
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


class Trial:
    """All arms on the texts of one corpus."""

    def __init__(self, corpus: Corpus, min_count: int) -> None:
        self.corpus = corpus
        self.tokenizer = WordTokenizer.train(
            corpus["train"].texts,
            min_count=min_count,
            lower_case=min_count > 1,
            split_punctuation=min_count > 1,
            progress=False,
        )
        self.encoded = {part: _encoded(self.tokenizer, texts.texts) for part, texts in corpus.items()}
        config = self.config(1)
        self.streams = {part: make_stream(*self.encoded[part], config) for part in ("validation", "test")}

    def config(self, order: int, **fields: Any) -> NGramConfig:
        """Return the configuration of a model of the corpus's vocabulary."""
        return config_for(self.tokenizer, order=order, **fields)

    def arms(self, part: Encoded, order: int) -> dict[str, dict[str, np.ndarray]]:
        """Return ln P of each event of the validation and the test text by each arm."""
        config = self.config(order)
        counts = count_ngrams(make_stream(*part, config, np.int32), config)
        found = {
            name: count_weights.log_probs(counts, self.streams, config, name == "weights, Kneser")
            for name in ("weights", "weights, Kneser")
        }
        del counts
        found |= {name: self._fitted(part, order, smoothing=smoothing) for name, smoothing in SMOOTHINGS.items()}
        added = [self._fitted(part, order, smoothing="add_alpha", alpha=alpha) for alpha in ALPHAS]
        return found | {"adding": max(added, key=lambda one: one["validation"].sum())}

    def _fitted(self, part: Encoded, order: int, **fields: Any) -> dict[str, np.ndarray]:
        model = fit_ids(*part, self.config(order, **fields), held_out=self.encoded["validation"])
        return {name: _log_probs(model, stream) for name, stream in self.streams.items()}

    def effect(self, part: str, differences: Sequence[np.ndarray]) -> Effect:
        """Return the effect of differences of ln P, (events,) for each draw, by the texts' articles or films."""
        stream = self.streams[part]
        text = np.cumsum(stream.places == 0)[stream.places > 0] - 1
        tokens = np.bincount(text)
        means = [100 * np.bincount(text, one) / tokens for one in differences]
        return effect_of(np.array(means), tokens, self.corpus[part].clusters)


def _encoded(tokenizer: WordTokenizer, texts: list[str]) -> Encoded:
    corpus = encode_corpus(tokenizer, texts, progress=False)
    return corpus.ids, corpus.lengths


def _log_probs(model: Any, stream: Stream) -> np.ndarray:
    starts = torch.from_numpy(stream.places == 0)
    scores = model.score_rows(torch.from_numpy(stream.words.astype(np.int64)), starts).numpy()
    return scores[stream.places > 0].astype(np.float64)


def measure(trial: Trial, order: int) -> Iterator[dict[str, Any]]:
    """Yield the row of each part, from the smallest, and at last the change from the smallest to the whole."""
    clusters, first = trial.corpus["train"].clusters, {}
    for name, share in PARTS.items():
        draws = [part_of(trial.encoded["train"], clusters, share, draw) for draw in range(DRAWS if share < 1 else 1)]
        arms = [trial.arms(part, order) for part in draws]
        perplexity = {arm: float(np.mean([np.exp(-one[arm]["test"].mean()) for one in arms])) for arm in arms[0]}
        differences = {
            comparison: {side: [one[more][side] - one[less][side] for one in arms] for side in trial.streams}
            for comparison, (more, less) in COMPARISONS.items()
        }
        tokens = round(float(np.mean([len(ids) for ids, _ in draws])))
        row = {"part": name, "order": order, "tokens": tokens, "perplexity": perplexity}
        yield row | {"effects": _effects(trial, differences)}
        first = first or differences
    change = {
        comparison: {side: [whole[side][0] - one for one in first[comparison][side]] for side in trial.streams}
        for comparison, whole in differences.items()
    }
    yield {"part": "change", "order": order, "effects": _effects(trial, change)}


def _effects(trial: Trial, differences: dict[str, dict[str, list[np.ndarray]]]) -> dict[str, Any]:
    found = {}
    for comparison, sides in differences.items():
        effect = trial.effect("test", sides["test"])
        needed = needed_clusters(trial.effect("validation", sides["validation"]), LEAST, len(sides["test"]))
        found[comparison] = effect.to_dict() | {
            "p": p_value(effect, LEAST),
            "outcome": outcome_of(effect, LEAST),
            "needed_clusters": needed,
        }
    return found


def correct(rows: list[dict[str, Any]]) -> None:
    """Add Holm's corrected p-values, of all comparisons of all rows, to the effects."""
    effects = {(n, name): effect for n, row in enumerate(rows) for name, effect in row["effects"].items()}
    for key, corrected in holm({key: effect["p"] for key, effect in effects.items()}).items():
        effects[key]["holm"] = corrected


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--reviews", type=Path, required=True, help="folder of the Large Movie Review Dataset")
    arguments = read_options(parser)
    results: dict[str, Any] = {"least": LEAST}
    for name, corpus, min_count in (
        ("wikitext-2", wikitext_2(), 1),
        ("reviews", reviews(arguments.reviews), MIN_COUNT),
    ):
        start, trial, rows = time.process_time(), Trial(corpus, min_count), []
        for order in ORDERS:
            for row in measure(trial, order):
                rows.append(row)
                effects = (
                    f"{effect['mean']:+.1f} ±{effect['mean'] - effect['low']:.1f}" for effect in row["effects"].values()
                )
                print(f"{name:<11}{row['part']:>7}{order:>3}  " + "  ".join(effects), flush=True)
        clusters = {part: len(set(texts.clusters)) for part, texts in corpus.items()}
        tokens = {part: len(ids) for part, (ids, _) in trial.encoded.items()}
        results[name] = {"vocab_size": len(trial.tokenizer), "clusters": clusters, "tokens": tokens, "rows": rows}
        results[name]["cpu_seconds"] = round(time.process_time() - start)
    correct([row for corpus in ("wikitext-2", "reviews") for row in results[corpus]["rows"]])
    write_results("discounting", results)


if __name__ == "__main__":
    main()
