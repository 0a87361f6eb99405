# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""KenLM's binary files of a 5-gram of WikiText-2, read and written without KenLM: equality, memory, speed.

    OMP_NUM_THREADS=1 python -m benchmarks.kenlm_files [--build_binary PATH] [--order 5] [--repeats 3]

Each file is loaded in a process of its own, imports done before. Memory is the addition by loading: the peak, without
and with the file's pages, which KenLM maps and the system can drop. Scoring is of the test text: ours, ids as one
stream; the kenlm module, each line as a str. Differences are those from `full_scores`, log10. Medians of the repeats.

Each file is also written by this package, from a loaded folder and from the ARPA file that `build_binary` reads, in a
process of its own; its bytes must be build_binary's. Ours are the CPU seconds of writing, build_binary's those of its
whole process. Memory is the peak of the writing process above what it had before it loaded the folder, as a multiple of
the tables.
"""

import argparse
import json
import math
import resource
import shutil
import subprocess
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from transformers import AutoTokenizer

from benchmarks.common import new_parser, read_options, run_child, timed, wikitext, write_results
from benchmarks.ngram_loading import UNKNOWN, memory
from benchmarks.training_steps import largest_kib
from hf_lecture_models import NGramForCausalLM, WordTokenizer
from hf_lecture_models.models.ngram.counting_ngram import make_stream
from hf_lecture_models.tokenization.corpus import encode_corpus

KINDS = {
    "probing": ["probing"],
    "trie": ["trie"],
    "trie, quantised": ["-q", "8", "-b", "8", "trie"],
    "trie, array-compressed": ["-a", "64", "trie"],
    "trie, both": ["-q", "8", "-b", "8", "-a", "64", "trie"],
}
READ = ("probing", "trie")  # written from the ARPA file too
_TRIE, _BITS = {"kenlm_type": "trie"}, {"quantise_probs": 8, "quantise_backoffs": 8}
LAYOUTS: dict[str, dict[str, Any]] = {
    "probing": {},
    "trie": _TRIE,
    "trie, quantised": _TRIE | _BITS,
    "trie, array-compressed": _TRIE | {"array_compress": 64},
    "trie, both": _TRIE | _BITS | {"array_compress": 64},
}


def child(path: str) -> None:
    """Load the file, score the test text, and print figures as JSON."""
    import kenlm

    test = wikitext("test", UNKNOWN)
    before = memory()[0]
    (model, tokenizer), cpu, _ = timed(lambda: NGramForCausalLM.from_kenlm(path))
    found = {"load_cpu_s": cpu, "peak_mib": largest_kib() / 1024 - before, "kept_mib": memory()[0] - before}
    peer, found["kenlm_load_cpu_s"], _ = timed(lambda: kenlm.Model(path))
    corpus = encode_corpus(tokenizer, test)
    words = make_stream(corpus.ids, corpus.lengths, model.config)
    stream = torch.from_numpy(words.words)[None]
    scores, found["score_cpu_s"], _ = timed(lambda: model.score(stream), 3)
    _, found["kenlm_score_cpu_s"], _ = timed(lambda: [peer.score(text) for text in test], 3)
    ours = scores[0].double().numpy()[words.places > 0] / math.log(10)
    theirs = np.array([log10 for text in test for log10, _, _ in peer.full_scores(text)])
    found["largest_difference"] = float(np.abs(ours - theirs).max())
    found["tokens"], found["perplexity"] = len(ours), float(10 ** -ours.mean())
    print(json.dumps(found))


def writing_child(folder: str, arpa: str, path: str, layout: dict[str, Any]) -> None:
    """Write the file from the folder, and again from the ARPA file; print figures as JSON."""
    NGramForCausalLM.save_kenlm  # noqa: B018 (its module is imported at first use)
    before = largest_kib()
    model, tokenizer = NGramForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    _, cpu, _ = timed(lambda: model.save_kenlm(path, tokenizer, **layout))
    found = {"write_cpu_s": cpu, "peak_ratio": 1024 * (largest_kib() - before) / nbytes(model)}
    written = Path(path).read_bytes()
    if arpa:
        own, found["read_arpa_cpu_s"], _ = timed(lambda: NGramForCausalLM.from_arpa(arpa))
        own[0].save_kenlm(path, own[1], **layout)
        if Path(path).read_bytes() != written:
            raise SystemExit("the files from the folder and from the ARPA file differ")
    print(json.dumps(found))


def nbytes(model: NGramForCausalLM) -> int:
    return sum(buffer.nbytes for buffer in model.buffers())


def child_cpu() -> float:
    """CPU seconds of all ended child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def build(program: str, arguments: list[str], arpa: Path, path: Path) -> float:
    """Write the file with KenLM's program; return its CPU seconds."""
    path.unlink(missing_ok=True)
    before = child_cpu()
    subprocess.run([program, *arguments, str(arpa), str(path)], check=True, capture_output=True)
    return child_cpu() - before


def measure_writing(name: str, options: argparse.Namespace, folder: Path, path: Path) -> dict[str, float]:
    """Return how fast the file is written, here and by build_binary, and compare the bytes."""
    arpa, own = folder / "lm.arpa", folder / "own.bin"
    built = [build(options.build_binary, KINDS[name], arpa, path) for _ in range(options.repeats)]
    read = str(arpa) if name in READ else ""
    arguments = ("--writing", str(folder / "model"), read, str(own), json.dumps(LAYOUTS[name]))
    runs = [run_child("kenlm_files", *arguments) for _ in range(options.repeats)]
    if own.read_bytes() != path.read_bytes():
        raise SystemExit(f"{name}: the file differs from build_binary's")
    found = {key: median(run[key] for run in runs) for key in runs[0]}
    ratios = [cpu / run["write_cpu_s"] for cpu, run in zip(built, runs, strict=True)]
    print(f"{name}: written in {found['write_cpu_s']:.2f} CPU s, build_binary {median(built):.2f}; the same bytes")
    found |= {"build_binary_cpu_s": median(built), "write_ratio": median(ratios)}
    if read:
        pairs = zip(built, runs, strict=True)
        found["ratio_from_arpa"] = median(cpu / (run["write_cpu_s"] + run["read_arpa_cpu_s"]) for cpu, run in pairs)
    return found


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--build_binary", default=shutil.which("build_binary"), help="KenLM's program")
    parser.add_argument("--order", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--writing", nargs=4, help=argparse.SUPPRESS)
    options = read_options(parser)
    if options.child:
        child(options.child)
        return
    if options.writing:
        *paths, layout = options.writing
        writing_child(*paths, json.loads(layout))
        return
    if options.build_binary is None:
        raise SystemExit("build_binary is not on the PATH; give --build_binary PATH")
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        arpa, path = Path(folder, "lm.arpa"), Path(folder, "lm.bin")
        train = wikitext("train", UNKNOWN)
        tokenizer = WordTokenizer.train(train, progress=False)
        model = NGramForCausalLM.fit(train, tokenizer, order=options.order, progress=False)
        model.save_arpa(arpa, tokenizer)
        for part in (model, tokenizer):
            part.save_pretrained(Path(folder, "model"))
        for name in KINDS:
            writing = measure_writing(name, options, Path(folder), path)
            runs = [run_child("kenlm_files", "--child", str(path)) for _ in range(options.repeats)]
            row = {key: median(run[key] for run in runs) for key in runs[0]}
            row |= writing | {"file_mib": path.stat().st_size / 2**20}
            row |= {"speed_ratio": median(run["kenlm_score_cpu_s"] / run["score_cpu_s"] for run in runs)}
            results[name] = row
            print(
                f"{name:<23} {row['file_mib']:6.1f} MiB, loaded in {row['load_cpu_s']:.2f} CPU s with a peak of "
                f"{row['peak_mib']:.0f} MiB, {row['kept_mib']:.0f} kept; scores {row['speed_ratio']:.2f}x as fast as "
                f"kenlm, {row['largest_difference']:.1e} from it; perplexity {row['perplexity']:.2f}"
            )
    write_results("kenlm_files", {"order": options.order, "files": results})


if __name__ == "__main__":
    main()
