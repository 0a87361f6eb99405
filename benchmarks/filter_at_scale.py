# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A perplexity filter over Parquet files: a query of DuckDB and the verb `filter`, beside a loop with the kenlm module.

    OMP_NUM_THREADS=1 python -m benchmarks.filter_at_scale [--lines 1000000] [--repeats 3] [--folder FOLDER]

The lines are sentences of WikiText-2's training text and lines of Shakespeare, drawn at random, each with a first word
drawn from the vocabulary, in ten Parquet files. All programs keep the lines with a perplexity of at most 100 by the
same 5-gram of WikiText-2, and write them to a Parquet file, each in a process of its own with one thread. The first
file is filtered by DuckDB and by kenlm in turns, and all ten by DuckDB and by the verb. Lines per CPU second, the
median of the repeats; the verb alone counts loading the model too. Peak memory with the model.
"""

import io
import json
import random
import re
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.common import data_folder, new_parser, read_options, run_child, timed, wikitext, write_results
from benchmarks.corpora_out_of_core import peak_mib
from benchmarks.ngram_loading import UNKNOWN

ORDER, LIMIT, FILES, SEED, BATCH = 5, 100.0, 10, 0, 1 << 16
SHAKESPEARE = "tinyshakespeare"


def sentences() -> list[str]:
    """Return sentences of WikiText-2, and lines of Shakespeare with spaces around their punctuation."""
    found = [sentence.strip() for text in wikitext("train", UNKNOWN) for sentence in text.split(" . ")]
    (file,) = sorted((data_folder() / SHAKESPEARE).rglob("*.txt"), key=lambda path: path.stat().st_size)[-1:]
    found += re.sub(r"([,.;:!?])", r" \1", file.read_text("utf-8")).split("\n")
    return [text for text in found if len(text.split()) > 2]


def write_lines(folder: Path, lines: int) -> int:
    """Write the drawn lines to ten Parquet files, with their numbers, and return their bytes of text."""
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    rests = [text.partition(" ")[2] for text in sentences()]
    words, draw, size = sorted(set(" ".join(rests).split())), random.Random(SEED), 0
    schema = pyarrow.schema({"id": pyarrow.int64(), "text": pyarrow.string()})
    for number in range(FILES):
        first, last = lines * number // FILES, lines * (number + 1) // FILES
        with ParquetWriter(folder / f"{number}.parquet", schema) as writer:
            for begin in range(first, last, BATCH):
                ids = range(begin, min(begin + BATCH, last))
                count = len(ids)
                drawn = zip(draw.choices(words, k=count), draw.choices(rests, k=count), strict=True)
                texts = [f"{word} {rest}" for word, rest in drawn]
                size += sum(map(len, texts))
                writer.write_table(pyarrow.table({"id": ids, "text": texts}, schema))
    return size


def fit(folder: Path) -> None:
    """Save a 5-gram of WikiText-2 as a folder and as an ARPA file."""
    from hf_lecture_models import NGramForCausalLM, WordTokenizer

    texts = [text for text in wikitext("train", UNKNOWN) if text.strip()]
    tokenizer = WordTokenizer.train(texts, progress=False)
    model = NGramForCausalLM.fit(texts, tokenizer, order=ORDER, progress=False)
    model.save_arpa(folder / "lm.arpa", tokenizer)
    model.save_pretrained(folder / "lm")
    tokenizer.save_pretrained(folder / "lm")


def by_duckdb(folder: Path, files: list[Path], output: Path) -> Callable[[], Any]:
    import duckdb

    from hf_lecture_models.lab.studies.text_figures import TextFigures

    figures = TextFigures(folder / "lm")
    figures([])
    database = duckdb.connect()
    database.sql("SET threads = 1")
    database.create_function("perplexity", figures.arrow, ["VARCHAR"], "DOUBLE", type="arrow", null_handling="special")
    names = [str(file) for file in files]
    return lambda: database.execute(
        f"COPY (SELECT * FROM read_parquet($1) WHERE perplexity(text) <= {LIMIT}) TO '{output}'", [names]
    )


def by_kenlm(folder: Path, files: list[Path], output: Path) -> Callable[[], Any]:
    import kenlm
    import pyarrow
    from pyarrow.parquet import ParquetFile, ParquetWriter

    model = kenlm.Model(str(folder / "lm.arpa"))

    def batches() -> Iterator[Any]:
        for file in files:
            with ParquetFile(file) as opened:
                yield from opened.iter_batches(batch_size=BATCH)

    def run() -> None:
        with ParquetWriter(output, ParquetFile(files[0]).schema_arrow) as writer:
            for batch in batches():
                texts = batch.column("text").to_pylist()
                kept = [10 ** (-model.score(text) / (len(text.split()) + 1)) <= LIMIT for text in texts]
                writer.write_batch(batch.filter(pyarrow.array(kept)))

    return run


def by_the_verb(folder: Path, files: list[Path], output: Path) -> Callable[[], Any]:
    from hf_lecture_cli import app

    command = ["filter", str(folder / "lm"), *map(str, files), "--max-perplexity", str(LIMIT), "-o", str(output)]
    return lambda: app(command, standalone_mode=False)


PROGRAMS = {"duckdb": by_duckdb, "kenlm": by_kenlm, "verb": by_the_verb}


def child(options: Namespace) -> None:
    """Filter in this process, and print time and memory as JSON."""
    from pyarrow.parquet import ParquetFile, read_metadata

    files, output = sorted(options.folder.glob("?.parquet"))[: options.files], options.folder / "kept.parquet"
    with redirect_stderr(io.StringIO()):
        run, loading, _ = timed(lambda: PROGRAMS[options.child](options.folder, files, output))
        _, cpu, wall = timed(run)
    lines = sum(read_metadata(file).num_rows for file in files)
    kept = ParquetFile(output).metadata.num_rows
    found = {"lines": lines, "kept": kept, "cpu_s": cpu, "wall_s": wall, "loading_cpu_s": loading}
    print(json.dumps(found | {"lines_per_cpu_s": lines / cpu, "peak_mib": peak_mib()}))


def measure(program: str, folder: Path, files: int) -> dict[str, Any]:
    found = run_child("filter_at_scale", "--child", program, "--folder", str(folder), "--files", str(files))
    print(
        f"{program:6} {found['lines']:>12,} lines, {found['kept']:,} kept, {found['lines_per_cpu_s']:,.0f} lines per "
        f"CPU second, {found['peak_mib']:,.0f} MiB"
    )
    return found


def compare(folder: Path, options: Namespace) -> dict[str, Any]:
    """Return the figures of each program, and the speed of DuckDB's query as a multiple of kenlm's loop."""
    size = write_lines(folder, options.lines)
    fit(folder)
    turns = [{name: measure(name, folder, 1) for name in ("kenlm", "duckdb")} for _ in range(options.repeats)]
    results: dict[str, Any] = {"lines": options.lines, "text_mb": size / 1e6, "limit": LIMIT, "order": ORDER}
    for name in ("kenlm", "duckdb"):
        rows = [turn[name] for turn in turns]
        results[f"{name}_first_file"] = {key: median(row[key] for row in rows) for key in rows[0]}
    rates = [results[f"{name}_first_file"]["lines_per_cpu_s"] for name in ("duckdb", "kenlm")]
    results["ratio"] = rates[0] / rates[1]
    print(f"{results['ratio']:.2f} x kenlm")
    return results | {name: measure(name, folder, FILES) for name in ("duckdb", "verb")}


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="for 100 bytes a line and the model; else a temporary one")
    parser.add_argument("--child", choices=PROGRAMS, help="for this script itself")
    parser.add_argument("--files", type=int, default=FILES, help="for this script itself")
    options = read_options(parser)
    if options.child:
        return child(options)
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        write_results("filter_at_scale", compare(Path(name), options))


if __name__ == "__main__":
    main()
