# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture surprisal` of one line of 1.45 million words, by a 3-gram of WikiText-2: CPU seconds and memory.

    OMP_NUM_THREADS=1 python -m benchmarks.surprisal_of_a_line [--words 1450000] [--repeats 3]

The line is the beginning of the training text. Each call is a process of its own that writes the rows to the null
device; "one word" is the cost of starting, of loading the model and of a line of one word. Seconds are medians of the
repeats, user and system time; memory is the peak.
"""

import argparse
import json
import os
import resource
import tempfile
from contextlib import redirect_stdout
from itertools import chain, islice
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.common import new_parser, read_options, run_child, wikitext, write_results
from benchmarks.training_steps import largest_kib
from hf_lecture_models import NGramForCausalLM, WordTokenizer
from hf_lecture_models.lab.verbs.surprisal import run


def child(folder: str, line: str) -> None:
    """Run the command on a file of one line, and print figures as JSON."""
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        run(folder, [line], [], stream=False, json=False, batch_size=16)
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({"cpu_s": used.ru_utime + used.ru_stime, "peak_mib": largest_kib() / 1024}))


def measure(folder: Path, words: list[str], repeats: int) -> dict[str, float]:
    """Return the medians of the figures of a line of these words."""
    line = folder / "line.txt"
    line.write_text(" ".join(words) + "\n", encoding="utf-8")
    found = [run_child("surprisal_of_a_line", "--child", str(folder), str(line)) for _ in range(repeats)]
    return {"words": len(words), **{name: median(one[name] for one in found) for name in ("cpu_s", "peak_mib")}}


def read_arguments() -> argparse.Namespace:
    """Return the options."""
    parser = new_parser(__doc__)
    parser.add_argument("--words", type=int, default=1_450_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--child", nargs=2, metavar=("FOLDER", "LINE"), help=argparse.SUPPRESS)
    return read_options(parser)


def main() -> None:
    options = read_arguments()
    if options.child:
        return child(*options.child)
    lines = wikitext("train")
    words = list(islice(chain.from_iterable(map(str.split, lines)), options.words))
    tokenizer = WordTokenizer.train(lines)
    model = NGramForCausalLM.fit(lines, tokenizer, order=3)
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        model.save_pretrained(name)
        tokenizer.save_pretrained(name)
        for title, some in (("one word", words[:1]), ("the line", words)):
            results[title] = measure(Path(name), some, options.repeats)
            print(f"{title}: {results[title]}", flush=True)
    write_results("surprisal_of_a_line", results)


if __name__ == "__main__":
    main()
