# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Loading a saved 5-gram of WikiText-2 beside KenLM's binary file: seconds and memory, in processes of their own.

    OMP_NUM_THREADS=1 python -m benchmarks.ngram_loading [--build_binary PATH] [--order 5] [--repeats 5]

Imports are done before. Both map their files. Memory is the addition by loading, in MiB: all resident memory, and the
part of it without a file, which the system cannot drop when memory is short. "After" is after scoring one sentence.
Medians of the repeats; the files are in the system's cache.
"""

import argparse
import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from statistics import median

from transformers.utils.logging import disable_progress_bar

from benchmarks.common import new_parser, read_options, run_child, timed, wikitext, write_results

SENTENCE = "the game was released in Japan"
UNKNOWN = "<UNKNOWN>"
"""The spelling of unknown words: KenLM refuses <unk> in a training text."""


def memory() -> tuple[float, float]:
    """Return MiB of this process: resident, and the part of it without a file."""
    lines = dict(line.split(":") for line in Path("/proc/self/status").read_text("utf-8").splitlines())
    return int(lines["VmRSS"].split()[0]) / 1024, int(lines["RssAnon"].split()[0]) / 1024


def child(path: str) -> None:
    """Load the model at a path, and print time and memory as JSON."""
    if Path(path).is_dir():
        import torch

        from hf_lecture_models import NGramForCausalLM, WordTokenizer

        tokenizer = WordTokenizer.from_pretrained(path)
        ids = torch.tensor([[tokenizer.bos_token_id, *tokenizer(SENTENCE).input_ids, tokenizer.eos_token_id]])
        before = memory()
        model, cpu, wall = timed(lambda: NGramForCausalLM.from_pretrained(path))
        loaded = memory()
        model.score(ids)
    else:
        import kenlm

        before = memory()
        model, cpu, wall = timed(lambda: kenlm.Model(path))
        loaded = memory()
        model.score(SENTENCE)
    found = {"cpu_s": cpu, "wall_s": wall}
    for name, now in (("loaded", loaded), ("after", memory())):
        found |= {f"{name}_mib": now[0] - before[0], f"{name}_mib_without_a_file": now[1] - before[1]}
    print(json.dumps(found))


def save_models(folder: Path, order: int, build_binary: str | None) -> dict[str, Path]:
    """Save the same model in all forms, by name."""
    from hf_lecture_models import NGramForCausalLM, WordTokenizer
    from hf_lecture_models.tokenization.splitting import SplitTexts

    texts = SplitTexts(wikitext("train", UNKNOWN))
    tokenizer = WordTokenizer.train(texts, progress=False)
    model = NGramForCausalLM.fit(texts, tokenizer, order=order, progress=False)
    paths = {"ours": folder / "ours", "ours, 8 bits": folder / "ours8"}
    for path, one in zip(paths.values(), (model, model.quantise(8)), strict=True):
        one.save_pretrained(path)
        tokenizer.save_pretrained(path)
    if build_binary is None:
        print("build_binary is not on the PATH: no peer in this run (--build_binary PATH)")
        return paths
    model.save_arpa(folder / "lm.arpa", tokenizer)
    for kind in ("probing", "trie"):
        paths[f"kenlm {kind}"] = folder / f"lm.{kind}"
        command = [build_binary, kind, str(folder / "lm.arpa"), str(paths[f"kenlm {kind}"])]
        subprocess.run(command, check=True, capture_output=True)
    return paths


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--build_binary", default=shutil.which("build_binary"), help="KenLM's program")
    parser.add_argument("--order", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = read_options(parser)
    disable_progress_bar()
    if options.child:
        return child(options.child)
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        paths = save_models(Path(folder), options.order, options.build_binary)
        runs: dict[str, list[dict[str, float]]] = {name: [] for name in paths}
        for _ in range(options.repeats):
            for name, path in paths.items():
                runs[name].append(run_child("ngram_loading", "--child", str(path)))
        for name, taken in runs.items():
            results[name] = {key: median(run[key] for run in taken) for key in taken[0]}
            row = results[name]
            print(
                f"{name:<14} {row['cpu_s'] * 1000:6.1f} CPU ms, {row['loaded_mib']:6.1f} MiB, of which "
                f"{row['loaded_mib_without_a_file']:5.1f} without a file; after a sentence {row['after_mib']:6.1f}"
            )
    write_results("ngram_loading", {"order": options.order, "models": results})
    return None


if __name__ == "__main__":
    main()
