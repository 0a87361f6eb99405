# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Do better language models predict people better? Reading times of Natural Stories, page docs/reading_times.md.

    OMP_NUM_THREADS=1 python -m benchmarks.reading_times [NAME=FOLDER ...]

NAME is a network's name in `benchmarks.wikitext2_table`, FOLDER where it was trained; the n-grams are fitted here. Rows
of networks that are not named stay as they were. The words are written as WikiText writes them, and a story is one
text. What is predicted is the logarithm of a word's geometric mean reading time; the predictors of the baseline are the
length, the number of parts (marks count) and the frequency (-log2 of its share of WikiText-2's training text) of the
word and of the word before it. A model adds its surprisal of both.

Two sets of words are measured. The first has the words that are, like the word before them, one known word of
WikiText-2 without any mark: no punctuation, apostrophe or hyphen. The second has all words with a word before them; the
surprisals of a word's parts ("don", "'t") and marks are added, and so are the frequencies'. Three more n-grams read
lower-cased sentences without any marks.
"""

import re
from typing import Any

import numpy as np
from transformers import AutoModelForCausalLM, set_seed

from benchmarks.common import (
    ROOT,
    data_folder,
    markdown_table,
    new_parser,
    read_options,
    read_results,
    wikitext,
    write_results,
)
from benchmarks.wikitext2_table import NETWORKS
from hf_lecture_models import NGramForCausalLM, WordTokenizer
from hf_lecture_models.evaluation.surprisal import score_spans
from hf_lecture_models.lab.studies.blimp import split_like_wikitext
from hf_lecture_models.lab.studies.reading_time_pictures import save_reading_times
from hf_lecture_models.lab.studies.reading_times import (
    Gain,
    ReadWord,
    measure_gain,
    read_reading_times,
    with_word_before,
)
from hf_lecture_models.lab.studies.word_surprisal import word_surprisals
from hf_lecture_models.loading import load_model

FOLDS, SEED = 10, 0
NGRAM_TITLES = {1: "unigram", 2: "bigram", 3: "trigram", 4: "4-gram", 5: "5-gram"}
ORDERS = tuple(NGRAM_TITLES)
LOWER_CASED_ORDERS = (2, 3, 5)
BEST_NGRAM = NGRAM_TITLES[ORDERS[-1]]
PARTS_OF_TEXT = {f"{BEST_NGRAM}, 1/16 of the text": 16, f"{BEST_NGRAM}, 1/4 of the text": 4}
"""The highest order again: every 16th or 4th line was counted, with all words of the text in the vocabulary."""
UNTRAINED = {f"{title}, untrained" for title in NETWORKS}
"""With random weights, measured for networks of word pieces: what the number of a word's pieces predicts alone."""
TITLES = [
    *PARTS_OF_TEXT,
    *NGRAM_TITLES.values(),
    *(row for title in NETWORKS for row in (f"{title}, untrained", title)),
]
SETS = {"bare": "words without marks", "all": "all words"}
"""The sets of words, the one of the picture first."""


def in_wikitext_form(word: str) -> str:
    """Return a word of the stories as WikiText writes it: quotation marks, brackets and punctuation set apart.

    >>> in_wikitext_form("'Don't,"), in_wikitext_form("moor.'"), in_wikitext_form("(well-known")
    ('" Don \\'t ,', 'moor . "', '( well @-@ known')
    """
    begun = re.sub(r"^'(?=\w)", '" ', word)
    ended = re.sub(r"(?<=\W)'$|(?<!s)'$", ' "', begun)
    return " ".join(split_like_wikitext(re.sub(r"([()])", r" \1 ", ended)).split())


def without_marks(word: str) -> str:
    """Return a word in lower case without the marks around it.

    >>> without_marks("'Don't,")
    "don't"
    """
    return re.sub(r"^\W+|\W+$", "", word.lower()) or word


def ends_sentence(word: str) -> bool:
    """Return True for a word with a full stop, question mark or exclamation mark, before quotation marks or not."""
    return re.search(r"[.?!]\W*$", word) is not None


class Stories:
    """The words of the stories, the form in which models read them, and the texts that they make."""

    def __init__(self, words: list[ReadWord], forms: list[str], by_sentence: bool = False) -> None:
        """Take the form of each word, with blanks between its parts; a text is a story, or a sentence."""
        self.words = words
        self.forms = [form.split() for form in forms]
        self.begins_text = np.array(
            [
                place == 0
                or words[place - 1].story != word.story
                or (by_sentence and ends_sentence(words[place - 1].word))
                for place, word in enumerate(words)
            ]
        )

    def places(self, known: Any = None) -> np.ndarray:
        """Return the places of the words that are compared, (words,) int: those with a word before them.

        With the tokenizer `known`, both must be words of its vocabulary, of letters and digits alone.
        """
        kept = ~self.begins_text
        if known is not None:
            vocabulary = known.get_vocab()
            is_bare = [bool(re.fullmatch(r"\w+", word.word)) and word.word in vocabulary for word in self.words]
            kept &= np.array(is_bare) & np.array([False, *is_bare[:-1]])
        return np.flatnonzero(kept)

    def surprisals(self, model: Any, tokenizer: Any) -> np.ndarray:
        """Return the surprisal of each word in bits, summed over its parts: (words,) float64."""
        texts: list[list[str]] = []
        for begins, form in zip(self.begins_text, self.forms, strict=True):
            texts += [[]] if begins else []
            texts[-1] += form
        scored = score_spans(model, tokenizer, [" ".join(text) for text in texts])
        bits = [word.bits for text in scored for word in word_surprisals(text)[:-1]]
        ends = np.cumsum([len(form) for form in self.forms])
        if len(bits) != ends[-1] or not np.isfinite(bits).all():
            raise ValueError(f"{type(model).__name__} gives some words no probability; all words need one")
        return np.add.reduceat(bits, [0, *ends[:-1]])


def gain_of(stories: Stories, kept: np.ndarray, frequency: np.ndarray, surprisal: np.ndarray) -> Gain:
    """Return what a model's surprisal gains over length, number of parts and frequency, for the kept words."""
    lengths = [len("".join(form).replace("@-@", "-")) for form in stories.forms]
    times = np.log([stories.words[place].milliseconds for place in kept])
    parts = [len(form) for form in stories.forms]
    base = np.column_stack([with_word_before(one, kept) for one in (lengths, parts, frequency)])
    return measure_gain(base, with_word_before(surprisal, kept), times, FOLDS, SEED)


class Comparison:
    """The sets of words, and what all models are compared with: frequency, and the best n-gram."""

    def __init__(self, words: list[ReadWord], train: list[str]) -> None:
        self.stories = Stories(words, [in_wikitext_form(word.word) for word in words])
        tokenizer = WordTokenizer.train(train, progress=False)
        self.sets = {"bare": self.stories.places(tokenizer), "all": self.stories.places()}
        self.ngrams = fit_ngrams(self.stories, train, tokenizer, ORDERS)
        self.of_parts = {
            title: fit_ngrams(self.stories, train[::step], tokenizer, ORDERS[-1:])[ORDERS[-1]]
            for title, step in PARTS_OF_TEXT.items()
        }

    def measure(self, surprisal: np.ndarray) -> dict[str, Any]:
        """Return one row: the surprisal of all words, (words,), as a predictor; gains are in nats per word."""
        row: dict[str, Any] = {}
        for which, kept in self.sets.items():
            gain, ngram = (
                gain_of(self.stories, kept, self.ngrams[1], one) for one in (surprisal, self.ngrams[ORDERS[-1]])
            )
            beyond = Gain(gain.per_word - ngram.per_word, gain.folds)
            row[which] = {
                "words": len(kept),
                "perplexity": round(float(2 ** surprisal[kept].mean()), 2),
                **rounded("gain", gain),
                **rounded("beyond_ngram", beyond),
            }
        return row


def rounded(name: str, gain: Gain) -> dict[str, float]:
    """Return a gain and its two standard errors."""
    over_words, over_folds = gain.error_over_words, gain.error_over_folds
    # 0.0 is added because round makes -0.0 of small negative numbers.
    values = {name: gain.mean, f"{name}_error_over_words": over_words, f"{name}_error_over_folds": over_folds}
    return {key: round(value, 7) + 0.0 for key, value in values.items()}


def fit_ngrams(stories: Stories, train: list[str], tokenizer: Any, orders: tuple[int, ...]) -> dict[int, np.ndarray]:
    """Return the surprisal of all words, (words,), by order: modified Kneser-Ney, and for order 1 frequency alone."""
    found = {}
    for order in orders:
        smoothing = "maximum_likelihood" if order == 1 else "modified_kneser_ney"
        model = NGramForCausalLM.fit(train, tokenizer, order=order, smoothing=smoothing, progress=False)
        found[order] = stories.surprisals(model, tokenizer)
    return found


def measure_lower_cased(words: list[ReadWord], train: list[str]) -> dict[str, Any]:
    """Return the gains of n-grams that read lower-cased sentences without marks."""
    stories = Stories(words, [without_marks(word.word) for word in words], by_sentence=True)
    lower = [text.lower() for text in train]
    ngrams = fit_ngrams(stories, lower, WordTokenizer.train(lower, progress=False), (1, *LOWER_CASED_ORDERS))
    kept = stories.places()
    gains = {order: gain_of(stories, kept, ngrams[1], ngrams[order]) for order in LOWER_CASED_ORDERS}
    return {"words": len(kept), "orders": {str(order): rounded("gain", gain) for order, gain in gains.items()}}


def table(rows: dict[str, dict[str, Any]]) -> str:
    heads = ["model"]
    for name in SETS.values():
        heads += [f"{name}: perplexity", "gain", f"beyond the {BEST_NGRAM}"]
    lines = []
    for title, row in rows.items():
        cells = [title]
        for which in SETS:
            found = row[which]
            cells += [f"{found['perplexity']:.1f}", with_error(found["gain"], found["gain_error_over_words"])]
            beyond = with_error(found["beyond_ngram"], found["beyond_ngram_error_over_words"])
            cells.append("" if title == BEST_NGRAM else beyond)
        lines.append(cells)
    return markdown_table(heads, lines)


def with_error(value: float, error: float) -> str:
    """Return thousandths of a nat, with the standard error.

    >>> with_error(0.00463, 0.00097)
    '4.63 ± 0.97'
    """
    return f"{1000 * value + 0.0:.2f} ± {1000 * error:.2f}"


def drawn(rows: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of the picture; the unigram is what all are compared with."""
    return [
        {
            "title": title,
            "family": title if title in NETWORKS else "n-grams" if title in NGRAM_TITLES.values() else "parts",
            "perplexity": row["bare"]["perplexity"],
            "gain": row["bare"]["gain"],
            "error": row["bare"]["gain_error_over_words"],
        }
        for title, row in rows.items()
        if title not in {NGRAM_TITLES[1], *UNTRAINED}
    ]


def main() -> None:
    parser = new_parser(__doc__)
    arguments = read_options(parser, NETWORKS)
    words = read_reading_times(data_folder() / "natural_stories" / "reading_times.tsv")
    train = wikitext("train")
    comparison = Comparison(words, train)
    rows = read_results("reading_times", {"rows": {}})["rows"]
    for order, title in NGRAM_TITLES.items():
        rows[title] = comparison.measure(comparison.ngrams[order])
    for title, surprisal in comparison.of_parts.items():
        rows[title] = comparison.measure(surprisal)
    for title, folder in arguments.networks:
        model, tokenizer = load_model(folder, AutoModelForCausalLM)
        rows[title] = comparison.measure(comparison.stories.surprisals(model, tokenizer))
        if not isinstance(tokenizer, WordTokenizer):
            set_seed(SEED)
            untrained = type(model)(model.config).eval()
            rows[f"{title}, untrained"] = comparison.measure(comparison.stories.surprisals(untrained, tokenizer))
    rows = {title: rows[title] for title in TITLES if title in rows}
    print(table(rows))
    lower_cased = measure_lower_cased(words, train)
    settings = {"words_read": len(words), "folds": FOLDS, "seed": SEED}
    if write_results("reading_times", {**settings, "rows": rows, "lower_cased": lower_cased}):
        caption = "Natural Stories, gain over length and frequency; models trained on WikiText-2"
        save_reading_times(drawn(rows), ROOT / "docs" / "reading_times.svg", caption)


if __name__ == "__main__":
    main()
