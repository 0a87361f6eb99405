# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""N-grams of corpora out of core: the tables of `fit` bit for bit, the counts of lmplz, within a limit of memory.

    OMP_NUM_THREADS=1 python -m benchmarks.corpora_out_of_core [--lmplz PATH] [--tokens 10 20 100] [--memory 2GB]
        [--engine numpy] [--folder FOLDER]
    OMP_NUM_THREADS=1 python -m benchmarks.corpora_out_of_core --growth 10 20 50 100 200 [--corpus FILE] [...]

Text is drawn from a modified Kneser-Ney 5-gram of WikiText-2 (`sampling_ngram.py`); the three numbers are millions of
tokens. The first text is estimated with order 5 in memory and out of core, and the tables are compared. The second is
estimated with order 3, all n-grams, in memory, out of core, and by lmplz. The third is estimated out of core with order
3, without n-grams that occur once; its n-grams are compared with those that lmplz writes for the same file, thresholds
and memory. Each estimation runs in a process of its own, with the vocabulary of WikiText-2, which lmplz has to find.
The time to save the model, or to write the ARPA file, is counted. The system gives its peak memory, which includes
mapped parts of files.

With `--growth`, the first so many million tokens of one text are estimated out of core with order 3, without n-grams
that occur once; and the first 20 million with order 5, by the engine and by DuckDB. The record, `corpora_growth`, is
written after each estimation, and what this commit has measured already is left as it is. With `--corpus` the text is
kept in a file, or taken from it.
"""

import argparse
import json
import re
import resource
import shutil
import stat
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from benchmarks.common import (
    commit,
    data_folder,
    new_parser,
    read_options,
    read_results,
    run_child,
    timed,
    write_results,
)

EQUALITY, MIDDLE, LARGE = (
    {"order": 5, "prune": None},
    {"order": 3, "prune": [0, 0, 0]},
    {"order": 3, "prune": [0, 1, 1]},
)
LONG = {"order": 5, "prune": None}
LONG_TOKENS = 20
UNKNOWN = "<UNKNOWN>"  # lmplz refuses <unk>
BATCH_TEXTS = 1 << 16


def draw_corpus(model, tokenizer, tokens: int, path: Path) -> dict:
    """Write texts of about so many tokens, with their ends, to a file."""
    from hf_lecture_models.models.ngram.sampling_ngram import sample_corpus

    words = np.array(tokenizer.convert_ids_to_tokens(list(range(len(tokenizer)))), object)
    words[tokenizer.unk_token_id] = UNKNOWN
    drawn, begin, batch = 0, time.process_time(), 0
    with open(path, "w", encoding="utf-8") as file:
        while drawn < tokens:
            corpus = sample_corpus(model, min(BATCH_TEXTS, max((tokens - drawn) // 40, 1)), seed=batch)
            file.writelines(" ".join(words[ids]) + "\n" for ids in corpus)
            drawn, batch = drawn + len(corpus.ids) + len(corpus.lengths), batch + 1
    return {"tokens": drawn, "megabytes": path.stat().st_size / 1e6, "cpu_s": time.process_time() - begin}


def take_prefix(source: Path, tokens: int, path: Path) -> int:
    """Write the first texts of a file, of so many tokens with their ends, to another one; return the tokens."""
    taken = 0
    with open(source, "rb") as texts, open(path, "wb") as prefix:
        for line in texts:
            if taken >= tokens:
                return taken
            prefix.write(line)
            taken += len(line.split()) + 1
    if taken < tokens:
        raise SystemExit(f"{source} has {taken:,} tokens, not {tokens:,}; delete it to draw a longer one")
    return taken


def child(options: argparse.Namespace) -> None:
    """Estimate in this process, save the model, and print time and memory as JSON."""
    from hf_lecture_models import NGramForCausalLM, WordTokenizer
    from hf_lecture_models.models.ngram.out_of_core.estimation import MemoryLimit

    tokenizer = WordTokenizer.from_pretrained(options.folder / "tokenizer")
    imported = peak_mib()
    work = options.folder / "work"
    limit = MemoryLimit(options.memory, options.engine, work) if options.child == "past" else None
    prune = [0, *options.child_prune] if options.child_prune else None

    def estimate():
        path = options.folder / "texts.txt"
        model = NGramForCausalLM.fit(path, tokenizer, order=options.child_order, prune=prune, memory=limit)
        model.save_pretrained(options.folder / options.child)
        return model

    disk = DiskWatch(work)
    model, cpu, wall = timed(estimate)
    found = {"cpu_s": cpu, "wall_s": wall, "imported_mib": imported, "peak_mib": peak_mib(), "disk_mb": disk.stop()}
    found["ngrams"], found["discounts"] = model.config.table_sizes, model.config.discounts
    if limit is not None:
        limit.clear()
    print(json.dumps(found))


def peak_mib() -> float:
    """Return the peak memory of this process alone; that of `getrusage` begins with the memory of its parent."""
    return int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text("utf-8"))[1]) / 1024


class DiskWatch(threading.Thread):
    """The most bytes of a folder and of this process's files without a name, looked at twice a second (on Linux)."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self.folder, self.most, self.stopped = folder, 0, threading.Event()
        self.start()

    def run(self) -> None:
        """Look, until `stop`."""
        while not self.stopped.wait(0.5):
            used = 0
            for path in (*self.folder.rglob("*"), *Path("/proc/self/fd").glob("*")):
                try:
                    found = path.stat()
                except FileNotFoundError:  # a stage has been renamed meanwhile
                    continue
                if self.folder in path.parents or (stat.S_ISREG(found.st_mode) and found.st_nlink == 0):
                    used += found.st_blocks * 512
            self.most = max(self.most, used)

    def stop(self) -> float:
        """Return the most megabytes."""
        self.stopped.set()
        self.join()
        return self.most / 1e6


def estimate(
    kind: str, options: argparse.Namespace, order: int, prune: list[int] | None, engine: str | None = None
) -> dict:
    """Estimate in a process of its own, and return time and memory."""
    arguments = ["--child", kind, "--folder", str(options.folder), "--memory", options.memory]
    arguments += ["--engine", engine or options.engine, "--child_order", str(order)]
    arguments += ["--child_prune", *map(str, prune[1:])] if prune else []
    return run_child("corpora_out_of_core", *arguments)


def run_lmplz(lmplz: str, folder: Path, options: argparse.Namespace, order: int, prune: list[int]) -> dict:
    """Write the ARPA file of lmplz, and return time and memory."""
    from hf_lecture_models.models.ngram.out_of_core.estimation import MemoryLimit

    command = [lmplz, "-o", str(order), "-S", f"{MemoryLimit(options.memory).bytes // 2**20}M", "-T", str(folder)]
    # In so much drawn text every word is frequent: there is no count of one word to set the discounts of order 1 by.
    command += ["--discount_fallback", "--prune", *map(str, prune), "--arpa", str(folder / "lmplz.arpa")]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    with open(folder / "texts.txt", "rb") as source:
        result = subprocess.run(command, stdin=source, capture_output=True, text=True, encoding="utf-8")
    if result.returncode:
        raise SystemExit(f"lmplz failed: {result.stderr.strip().splitlines()[-1]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    # Of each order: n-grams kept, those before, and discounts.
    lines = re.findall(r"^\d (\d+)/?(\d*) D1=(\S+) D2=(\S+) D3\+=(\S+)", result.stderr, re.MULTILINE)
    counts = [
        {"kept": int(kept), "all": int(whole or kept), "discounts": [*map(float, ds)]} for kept, whole, *ds in lines
    ]
    return {"cpu_s": cpu, "wall_s": time.perf_counter() - begin, "counts": counts}


def same_tables(one, other) -> bool:
    names = ("keys", "log10_probs", "log10_backoffs")
    tables, others = one.tables(), other.tables()
    return all(
        np.array_equal(a, b)
        for name in names
        for a, b in zip(getattr(tables, name), getattr(others, name), strict=True)
    )


def compare_with_lmplz(model, tokenizer, arpa: Path) -> dict:
    """Return the number of n-grams that both models have, by order, and the largest difference of their log10 P."""
    from hf_lecture_models import NGramForCausalLM

    theirs, their_tokenizer = NGramForCausalLM.from_arpa(arpa)
    found = {"ours": model.config.table_sizes, "lmplz": theirs.config.table_sizes, "in_both": [], "largest": []}
    numbers = tokenizer.convert_tokens_to_ids(their_tokenizer.convert_ids_to_tokens(list(range(len(their_tokenizer)))))
    ours = words = np.array([-1 if number is None else number for number in numbers])
    tables, others = model.tables(), theirs.tables()
    for n, probs in enumerate(others.log10_probs, 1):
        if n > 1:  # number the n-grams of lmplz as ours are
            prefixes, last = np.divmod(others.keys[n - 2], others.vocab_size)
            wanted = np.where(
                (ours[prefixes] >= 0) & (words[last] >= 0), ours[prefixes] * len(tokenizer) + words[last], -1
            )
            places = np.minimum(np.searchsorted(tables.keys[n - 2], wanted), len(tables.keys[n - 2]) - 1)
            ours = np.where(tables.keys[n - 2][places] == wanted, places, -1)
        both = ours >= 0
        pairs = np.stack((tables.log10_probs[n - 1][ours[both]], probs[both]))
        pairs = pairs[:, np.isfinite(pairs).all(0)]  # not <s>, which has no probability
        found["in_both"].append(int(both.sum()))
        found["largest"].append(float(np.abs(pairs[0] - pairs[1]).max()))
    return found


def compare_in_memory(model, tokenizer, options: argparse.Namespace) -> dict:
    """Estimate order 5 in memory and out of core."""
    from hf_lecture_models import NGramForCausalLM

    found = {"text": draw_corpus(model, tokenizer, int(options.tokens[0] * 1e6), options.folder / "texts.txt")}
    for kind in ("in_memory", "past"):
        found[kind] = estimate(kind, options, **EQUALITY)
    models = [NGramForCausalLM.from_pretrained(options.folder / kind) for kind in ("in_memory", "past")]
    found["bit_for_bit"] = same_tables(*models)
    return found


def compare_middle(model, tokenizer, options: argparse.Namespace) -> dict:
    """Estimate order 3, all n-grams, in memory, out of core and with lmplz."""
    found = {"text": draw_corpus(model, tokenizer, int(options.tokens[1] * 1e6), options.folder / "texts.txt")}
    for kind in ("in_memory", "past"):
        found[kind] = estimate(kind, options, **MIDDLE)
    if options.lmplz:
        found["lmplz"] = run_lmplz(options.lmplz, options.folder, options, **MIDDLE)
        found["ratios"] = {kind: found["lmplz"]["cpu_s"] / found[kind]["cpu_s"] for kind in ("in_memory", "past")}
    return found


def compare_large(model, tokenizer, options: argparse.Namespace) -> dict:
    """Estimate order 3, pruned, out of core and with lmplz."""
    from hf_lecture_models import NGramForCausalLM

    found = {"text": draw_corpus(model, tokenizer, int(options.tokens[2] * 1e6), options.folder / "texts.txt")}
    found["past"] = estimate("past", options, **LARGE)
    if options.lmplz:
        found["lmplz"] = run_lmplz(options.lmplz, options.folder, options, **LARGE)
        estimated = NGramForCausalLM.from_pretrained(options.folder / "past")
        found["comparison"] = compare_with_lmplz(estimated, tokenizer, options.folder / "lmplz.arpa")
    return found


def measure_growth(options: argparse.Namespace, corpus: Path) -> None:
    """Estimate order 3 of more and more tokens, then order 5 by two engines; what is recorded is not measured again."""
    found = read_results("corpora_growth", {"rows": {}, "order_5": {}})
    for name in ("rows", "order_5"):
        found[name] = {key: row for key, row in found[name].items() if row["commit"] == commit()}
    found |= {"memory": options.memory, "engine": options.engine}
    runs = [("rows", f"{millions:g}", millions, LARGE, options.engine) for millions in options.growth]
    runs += [("order_5", engine, LONG_TOKENS, LONG, engine) for engine in (options.engine, "duckdb")]
    for part, key, millions, task, engine in runs:
        if key in found[part]:
            continue
        tokens = take_prefix(corpus, int(millions * 1e6), options.folder / "texts.txt")
        row = {"tokens": tokens, "commit": commit()} | estimate("past", options, **task, engine=engine)
        found[part][key] = row
        sizes = f"peak {row['peak_mib']:.0f} MiB, disk {row['disk_mb']:.0f} MB"
        print(
            f"{part} {key}: {tokens:,} tokens in {row['cpu_s']:.1f} CPU s, {row['wall_s']:.0f} s, {sizes}", flush=True
        )
        write_results("corpora_growth", found)


def report(results: dict) -> None:
    for name, result in results.items():
        print(f"{name}: {result['text']['tokens']:,} tokens drawn in {result['text']['cpu_s']:.0f} CPU s")
        for kind in ("in_memory", "past", "lmplz"):
            if kind in result:
                run = result[kind]
                peak = f", peak {run['peak_mib']:.0f} MiB, disk {run['disk_mb']:.0f} MB" if "peak_mib" in run else ""
                print(f"  {kind}: {run['cpu_s']:.0f} CPU s, {run['wall_s']:.0f} s{peak}")
        if "ratios" in result:
            print(f"  times as fast as lmplz: {result['ratios']}")
        if "bit_for_bit" in result:
            print(f"  tables equal bit for bit: {result['bit_for_bit']}")
        if "comparison" in result:
            for n, (counts, discounts) in enumerate(
                zip(result["lmplz"]["counts"], result["past"]["discounts"], strict=True), 1
            ):
                print(f"  lmplz, order {n}: {counts}; our discounts {discounts}")
            print(f"  n-grams and log10 probabilities: {result['comparison']}")


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--lmplz", default=shutil.which("lmplz"), help="path of lmplz; else the one on the PATH")
    parser.add_argument("--tokens", type=float, nargs=3, default=[10, 20, 100], help="millions; 0 leaves one out")
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--engine", default="numpy")
    parser.add_argument(
        "--growth", type=float, nargs="+", metavar="MILLIONS", help="measure the growth with the tokens"
    )
    parser.add_argument("--corpus", type=Path, help="of --growth: the file of the text; drawn if there is none")
    parser.add_argument("--folder", type=Path, help="where texts and stages go; else a temporary one")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--child_order", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--child_prune", type=int, nargs="+", help=argparse.SUPPRESS)
    options = read_options(parser)
    if options.child:
        return child(options)
    from hf_lecture_models import NGramForCausalLM, WordTokenizer

    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        options.folder = Path(folder)
        text = (data_folder() / "wikitext-2" / "train.txt").read_text("utf-8").replace("<unk>", UNKNOWN).split("\n")
        tokenizer = WordTokenizer.train(text, progress=False)
        tokenizer.save_pretrained(options.folder / "tokenizer")
        if options.growth and options.corpus and options.corpus.is_file():
            return measure_growth(options, options.corpus)
        model = NGramForCausalLM.fit(text, tokenizer, order=5, progress=False)
        if options.growth:
            corpus = options.corpus or options.folder / "corpus.txt"
            draw_corpus(model, tokenizer, int(max(*options.growth, LONG_TOKENS) * 1e6), corpus)
            return measure_growth(options, corpus)
        runs = {"equality": compare_in_memory, "middle": compare_middle, "large": compare_large}
        wanted = [name for name, tokens in zip(runs, options.tokens, strict=True) if tokens]
        results = {"memory": options.memory, "engine": options.engine}
        found = {name: runs[name](model, tokenizer, options) for name in wanted}
    report(found)
    write_results("corpora_out_of_core", results | found)
    return None


if __name__ == "__main__":
    main()
