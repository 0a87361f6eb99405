# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""KenLM's binary files of a 5-gram of WikiText-2, read without KenLM: equality, loading, memory, speed.

    OMP_NUM_THREADS=1 python -m benchmarks.kenlm_files [--build_binary PATH] [--order 5] [--repeats 3]

Each file is loaded in a process of its own, imports done before. Memory is the addition by loading: the peak, without
and with the file's pages, which KenLM maps and the system can drop. Scoring is of the test text: ours, ids as one
stream; the kenlm module, each line as a str. Differences are those from `full_scores`, log10. Medians of the repeats.
"""

import argparse
import json
import math
import shutil
import subprocess
import tempfile
from pathlib import Path
from statistics import median

import numpy as np
import torch

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


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--build_binary", default=shutil.which("build_binary"), help="KenLM's program")
    parser.add_argument("--order", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = read_options(parser)
    if options.child:
        child(options.child)
        return
    if options.build_binary is None:
        raise SystemExit("build_binary is not on the PATH; give --build_binary PATH")
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        arpa = Path(folder, "lm.arpa")
        train = wikitext("train", UNKNOWN)
        tokenizer = WordTokenizer.train(train, progress=False)
        NGramForCausalLM.fit(train, tokenizer, order=options.order, progress=False).save_arpa(arpa, tokenizer)
        for name, arguments in KINDS.items():
            path = Path(folder, "lm.bin")
            path.unlink(missing_ok=True)
            subprocess.run([options.build_binary, *arguments, str(arpa), str(path)], check=True, capture_output=True)
            runs = [run_child("kenlm_files", "--child", str(path)) for _ in range(options.repeats)]
            row = {key: median(run[key] for run in runs) for key in runs[0]}
            row |= {"file_mib": path.stat().st_size / 2**20}
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
