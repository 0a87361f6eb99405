# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Quantised tables of a 5-gram of WikiText-2: size of the file against test perplexity, and how far sums are from one.

    OMP_NUM_THREADS=1 python -m benchmarks.ngram_quantisation [--build_binary PATH] [--order 5] [--positions 512]

Beside KenLM's trie of the same tables, with its own bins of 8 bits (`-q 8 -b 8`) and without, where build_binary and
the kenlm module are installed.
"""

import math
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import torch
from transformers.utils.logging import disable_progress_bar

from benchmarks.common import new_parser, read_options, timed, wikitext, write_results
from benchmarks.ngram_loading import UNKNOWN
from hf_lecture_models import NGramForCausalLM, WordTokenizer
from hf_lecture_models.models.ngram.counting_ngram import make_stream
from hf_lecture_models.tokenization.corpus import encode_corpus
from hf_lecture_models.tokenization.splitting import SplitTexts

MIB = 2**20


def measure(model: Any, stream: torch.Tensor, tokens: int, positions: int) -> dict[str, float]:
    """Size on disk, perplexity, and the largest distance from one of the first distributions of the stream."""
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        size = (Path(folder) / "model.safetensors").stat().st_size
        loaded, seconds, _ = timed(lambda: NGramForCausalLM.from_pretrained(folder))
        log_prob, score_seconds, _ = timed(lambda: loaded.score(stream).double().sum().item())
        sums = loaded(stream[:, :positions]).logits.double().exp().sum(-1)
    return {
        "mib": size / MIB,
        "perplexity": math.exp(-log_prob / tokens),
        "largest_deviation_of_sums": (sums - 1).abs().max().item(),
        "load_cpu_s": seconds,
        "score_cpu_s": score_seconds,
    }


def kenlm_tries(build_binary: str, arpa: Path, texts: list[str], tokens: int) -> dict[str, dict[str, float]]:
    """Size on disk and perplexity of KenLM's tries."""
    import kenlm

    found = {}
    for name, options in {"kenlm trie": [], "kenlm trie, 8 bits": ["-q", "8", "-b", "8"]}.items():
        target = arpa.with_suffix(".trie")
        subprocess.run([build_binary, *options, "trie", str(arpa), str(target)], check=True, capture_output=True)
        peer = kenlm.Model(str(target))
        log_prob = sum(peer.score(text) for text in texts) * math.log(10)
        found[name] = {"mib": target.stat().st_size / MIB, "perplexity": math.exp(-log_prob / tokens)}
    return found


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--build_binary", default=shutil.which("build_binary"), help="KenLM's program")
    parser.add_argument("--order", type=int, default=5)
    parser.add_argument("--positions", type=int, default=512, help="how many distributions are added up")
    options = read_options(parser)
    disable_progress_bar()
    train, test = SplitTexts(wikitext("train", UNKNOWN)), wikitext("test", UNKNOWN)
    tokenizer = WordTokenizer.train(train, progress=False)
    model = NGramForCausalLM.fit(train, tokenizer, order=options.order, progress=False)
    corpus = encode_corpus(tokenizer, test)
    stream = torch.from_numpy(make_stream(corpus.ids, corpus.lengths, model.config).words)[None]
    tokens = len(corpus.ids) + len(corpus.lengths)
    rows: dict[str, dict[str, float]] = {}
    for name, one in (("float32", model), ("16 bits", model.quantise(16)), ("8 bits", model.quantise(8))):
        rows[name] = measure(one, stream, tokens, options.positions)
    if options.build_binary:
        with tempfile.TemporaryDirectory() as folder:
            model.save_arpa(Path(folder) / "lm.arpa", tokenizer)
            rows |= kenlm_tries(options.build_binary, Path(folder) / "lm.arpa", test, tokens)
    else:
        print("build_binary is not on the PATH: no trie in this run (--build_binary PATH)")
    for name, row in rows.items():
        line = f"{name:<20} {row['mib']:7.1f} MiB   perplexity {row['perplexity']:.4f}"
        if "largest_deviation_of_sums" in row:
            line += f"   sums within {row['largest_deviation_of_sums']:.1e} of one"
        print(line)
    write_results("ngram_quantisation", {"order": options.order, "tokens": tokens, "models": rows})


if __name__ == "__main__":
    main()
