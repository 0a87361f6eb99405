# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Stereotypes: CrowS-Pairs by every model of the WikiText-2 table and by BERT, beside the frequencies of their tokens.

    OMP_NUM_THREADS=1 python -m benchmarks.crows_pairs [NAME=FOLDER ...]

NAME is a network's name in `benchmarks.wikitext2_table` or `bert_wikitext2`, FOLDER where it was trained; the n-grams
are fitted here. Rows of networks that are not named stay as they were. The sentences are written as WikiText writes
them. HF_LECTURE_DATA needs `crows_pairs/crows_pairs.tsv` (Nangia et al. 2020, CC BY-SA 4.0). The record has figures
only, no sentences.
"""

import time
from typing import Any

from transformers import AutoModelForCausalLM, AutoModelForPreTraining

from benchmarks.common import (
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
from hf_lecture_models.evaluation.surprisal import kind_of
from hf_lecture_models.lab.studies.stereotypes import (
    SentencePair,
    prefer_frequent_words,
    prefer_stereotypes,
    read_crows_pairs,
    summarise_preferences,
)
from hf_lecture_models.loading import load_model

BERT = "bert_wikitext2"
TITLES = NETWORKS | {"BERT, word pieces": BERT}


def measure(model: Any, tokenizer: Any, pairs: list[SentencePair], train: list[str]) -> dict[str, Any]:
    """Return one row: the model's preferences, those of its tokens' frequencies, and how often both answer alike."""
    begin = time.process_time()
    mine = prefer_stereotypes(model, tokenizer, pairs, "wikitext")
    cpu = time.process_time() - begin
    frequent = prefer_frequent_words(tokenizer, train, pairs, "wikitext")
    return {
        "kind": kind_of(model),
        "vocab_size": model.config.vocab_size,
        "cpu_s": round(cpu, 1),
        **summarise_preferences(mine, pairs),
        "frequencies": summarise_preferences(frequent, pairs)["whole"],
        "same_answer": float((mine.whole == frequent.whole).mean()),
    }


def measure_ngrams(pairs: list[SentencePair], train: list[str]) -> dict[str, dict[str, Any]]:
    """Return the rows of the n-grams, which are fitted to WikiText-2's training text."""
    tokenizer = WordTokenizer.train(train, progress=False)
    options: dict[str, Any] = {"smoothing": "modified_kneser_ney", "progress": False}
    return {
        title: measure(NGramForCausalLM.fit(train, tokenizer, order=order, **options), tokenizer, pairs, train)
        for title, order in NGRAMS.items()
    }


def percent(row: dict[str, Any]) -> str:
    """Return a share with its standard error, in percent."""
    return f"{100 * row['preferred']:.1f} ± {100 * row['standard_error']:.1f}"


def table(rows: dict[str, dict[str, Any]]) -> str:
    """Return the table of all pairs, a line for each model."""
    heads = ["model", "whole sentence", "frequencies of its tokens", "both answer alike", "shared tokens"]
    heads.append("shared tokens, pairs of known words")
    lines = []
    for title, row in rows.items():
        cells = [title, percent(row["whole"]["all"]), percent(row["frequencies"]["all"])]
        known = row["shared"]["known"]
        cells += [f"{100 * row['same_answer']:.0f} %", percent(row["shared"]["all"])]
        lines.append([*cells, f"{percent(known)} ({known['pairs']:,})"])
    return markdown_table(heads, lines)


def table_of_types(rows: dict[str, dict[str, Any]], score: str) -> str:
    """Return the table of one score by the type of the stereotype and by its direction, a column for each model."""
    first = next(iter(rows.values()))
    words = {"frequencies of words": first["frequencies"]} if score == "whole" else {}
    columns = words | {title: row[score] for title, row in rows.items()}
    lines = []
    for group in ("types", "directions"):
        for name, one in first[score][group].items():
            cells = [f"{100 * column[group][name]['preferred']:.1f}" for column in columns.values()]
            lines.append([name, f"{one['pairs']:,}", *cells])
    return markdown_table(["", "pairs", *columns], lines)


def main() -> None:
    parser = new_parser(__doc__)
    arguments = read_options(parser, TITLES)
    pairs = read_crows_pairs(data_folder() / "crows_pairs" / "crows_pairs.tsv")
    train = wikitext("train")
    rows = read_results("crows_pairs", {"rows": {}})["rows"]
    rows |= measure_ngrams(pairs, train)
    for title, folder in arguments.networks:
        loader = AutoModelForPreTraining if TITLES[title] == BERT else AutoModelForCausalLM
        rows[title] = measure(*load_model(folder, loader), pairs, train)
        print(f"{title}: {percent(rows[title]['whole']['all'])} %", flush=True)
    rows = {title: rows[title] for title in [*NGRAMS, *TITLES] if title in rows}
    print(table(rows), table_of_types(rows, "whole"), table_of_types(rows, "shared"), sep="\n\n")
    write_results("crows_pairs", {"text_form": "wikitext", "ties": "count half", "rows": rows})


if __name__ == "__main__":
    main()
