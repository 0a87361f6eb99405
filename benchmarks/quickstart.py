# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The results of `hf-lecture quickstart`, recorded: the README's first table.

    OMP_NUM_THREADS=1 python -m benchmarks.quickstart

The text comes with the interpreter, so the figures are those of one version of Python.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.common import new_parser, read_options, write_results
from hf_lecture_models.lab.comparison.quickstart import run_quickstart

COLUMNS = ("name", "title", "parameters", "table_entries", "seconds", "validation", "test")
MEASURES = ("perplexity", "bits_per_byte", "tokens", "unknown")


def main() -> None:
    read_options(new_parser(__doc__))
    with TemporaryDirectory() as folder:
        results = run_quickstart(Path(folder) / "quickstart")
    rows = [{column: row[column] for column in COLUMNS} for row in results["models"]]
    for row in rows:
        for part in ("validation", "test"):
            row[part] = {measure: row[part][measure] for measure in MEASURES}
    write_results("quickstart", {"seconds": results["seconds"], "rows": rows})


if __name__ == "__main__":
    main()
