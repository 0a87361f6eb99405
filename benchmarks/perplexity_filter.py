# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A perplexity filter: its speed beside the kenlm module, and what it keeps of a mixed corpus.

    OMP_NUM_THREADS=1 python -m benchmarks.perplexity_filter [--repeats 3]

Speed: the lines of WikiText-2's training text, from text to perplexity, in turns, with the same tables. kenlm is given
each line as a str, as its interface wants it; with pieces, sentencepiece cuts each line first, as CCNet does. The verb
`filter` also loads the model and reads and writes files. Tokens per CPU second, the median of the repeats.

What is kept: WikiText-2's test lines, the same lines with their words in random order, and lines of Shakespeare, all
mixed; the share of each kind, and of test lines by length, among the 30 % that `--keep 0.3` keeps.
"""

import io
import math
import random
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.common import data_folder, new_parser, read_options, timed, wikitext, write_results
from benchmarks.ngram_loading import UNKNOWN
from hf_lecture_models import NGramForCausalLM, WordTokenizer
from hf_lecture_models.lab.studies.filtering import fraction_threshold, text_perplexities
from hf_lecture_models.lab.verbs import filter as verb
from hf_lecture_models.tokenization.corpus import read_texts
from hf_lecture_models.tokenization.sentencepiece_words import SentencePieceWords

ORDER, PIECES, KEEP, SEED = 5, 8000, 0.3, 0
LENGTHS = {"1 to 5": (1, 5), "6 to 20": (6, 20), "21 to 100": (21, 100), "more than 100": (101, math.inf)}
UNITS = ("words", "pieces")


def lines(split: str) -> list[str]:
    return [text for text in wikitext(split, UNKNOWN) if text.strip()]


def train_pieces(texts: list[str], path: Path) -> Any:
    """Train a sentencepiece model on every fourth text, and return it."""
    import sentencepiece

    model = io.BytesIO()
    options = {"vocab_size": PIECES, "minloglevel": 2, "num_threads": 1}
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(texts[::4]), model_writer=model, **options)
    path.write_bytes(model.getvalue())
    return sentencepiece.SentencePieceProcessor(model_file=str(path))


def fit(texts: list[str], folder: Path) -> tuple[Any, Any, Any]:
    """Return a 5-gram of the texts with its tokenizer, read from an ARPA file, and kenlm's model of the same file."""
    import kenlm

    tokenizer = WordTokenizer.train(texts, progress=False)
    model = NGramForCausalLM.fit(texts, tokenizer, order=ORDER, progress=False)
    folder.mkdir()
    model.save_arpa(folder / "lm.arpa", tokenizer)
    model, tokenizer = NGramForCausalLM.from_arpa(folder / "lm.arpa")
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model, tokenizer, kenlm.Model(str(folder / "lm.arpa"))


# Options of the verb that are not given.
UNUSED = (
    *("minus", "max_perplexity", "min_perplexity", "max_difference", "sample"),
    *("percentile", "buckets", "cutoffs", "batch_size"),
)


def by_kenlm(model: Any, pieces: list[str]) -> float:
    """The perplexity of a text in its words or pieces."""
    return 10 ** (-model.score(" ".join(pieces)) / (len(pieces) + 1))


def by_the_verb(folder: Path, file: Path, pieces: str | None) -> list[float]:
    not_given: dict[str, Any] = dict.fromkeys(UNUSED)
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        verb.run(
            str(folder),
            [str(file)],
            **not_given,
            keep=KEEP,
            measure="perplexity",
            text_column="text",
            jsonl=False,
            split="train",
            sentencepiece=pieces and Path(pieces),
            output=folder / "kept.txt",
            scores=folder / "scores.txt",
            json=False,
        )
    return list(map(float, (folder / "scores.txt").read_text("utf-8").splitlines()))


def measure_speed(functions: dict[str, Callable[[], Any]], tokens: int, repeats: int) -> dict[str, Any]:
    """Return tokens per CPU second of each function, the ratio to kenlm, and the largest relative difference."""
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    found = {}
    for _ in range(repeats):
        for name, function in functions.items():
            values, cpu, _ = timed(function)
            found[name] = np.array(values)
            seconds[name].append(cpu)
    rates = {name: tokens / median(taken) for name, taken in seconds.items()}
    differences = {name: float(np.abs(values / found["kenlm"] - 1).max()) for name, values in found.items()}
    for name, rate in rates.items():
        print(f"{name:8} {rate / 1e6:5.2f} M tokens/s, {rate / rates['kenlm']:.2f} x kenlm, {differences[name]:.1e}")
    ratios = {name: rate / rates["kenlm"] for name, rate in rates.items()}
    return {"tokens": tokens, "tokens_per_cpu_s": rates, "ratios": ratios, "largest_differences": differences}


def mixed_corpus() -> dict[str, list[str]]:
    """Kind -> its texts, equally many of each."""
    test, draw = lines("test"), random.Random(SEED)
    shakespeare = data_folder() / "tinyshakespeare"
    (file,) = sorted(shakespeare.rglob("*.txt"), key=lambda path: path.stat().st_size)[-1:]
    spoken = [text for text in read_texts(file) if len(text.split()) > 2]
    shuffled = [" ".join(draw.sample(words, len(words))) for words in map(str.split, test)]
    return {"test": test, "shuffled": shuffled, "shakespeare": draw.sample(spoken, len(test))}


def measure_kept(model: Any, tokenizer: Any, corpus: dict[str, list[str]], measure: str) -> dict[str, Any]:
    """Return the shares that are kept of each kind, and of test lines by their number of words."""
    texts = [text for kind in corpus.values() for text in kind]
    values = text_perplexities(model, tokenizer, texts, measure)
    kept = values <= fraction_threshold(values, KEEP)
    size = len(corpus["test"])
    shares = {kind: float(kept[n * size : (n + 1) * size].mean()) for n, kind in enumerate(corpus)}
    words = np.array([len(text.split()) for text in corpus["test"]])
    groups = {name: (words >= least) & (words <= most) for name, (least, most) in LENGTHS.items()}
    by_length = {name: float(kept[:size][group].mean()) for name, group in groups.items()}
    print(f"{measure}: {shares}\n    by length {by_length}")
    texts_of = {name: int(group.sum()) for name, group in groups.items()}
    medians = {name: float(np.median(values[:size][group])) for name, group in groups.items()}
    return {"kept": shares, "kept_by_length": by_length, "texts_by_length": texts_of, "median_by_length": medians}


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    options = read_options(parser)
    texts, corpus = lines("train"), mixed_corpus()
    results: dict[str, Any] = {
        "order": ORDER,
        "vocab_size_of_pieces": PIECES,
        "keep": KEEP,
        "texts_of_a_kind": len(corpus["test"]),
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "train.txt").write_text("".join(text + "\n" for text in texts), encoding="utf-8")
        processor = train_pieces(texts, folder / "en.sp.model")
        cut: dict[str, Callable[[str], list[str]]] = {"words": str.split, "pieces": processor.encode_as_pieces}
        for unit in UNITS:
            rows = texts if unit == "words" else [" ".join(cut[unit](text)) for text in texts]
            model, tokenizer, peer = fit(rows, folder / unit)
            if unit == "pieces":
                tokenizer = SentencePieceWords(folder / "en.sp.model", tokenizer)
            tokens = sum(len(row.split()) + 1 for row in rows)
            functions: dict[str, Callable[[], Any]] = {
                "kenlm": lambda peer=peer, split=cut[unit]: [by_kenlm(peer, split(text)) for text in texts],
                "call": lambda model=model, tokenizer=tokenizer: text_perplexities(model, tokenizer, texts),
                "verb": lambda unit=unit: by_the_verb(
                    folder / unit, folder / "train.txt", str(folder / "en.sp.model") if unit == "pieces" else None
                ),
            }
            print(f"{unit}: {len(texts):,} texts, {tokens:,} tokens")
            results[unit] = measure_speed(functions, tokens, options.repeats)
            for measure in ("perplexity", "bits_per_byte"):
                results[unit][measure] = measure_kept(model, tokenizer, corpus, measure)
    write_results("perplexity_filter", results)


if __name__ == "__main__":
    main()
