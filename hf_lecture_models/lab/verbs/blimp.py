# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture blimp`: accuracy on minimal pairs of sentences, as a table, a file and a picture."""

import sys
import time
from pathlib import Path
from typing import Any

from transformers import AutoModelForCausalLM

from hf_lecture_models.io.strict_json import strict_json
from hf_lecture_models.lab.studies.blimp import evaluate_blimp, load_blimp, read_blimp
from hf_lecture_models.lab.studies.blimp_pictures import save_blimp_picture
from hf_lecture_models.loading import load_model


def run(
    name: str, data: Path | None, output: Path, text_form: str, probability: str, json: bool, batch_size: int
) -> None:
    """Measure a model, print the table, and write `blimp.json` and `blimp.png` into the folder `output`."""
    paradigms = load_blimp() if data is None else read_blimp(data)
    model, tokenizer = load_model(name, AutoModelForCausalLM)
    start = time.perf_counter()

    def report(done: int, paradigm: str, row: Any) -> None:
        seconds = time.perf_counter() - start
        print(
            f"{done:3} of {len(paradigms)}  {100 * row['accuracy']:5.1f} %  {paradigm}  ({seconds:.0f} s)",
            file=sys.stderr,
            flush=True,
        )

    results = evaluate_blimp(
        model, tokenizer, paradigms, output / "blimp.json", text_form, probability, batch_size, report
    )
    print(strict_json(results["summary"]) if json else _table(results["summary"], text_form, probability))
    try:
        save_blimp_picture(results, output / "blimp.png", title=Path(name).name)
    except ImportError as error:  # the figures are written nevertheless
        print(f"hf-lecture blimp: no picture: {error}", file=sys.stderr)


def _table(summary: dict[str, Any], text_form: str, probability: str) -> str:
    lines = [f"{name:<28}{100 * value:6.1f} %" for name, value in summary["phenomena"].items()]
    lines += ["", *(f"{name:<28}{100 * value:6.1f} %" for name, value in summary["fields"].items())]
    count, pairs, known = summary["paradigms"], summary["pairs"], summary["known_pairs"]
    lines += ["", f"{f'mean of {count} paradigms':<28}{100 * summary['accuracy']:6.1f} %"]
    if known < pairs:
        value = f"{100 * summary['known_accuracy']:6.1f} %" if known else "     -"
        lines.append(f"{'without unknown words':<28}{value} of {known:,} of {pairs:,} pairs")
    lines.append(
        f"ln P of the {'whole sentence and its end' if probability == 'terminated' else 'sentence, which may go on'}; "
        f"{summary['ties']:,} ties count half; text form: {text_form}"
    )
    return "\n".join(lines)
