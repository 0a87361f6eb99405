# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Language models of WikiText-2 as baselines of BabyLM: BLiMP by the challenge's own program, and by ours.

    OMP_NUM_THREADS=1 python -m benchmarks.babylm --pipeline PIPELINE [NAME=FOLDER ...] [--output babylm]

PIPELINE is a checkout of babylm/evaluation-pipeline-2025. NAME is a network's name in `benchmarks.wikitext2_table`,
FOLDER where it was trained; the 5-gram is fitted here. Rows of networks that are not named stay as they were. The pairs
are the first of each paradigm of BLiMP (`--pairs`), written as WikiText writes them. BabyLM's own data leave out pairs
with words that its text lacks.
"""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from transformers import AutoModelForCausalLM

from benchmarks.common import (
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
from hf_lecture_models.evaluation.scoring import score_texts
from hf_lecture_models.lab.studies.blimp import TEXT_FORMS, Paradigm, read_blimp
from hf_lecture_models.loading import load_model

# In nats; what rounding to float32 does to the sums of a sentence is below it.
ROUNDING = 1e-4
NGRAM = "5-gram, modified Kneser-Ney"
TITLES = [NGRAM, *NETWORKS]


def first_pairs(paradigm: Paradigm, number: int) -> Paradigm:
    """Return the paradigm with its first pairs."""
    return replace(paradigm, good=paradigm.good[:number], bad=paradigm.bad[:number])


def write_pairs(paradigms: list[Paradigm], folder: Path) -> Path:
    """Write the pairs in WikiText's form, a file for each paradigm, as the challenge's program reads them."""
    form = TEXT_FORMS["wikitext"]
    folder.mkdir(parents=True, exist_ok=True)
    for one in paradigms:
        rows = [
            {"sentence_good": form(good), "sentence_bad": form(bad), "field": one.field, "UID": one.name}
            | {"linguistics_term": one.phenomenon}
            for good, bad in zip(one.good, one.bad, strict=True)
        ]
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        (folder / f"{one.name}.jsonl").write_text(text, encoding="utf-8")
    return folder


def run_pipeline(pipeline: Path, model: Path, pairs: Path, results: Path) -> dict[str, float]:
    """Return the challenge's accuracy of each paradigm, in percent with two digits, as its program reports it."""
    command = [sys.executable, "-c", "from hf_lecture_cli import main; main()", "exec", "python", "-m"]
    command += ["evaluation_pipeline.sentence_zero_shot.run", "--model_path_or_name", str(model.absolute())]
    command += ["--backend", "causal", "--task", "blimp", "--data_path", str(pairs.absolute())]
    subprocess.run([*command, "--output_dir", str(results.absolute())], cwd=pipeline, check=True, stdout=sys.stderr)
    (report,) = (results / model.stem).rglob("best_temperature_report.txt")
    part = report.read_text(encoding="utf-8").partition("### UID ACCURACY\n")[2].partition("\n\n")[0]
    return {name: float(value) for name, value in re.findall(r"^(\S+): ([\d.]+)$", part, re.MULTILINE)}


def measure(model: Any, tokenizer: Any, paradigms: list[Paradigm]) -> dict[str, list[float]]:
    """Return, by paradigm, ln P(good) - ln P(bad) of each pair; the sentences may go on, as the challenge has it."""
    form, margins = TEXT_FORMS["wikitext"], {}
    for one in paradigms:
        scores = score_texts(model, tokenizer, list(map(form, [*one.good, *one.bad])), "prefix")
        sums = [score.log_prob for score in scores]
        margins[one.name] = [good - bad for good, bad in zip(sums[: len(one.good)], sums[len(one.good) :], strict=True)]
    return margins


def compare(theirs: dict[str, float], margins: dict[str, list[float]]) -> dict[str, Any]:
    """Return a row: both accuracies, ties, and how far theirs is from what ours allow, with any decision of the ties.

    Sentences of the same words in another order are often equally probable for an n-gram. Rounding decides between
    them, in both programs, so that margins up to `ROUNDING` are ties here.
    """
    right = {name: fmean(margin > ROUNDING for margin in own) for name, own in margins.items()}
    ties = {name: fmean(abs(margin) <= ROUNDING for margin in own) for name, own in margins.items()}
    beyond = [
        max(right[name] - theirs[name] / 100, theirs[name] / 100 - right[name] - ties[name], 0) for name in margins
    ]
    return {
        "pipeline_accuracy": round(fmean(theirs.values()) / 100, 6),
        "accuracy": round(fmean(right[name] + ties[name] / 2 for name in margins), 6),
        "ties": sum(abs(margin) <= ROUNDING for own in margins.values() for margin in own),
        "pairs": sum(map(len, margins.values())),
        "largest_difference": round(max(beyond), 6),
        "pipeline_by_paradigm": {name: theirs[name] for name in sorted(theirs)},
    }


def save_ngram(folder: Path) -> Path:
    """Fit the 5-gram of the WikiText-2 table, and save it with a tokenizer whose padding token is `</s>`.

    The challenge's program multiplies the log-probability of padding by 0, which must not be minus infinity.
    """
    train = wikitext("train")
    tokenizer = WordTokenizer.train(train, progress=False)
    options = {"order": NGRAMS[NGRAM], "smoothing": "modified_kneser_ney", "progress": False}
    NGramForCausalLM.fit(train, tokenizer, **options).save_pretrained(folder)
    tokenizer.pad_token = tokenizer.eos_token
    tokenizer.save_pretrained(folder)
    return folder


def table(rows: dict[str, dict[str, Any]]) -> str:
    """Return the page's table."""
    lines = []
    for title, row in rows.items():
        shares = (f"{100 * row[name]:.1f}" for name in ("pipeline_accuracy", "accuracy"))
        lines.append([title, *shares, f"{row['ties']:,}", f"{row['pairs']:,}"])
    return markdown_table(["model", "BabyLM's program", "ours, ties count half", "ties", "pairs"], lines)


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--pipeline", type=Path, default=Path("evaluation-pipeline-2025"), help="the checkout")
    add_output(parser, "babylm", "pairs, n-grams and reports")
    parser.add_argument("--pairs", type=int, default=200, help="pairs of each paradigm (BLiMP has 1,000)")
    arguments = read_options(parser, NETWORKS)
    paradigms = [first_pairs(one, arguments.pairs) for one in read_blimp(data_folder() / "blimp")]
    pairs = write_pairs(paradigms, arguments.output / "blimp_filtered")
    rows = read_results("babylm", {"rows": {}}, arguments.kept)["rows"]
    folders = dict(arguments.networks)
    if NGRAM not in rows:
        folders[NGRAM] = save_ngram(arguments.output / "ngram5")
    for title, folder in folders.items():
        theirs = run_pipeline(arguments.pipeline, folder, pairs, arguments.output / "results")
        rows[title] = compare(theirs, measure(*load_model(folder, AutoModelForCausalLM), paradigms))
        print(f"{title}: {100 * rows[title]['pipeline_accuracy']:.1f} %", flush=True)
        rows = {one: rows[one] for one in TITLES if one in rows}
        settings = {"text_form": "wikitext", "probability": "prefix", "pairs_of_a_paradigm": arguments.pairs}
        write_results("babylm", {**settings, "rows": rows}, arguments.kept)
    print(table(rows))


if __name__ == "__main__":
    main()
