# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The other programs of `own_data`, each in a process of its own and with its own defaults.

    python benchmarks/own_data_peers.py PROGRAM FOLDER

It needs no package of this repository, so that it runs where the other programs are installed:

    pip install scikit-learn==1.9.1 spacy==3.8.18 fasttext-numpy2-wheel==0.9.2

FOLDER holds train.csv and test.csv with the columns `text`, perhaps `text_pair`, and `label`. The last line of the
output is JSON: the predictions of the test rows, and the bytes of the saved model. The two texts of a pair are joined
by a space, because none of these programs reads pairs.
"""

import csv
import json
import pickle
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Rows = tuple[list[str], list[str]]
"""Texts and labels."""


def read_rows(path: Path) -> Rows:
    """Return the texts and the labels of a file."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    texts = [f"{row['text']} {row['text_pair']}" if "text_pair" in row else row["text"] for row in rows]
    return texts, [row["label"] for row in rows]


def folder_bytes(path: Path) -> int:
    """Return the size of a file, or of all files of a folder."""
    return sum(file.stat().st_size for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file())


def logistic_regression(train: Rows, tests: list[str], folder: Path, **options: Any) -> tuple[list[str], Path]:
    """Learn scikit-learn's logistic regression on counts or, with `tfidf`, on TF-IDF; return predictions and file."""
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    vectorizer = TfidfVectorizer(**options.pop("tfidf")) if "tfidf" in options else CountVectorizer()
    model = make_pipeline(vectorizer, LogisticRegression(max_iter=1000)).fit(*train)
    path = folder / "model.pickle"
    path.write_bytes(pickle.dumps(model))
    return list(model.predict(tests)), path


def fasttext(train: Rows, tests: list[str], folder: Path, **options: Any) -> tuple[list[str], Path]:
    """Train fastText's classifier on one thread; it splits words at white space and keeps capitals."""
    import fasttext as program

    classes = sorted(set(train[1]))
    lines = [f"__label__{classes.index(label)} {one_line(text)}" for text, label in zip(*train, strict=True)]
    random.Random(0).shuffle(lines)  # it reads them in this order in each epoch
    (folder / "train.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    model = program.train_supervised(str(folder / "train.txt"), thread=1, verbose=0, **options)
    path = folder / "model.bin"
    model.save_model(str(path))
    # Of a list of texts: predict() of one text fails with NumPy 2.
    found, _ = model.predict([one_line(text) for text in tests])
    return [classes[int(labels[0].removeprefix("__label__"))] if labels else "" for labels in found], path


def one_line(text: str) -> str:
    """Return a text without line ends, which would end it."""
    return " ".join(text.split())


def spacy(train: Rows, tests: list[str], folder: Path, optimize: str) -> tuple[list[str], Path]:
    """Train spaCy's `textcat` by the configuration of `spacy init config`; a tenth of the rows selects the weights."""
    import spacy as program
    from spacy.cli.init_config import init_config
    from spacy.tokens import DocBin
    from spacy.training.initialize import init_nlp
    from spacy.training.loop import train as train_loop

    classes, rows = sorted(set(train[1])), list(zip(*train, strict=True))
    random.Random(0).shuffle(rows)
    tenth, empty = len(rows) // 10, program.blank("en")
    for part, own in (("dev", rows[:tenth]), ("train", rows[tenth:])):
        docs = DocBin()
        for text, label in own:
            doc = empty.make_doc(text)
            doc.cats = {name: float(name == label) for name in classes}
            docs.add(doc)
        docs.to_disk(folder / f"{part}.spacy")
    config = init_config(lang="en", pipeline=["textcat"], optimize=optimize, gpu=False)
    config["paths"] |= {part: str(folder / f"{part}.spacy") for part in ("train", "dev")}
    (folder / "model").mkdir(exist_ok=True)
    train_loop(init_nlp(config), folder / "model", stdout=sys.stderr)
    path = folder / "model" / "model-best"
    model = program.load(path)
    return [max(doc.cats, key=doc.cats.__getitem__) for doc in model.pipe(tests)], path


PROGRAMS: dict[str, tuple[str, Callable[..., tuple[list[str], Path]], dict[str, Any]]] = {
    "counts": ("counts + LR", logistic_regression, {}),
    "tfidf": ("TF-IDF + LR", logistic_regression, {"tfidf": {}}),
    "characters": (
        "character n-grams + LR",
        logistic_regression,
        {"tfidf": {"analyzer": "char_wb", "ngram_range": (2, 5)}},
    ),
    "fasttext": ("fastText", fasttext, {}),
    "fasttext_bigrams": ("fastText, wordNgrams 2", fasttext, {"wordNgrams": 2}),
    "spacy": ("spaCy textcat", spacy, {"optimize": "efficiency"}),
}
"""Title, function and options of each program, by its name in the record."""


def main() -> None:
    name, folder = sys.argv[1], Path(sys.argv[2])
    _, function, options = PROGRAMS[name]
    own = folder / name
    own.mkdir(exist_ok=True)
    predictions, path = function(read_rows(folder / "train.csv"), read_rows(folder / "test.csv")[0], own, **options)
    print(json.dumps({"predictions": predictions, "bytes": folder_bytes(path)}))


if __name__ == "__main__":
    main()
