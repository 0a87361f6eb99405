# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Estimating modified Kneser-Ney models of WikiText-2 beside KenLM's lmplz: seconds and peak memory.

    OMP_NUM_THREADS=1 python -m benchmarks.ngram_estimation [--lmplz PATH] [--orders 3 5] [--repeats 5]

From text: the file is read and split into words, a vocabulary is made, the text is encoded, the model is estimated;
lmplz reads the same file and writes an ARPA file, to nowhere. CPU seconds of all threads, user and system, each run in
a process of its own, the median of the repeats; the time to import packages is not counted. Before each run memory is
touched and freed (`ready_memory`), so that neither pays for pages that a virtual machine gave back to its host.
Without lmplz, figures of an earlier run on another machine are used, and are marked.
"""

import argparse
import json
import re
import resource
import shutil
import subprocess
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.common import data_folder, new_parser, read_options, ready_memory, run_child, timed, write_results

BASELINES = {3: {"cpu_s": 1.6, "peak_mib": 287}, 5: {"cpu_s": 3.9, "peak_mib": 258}}  # another machine, another run


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def child(corpus: str, order: int) -> None:
    """Measure one estimation in this process and print it as JSON."""
    from hf_lecture_models import NGramForCausalLM, WordTokenizer
    from hf_lecture_models.models.ngram.estimation_ngram import config_for
    from hf_lecture_models.models.ngram.fitting_ngram import fit_ids
    from hf_lecture_models.tokenization.corpus import encode_corpus, read_texts
    from hf_lecture_models.tokenization.splitting import SplitTexts

    imported = peak_mib()

    def from_text():
        texts = SplitTexts(read_texts(corpus))
        tokenizer = WordTokenizer.train(texts, progress=False)
        return tokenizer, NGramForCausalLM.fit(texts, tokenizer, order=order, progress=False)

    ready_memory()
    (tokenizer, model), cpu, wall = timed(from_text)
    found = {"cpu_s": cpu, "wall_s": wall, "imported_mib": imported, "peak_mib": peak_mib()}
    encoded = encode_corpus(tokenizer, read_texts(corpus))
    config = config_for(tokenizer, order=order)
    found["from_ids_cpu_s"] = timed(lambda: fit_ids(encoded.ids, encoded.lengths, config))[1]
    with tempfile.TemporaryDirectory() as folder:
        found["save_arpa_cpu_s"] = timed(lambda: model.save_arpa(Path(folder) / "lm.arpa", tokenizer))[1]
    found["ngrams"], found["tokens"] = model.config.table_sizes, len(encoded.ids) + len(encoded.lengths)
    print(json.dumps(found))


def run_lmplz(lmplz: str, corpus: Path, order: int) -> dict:
    command = [lmplz, "-o", str(order), "-S", "2G", "-T", str(corpus.parent)]
    ready_memory()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(corpus, "rb") as source:
        result = subprocess.run(command, stdin=source, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if result.returncode:
        raise SystemExit(f"lmplz failed: {result.stderr.decode().strip().splitlines()[-1]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # lmplz itself says its peak memory, in kB.
    peak = int(re.search(rb"RSSMax:(\d+) kB", result.stderr)[1]) / 1024
    return {"cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, "peak_mib": peak}


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--lmplz", default=shutil.which("lmplz"), help="path of lmplz; else the one on the PATH")
    parser.add_argument("--orders", type=int, nargs="+", default=[3, 5])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = read_options(parser)
    if options.child:
        return child(options.child, options.orders[0])
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "train.txt"
        text = (data_folder() / "wikitext-2" / "train.txt").read_text("utf-8")
        corpus.write_text(text.replace("<unk>", "<UNKNOWN>"), "utf-8")  # lmplz refuses <unk>
        for order in options.orders:
            ours, theirs = [], []
            for _ in range(options.repeats):  # in turns: the machine's mood hits both
                ours.append(run_child("ngram_estimation", "--child", str(corpus), "--orders", str(order)))
                theirs += [run_lmplz(options.lmplz, corpus, order)] if options.lmplz else []
            found = {n: median(run[n] for run in ours) if n.endswith("_s") else ours[0][n] for n in ours[0]}
            peer = {n: median(run[n] for run in theirs) for n in theirs[0]} if theirs else BASELINES.get(order)
            ratio = peer["cpu_s"] / found["cpu_s"] if peer else None
            results[order] = {"ours": found, "lmplz": peer, "lmplz_in_this_run": bool(theirs), "speed_ratio": ratio}
            report(order, results[order])
    write_results("ngram_estimation", results)
    return None


def report(order: int, result: dict) -> None:
    ours, peer = result["ours"], result["lmplz"]
    print(f"order {order}: from text {ours['cpu_s']:.2f} CPU s, from ids {ours['from_ids_cpu_s']:.2f}, "
          f"ARPA file {ours['save_arpa_cpu_s']:.2f} more; peak {ours['peak_mib']:.0f} MiB, "
          f"of which {ours['imported_mib']:.0f} before the first text")  # fmt: skip
    if peer:
        origin = "" if result["lmplz_in_this_run"] else " (NOT of this run)"
        print(f"  lmplz{origin}: {peer['cpu_s']:.2f} CPU s, peak {peer['peak_mib']:.0f} MiB; "
              f"ours is {result['speed_ratio']:.2f}x as fast from text")  # fmt: skip


if __name__ == "__main__":
    main()
