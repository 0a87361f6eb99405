# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What one reads to follow a flow: the functions of the package that a short run enters, and their lines.

    python -m benchmarks.reading_path [FLOW ...]

Each flow runs twice, and the second run is counted, because the first one also imports. A training makes two steps.
Functions are those of the package, comprehensions and decorators included. Their lines are those of the source without
blank ones, each counted once, with the docstrings; the lines of docstrings are also counted by themselves.
"""

from __future__ import annotations

import ast
import runpy
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from benchmarks.common import ROOT, new_parser, read_options, write_results
from hf_lecture_models import NGramForCausalLM, RecurrentConfig, RecurrentForCausalLM, WordTokenizer

PACKAGE = ROOT / "hf_lecture_models"
TEXTS = ["the keeper saw a light", "a light keeper saw the sea"] * 20
SMALL_BERT = (
    "--tokenizer.type wordpiece --tokenizer.vocab_size 60 --model.model_type lecture_bert --model.hidden_size 16 "
    "--model.num_hidden_layers 1 --model.num_attention_heads 2 --model.intermediate_size 16 --batch_size 4"
)
Entered = dict[Path, set[int]]
"""The first lines of the functions that were entered, by file."""


@contextmanager
def entered() -> Iterator[tuple[Entered, list[Path]]]:
    """Yield the functions that the block enters for the first time, by file, and their files in that order."""
    files: Entered = defaultdict(set)
    order: list[Path] = []
    seen: set[Any] = set()

    def note(frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or code in seen or code.co_name == "<module>":
            return
        seen.add(code)
        if (path := Path(code.co_filename)).is_relative_to(PACKAGE):
            files[path].add(code.co_firstlineno)
            order.append(path)

    sys.setprofile(note)
    threading.setprofile(note)
    try:
        yield files, order
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def lines_of(path: Path, firsts: set[int]) -> tuple[int, int]:
    """Return how many lines the functions of a file have that begin in these lines, and how many are docstrings."""
    source = path.read_text(encoding="utf-8")
    filled = {number for number, line in enumerate(source.splitlines(), 1) if line.strip()}
    own: set[int] = set()
    documented: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef):
            continue
        begin = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        if not firsts.isdisjoint((begin, node.lineno)):
            own |= filled & {*range(begin, node.end_lineno + 1)}
            if ast.get_docstring(node) is not None:
                documented |= filled & {*range(node.body[0].lineno, node.body[0].end_lineno + 1)}
    return len(own), len(documented)


def count(flow: Callable[[Path], Callable[[], Any]]) -> dict[str, Any]:
    """Prepare and run a flow twice, each time in an empty folder, and return the counts of the second run."""
    for _ in range(2):
        with TemporaryDirectory() as folder, redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            run = flow(Path(folder))
            with entered() as (files, order):
                run()
    sizes = {path: lines_of(path, firsts) for path, firsts in files.items()}
    return {
        "files": len(files),
        "functions": len(order),
        "lines": sum(lines for lines, _ in sizes.values()),
        "lines of docstrings": sum(documented for _, documented in sizes.values()),
        "changes of file": sum(one != other for one, other in pairwise(order)),
        "lines by file": {str(path.relative_to(PACKAGE)): lines for path, (lines, _) in sizes.items()},
    }


def training(script: str, *options: Any) -> Callable[[], None]:
    """Return a function that runs a training script for two steps."""

    def run() -> None:
        arguments, sys.argv = sys.argv, [script, *map(str, options), "--max_steps", "2"]
        try:
            runpy.run_path(str(ROOT / "training" / script), run_name="__main__")
        finally:
            sys.argv = arguments

    return run


def language_model(folder: Path) -> Callable[[], None]:
    """Train an LSTM by its tiny recipe."""
    recipe = ROOT / "training/recipes/recurrent_tiny.yaml"
    return training("train_causal_lm.py", recipe, "--output_dir", folder / "lstm")


def classifier(folder: Path) -> Callable[[], None]:
    """Train a BERT with new weights on pairs of sentences as in RTE."""
    options: list[Any] = ["--task", "rte", "--output_dir", folder / "bert", *SMALL_BERT.split()]
    for part in ("train", "validation"):
        rows = ["index\tsentence1\tsentence2\tlabel"]
        for number, text in enumerate(TEXTS[:8]):
            rows.append(f"{number}\t{text}\tthe keeper\t{'not_' * (number % 2)}entailment")
        (folder / f"{part}.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
        options += [f"--{part}_files", folder / f"{part}.tsv"]
    return training("finetune_glue.py", *options)


def translation(folder: Path) -> Callable[[], None]:
    """Train a translator with additive attention by its tiny recipe."""
    recipe = ROOT / "training/recipes/recurrent_seq2seq_tiny.yaml"
    return training("train_translation.py", recipe, "--output_dir", folder / "translator")


def n_gram(_: Path) -> Callable[[], Any]:
    """Train a tokenizer and estimate a trigram."""

    def run() -> Any:
        tokenizer = WordTokenizer.train(TEXTS, progress=False)
        return NGramForCausalLM.fit(TEXTS, tokenizer, order=3, smoothing="kneser_ney"), tokenizer

    return run


def n_gram_logits(folder: Path) -> Callable[[], Any]:
    """Compute the logits of a text with a trigram."""
    model, tokenizer = n_gram(folder)()
    return lambda: model(**tokenizer("the keeper saw", return_tensors="pt"))


def loss(_: Path) -> Callable[[], Any]:
    """Compute the loss of an LSTM and its gradients."""
    model, ids = RecurrentForCausalLM(RecurrentConfig(vocab_size=9, hidden_size=8)), torch.tensor([[1, 2, 3]])
    return lambda: model(ids, labels=ids).loss.backward()


FLOWS = {flow.__name__: flow for flow in (language_model, classifier, translation, n_gram, n_gram_logits, loss)}


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("flows", nargs="*", metavar="FLOW", help=f"{', '.join(FLOWS)}; default: all")
    options = read_options(parser)
    results = {name: count(FLOWS[name]) for name in options.flows or FLOWS}
    for name, counts in results.items():
        print(name, *(f"{counts[key]:,} {key}" for key in list(counts)[:-1]), sep=", ")
    if not options.flows:
        write_results("reading_path", results)


if __name__ == "__main__":
    main()
