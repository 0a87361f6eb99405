# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""BLiMP accuracy of every model of the WikiText-2 table, with a picture (docs/blimp.md).

    OMP_NUM_THREADS=1 python -m benchmarks.blimp [NAME=FOLDER ...] [--output blimp]

NAME is a network's name in `benchmarks.wikitext2_table`, FOLDER where it was trained; the n-grams are fitted here. Rows
of networks that are not named stay as they were. A run that was cut off goes on. The sentences are written as WikiText
writes them ("don't" as "don 't"), and ranked by ln P of the whole sentence with its end; the 5-gram has another row
with the sentences as they are.
"""

import time
from pathlib import Path
from typing import Any

from transformers import AutoModelForCausalLM

from benchmarks.common import (
    ROOT,
    add_output,
    data_folder,
    markdown_table,
    new_parser,
    read_options,
    read_results,
    wikitext,
    write_results,
)
from benchmarks.wikitext2_table import NETWORKS, NGRAMS
from hf_lecture_models import NGramForCausalLM, WordTokenizer
from hf_lecture_models.lab.studies.blimp import Paradigm, evaluate_blimp, read_blimp
from hf_lecture_models.lab.studies.blimp_pictures import save_blimp_comparison
from hf_lecture_models.loading import load_model

AS_THEY_ARE = "5-gram, sentences as they are"
TITLES = [*NGRAMS, AS_THEY_ARE, *NETWORKS]


def measure(model: Any, tokenizer: Any, paradigms: list[Paradigm], path: Path, text_form: str) -> dict[str, Any]:
    """Return one row; `cpu_s` are the CPU seconds of this run, a part of them if the run was cut off before."""
    before, begin = path.exists(), time.process_time()
    found = evaluate_blimp(model, tokenizer, paradigms, path, text_form)
    cpu = time.process_time() - begin
    row = {"text_form": text_form, **found["summary"], "vocab_size": model.config.vocab_size}
    speed = {} if before else {"cpu_s": round(cpu, 1), "pairs_per_cpu_s": round(row["pairs"] / cpu, 1)}
    accuracies = {name: round(one["accuracy"], 4) for name, one in found["paradigms"].items()}
    return row | speed | {"accuracy_by_paradigm": accuracies}


def timed_once(before: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    """Return the row, with its earlier time if it was read again."""
    return {name: before[name] for name in ("cpu_s", "pairs_per_cpu_s") if name in before} | row


def measure_ngrams(paradigms: list[Paradigm], output: Path) -> dict[str, dict[str, Any]]:
    train = wikitext("train")
    tokenizer = WordTokenizer.train(train, progress=False)
    rows = {}
    for title, order in NGRAMS.items():
        model = NGramForCausalLM.fit(train, tokenizer, order=order, smoothing="modified_kneser_ney", progress=False)
        rows[title] = measure(model, tokenizer, paradigms, output / f"ngram{order}.json", "wikitext")
    rows[AS_THEY_ARE] = measure(model, tokenizer, paradigms, output / "ngram5_plain.json", "plain")
    return rows


def table(rows: dict[str, dict[str, Any]]) -> str:
    phenomena = list(next(iter(rows.values()))["phenomena"])
    heads = ["model", "all", "pairs of known words", "ties", *(name.replace("_", " ") for name in phenomena)]
    lines = []
    for title, row in rows.items():
        known = "-" if row["known_accuracy"] is None else f"{100 * row['known_accuracy']:.1f}"
        cells = [title, f"{100 * row['accuracy']:.1f}", f"{known} ({row['known_pairs']:,})", f"{row['ties']:,}"]
        lines.append([*cells, *(f"{100 * row['phenomena'][name]:.1f}" for name in phenomena)])
    return markdown_table(heads, lines)


def main() -> None:
    parser = new_parser(__doc__)
    add_output(parser, "blimp", "what is not finished")
    arguments = read_options(parser, NETWORKS)
    paradigms = read_blimp(data_folder() / "blimp")
    rows = read_results("blimp", {"rows": {}}, arguments.kept)["rows"]
    for title, row in measure_ngrams(paradigms, arguments.output).items():
        rows[title] = timed_once(rows.get(title, {}), row)
    for title, folder in arguments.networks:
        path = arguments.output / f"{NETWORKS[title]}.json"
        row = measure(*load_model(folder, AutoModelForCausalLM), paradigms, path, "wikitext")
        rows[title] = timed_once(rows.get(title, {}), row)
        print(f"{title}: {100 * rows[title]['accuracy']:.1f} %", flush=True)
    rows = {title: rows[title] for title in TITLES if title in rows}
    print(table(rows))
    results = {"probability": "terminated", "ties": "count half", "rows": rows}
    if write_results("blimp", results, arguments.kept):
        pages = arguments.kept or ROOT / "docs"
        compared = {title: row for title, row in rows.items() if title != AS_THEY_ARE}
        save_blimp_comparison(compared, pages / "blimp.png")


if __name__ == "__main__":
    main()
