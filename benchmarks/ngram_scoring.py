# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Scoring WikiText-2's test text with a 5-gram, beside the kenlm module with the same tables, in turns.

    OMP_NUM_THREADS=1 python -m benchmarks.ngram_scoring [--build_binary PATH] [--repeats 5]

kenlm is given each line as a str, as its interface wants it; ours, ids as one stream, ids in padded batches of short
rows, text as one corpus, texts through `score_texts`, whose objects are all made or none of them, and
`evaluate_language_model`, which makes none, or a file that the command line's verb reads, the loading of the model
included, the imports not. Tokens per CPU second, the median of the repeats. Hash tables beside those of the model
(`layers/ngram_index.py`) exist before, as after many calls; but for the verb, which loads the model, and for a first
call, of one stream. A full distribution of the next word is one row over the vocabulary; KenLM needs a query for each
word of it.
"""

import io
import json
import math
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from statistics import median

import numpy as np
import torch

from benchmarks.common import new_parser, read_options, timed, wikitext, write_results
from benchmarks.ngram_loading import UNKNOWN
from hf_lecture_models import NGramForCausalLM, WordTokenizer
from hf_lecture_models.cli import score
from hf_lecture_models.cli.io import load_language_model
from hf_lecture_models.evaluation.language_model import evaluate_language_model
from hf_lecture_models.evaluation.scoring import score_texts
from hf_lecture_models.layers.ngram_index import INDEXES, hash_tables
from hf_lecture_models.models.ngram.counting_ngram import make_stream
from hf_lecture_models.tokenization.corpus import encode_corpus

ROWS, POSITIONS = 256, 512


def kenlm_models(arpa: Path, build_binary: str | None) -> dict:
    """KenLM's two structures on the same tables, as far as they are installed."""
    try:
        import kenlm
    except ImportError:
        print("the kenlm module is not installed: no peer in this run")
        return {}
    models = {"kenlm probing": kenlm.Model(str(arpa))}
    if build_binary:
        target = arpa.with_suffix(".trie")
        subprocess.run([build_binary, "trie", str(arpa), str(target)], check=True, capture_output=True)
        models["kenlm trie"] = kenlm.Model(str(target))
    else:
        print("build_binary is not on the PATH: no trie in this run (--build_binary PATH)")
    return models


def padded_batches(corpus, config) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Rows of one text each, ROWS at a time, padded on the right."""
    rows = [np.array([config.bos_token_id, *ids, config.eos_token_id]) for ids in corpus]
    batches = []
    for begin in range(0, len(rows), ROWS):
        part = rows[begin : begin + ROWS]
        ids = np.full((len(part), max(map(len, part))), config.pad_token_id)
        for row, content in zip(ids, part, strict=True):
            row[: len(content)] = content
        batches.append((torch.from_numpy(ids), torch.from_numpy(ids != config.pad_token_id)))
    return batches


def by_the_verb(folder: Path) -> float:
    """Return the measures that the verb `score` prints for test.txt in the model's folder."""
    with redirect_stdout(io.StringIO()) as lines, redirect_stderr(io.StringIO()):
        score.run(str(folder), [str(folder / "test.txt")], "terminated", False, False, True, 64, None)
    return json.loads(lines.getvalue().rstrip().rpartition("\n")[2])["summary"]["log_prob"]


def contestants(model, tokenizer, texts: list[str], kenlms: dict) -> dict[str, Callable[[], float]]:
    """Name -> a function that scores all texts and returns their natural log-probability."""
    corpus = encode_corpus(tokenizer, texts)
    stream = torch.from_numpy(make_stream(corpus.ids, corpus.lengths, model.config).words)[None]
    batches = padded_batches(corpus, model.config)

    def from_text() -> float:
        encoded = encode_corpus(tokenizer, texts)
        words = make_stream(encoded.ids, encoded.lengths, model.config).words
        return model.score(torch.from_numpy(words)[None]).double().sum().item()

    ours = {
        "ids, one stream": lambda: model.score(stream).double().sum().item(),
        f"ids, batches of {ROWS} rows": lambda: sum(model.score(*batch).double().sum().item() for batch in batches),
        "text": from_text,
        "texts, score_texts": lambda: sum(one.log_prob for one in score_texts(model, tokenizer, texts)),
        "texts, score_texts, no objects": lambda: score_texts(model, tokenizer, texts).log_probs.sum().item(),
        "texts, evaluate_language_model": lambda: evaluate_language_model(model, tokenizer, texts)["log_prob"],
    }
    theirs = {
        name: lambda peer=peer: sum(peer.score(text) for text in texts) * math.log(10) for name, peer in kenlms.items()
    }
    return ours | theirs


def distributions_per_second(model, tokenizer, texts: list[str], repeats: int) -> float:
    corpus = encode_corpus(tokenizer, texts)
    ids = torch.from_numpy(make_stream(corpus.ids, corpus.lengths, model.config).words)[None, :POSITIONS]
    return POSITIONS / timed(lambda: model(ids).logits, repeats)[1]


def make_index(model, function: Callable[[], float]) -> dict[str, float]:
    """Call until all orders have hash tables: CPU seconds of a first call and of making the tables, and their memory.

    The memory is that of the model's tables and the hash tables, over that of the model's alone.
    """
    trie, orders = model.trie, range(2, model.trie.order + 1)
    first = []
    for _ in range(3):
        INDEXES.clear()
        first.append(timed(function)[1])
    while not all(INDEXES[trie][n].tables for n in orders):
        function()
    tables = [table for n in orders for table in INDEXES[trie][n].tables]
    stored = sum(buffer.nbytes for buffer in trie.buffers())
    indexes = [INDEXES[trie][n] for n in orders]
    building = timed(lambda: [hash_tables(index.keys, index.slots) for index in indexes], 3)[1]
    memory = 1 + sum(table.nbytes for table in tables) / stored
    print(f"a first call, of one stream, takes {median(first):.3f} CPU s")
    print(f"all hash tables take {building:.3f} CPU s to make, and with them the model {memory:.2f} times its memory")
    return {"first_call_cpu_s": median(first), "building_cpu_s": building, "memory_ratio": memory}


def in_turn(functions, repeats: int) -> tuple[dict[str, float], dict[str, float]]:
    """Call all functions one after the other, several times: the median CPU seconds of each, and its result."""
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    results = {}
    for _ in range(repeats):
        for name, function in functions.items():
            results[name], cpu, _ = timed(function)
            seconds[name].append(cpu)
    return {name: median(taken) for name, taken in seconds.items()}, results


def report(rates: dict[str, float], perplexities: dict[str, float]) -> list[str]:
    """Print a line for each contestant; the names of the peers."""
    peers = [name for name in rates if name.startswith("kenlm")]
    for name, rate in rates.items():
        ratios = ", ".join(f"{rate / rates[peer]:.2f}x {peer}" for peer in peers if peer != name)
        print(f"{name:<28} {rate / 1e6:5.2f} M tokens/s   perplexity {perplexities[name]:.6f}   {ratios}")
    return peers


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--build_binary", default=shutil.which("build_binary"), help="KenLM's program, for its trie")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--order", type=int, default=5)
    options = read_options(parser)
    train, test = wikitext("train", UNKNOWN), wikitext("test", UNKNOWN)
    tokenizer = WordTokenizer.train(train, progress=False)
    model = NGramForCausalLM.fit(train, tokenizer, order=options.order, progress=False)
    tokens = sum(len(text.split()) + 1 for text in test)
    with tempfile.TemporaryDirectory() as folder:
        model.save_arpa(Path(folder) / "lm.arpa", tokenizer)
        functions = contestants(model, tokenizer, test, kenlm_models(Path(folder) / "lm.arpa", options.build_binary))
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        (Path(folder) / "test.txt").write_text("".join(text + "\n" for text in test), "utf-8")
        functions["text, by the verb score"] = lambda: by_the_verb(Path(folder))
        loading = timed(lambda: load_language_model(folder, None), options.repeats)[1]
        index = make_index(model, functions["ids, one stream"])
        seconds, sums = in_turn(functions, options.repeats)
    rates = {name: tokens / taken for name, taken in seconds.items()}
    peers = report(rates, {name: math.exp(-total / tokens) for name, total in sums.items()})
    rows = distributions_per_second(model, tokenizer, test, options.repeats)
    results = {"order": options.order, "tokens": tokens, "tokens_per_cpu_s": rates, "distributions_per_cpu_s": rows}
    results["verb"] = {"cpu_s": tokens / rates["text, by the verb score"], "loading_cpu_s": loading}
    print(f"the verb score takes {results['verb']['cpu_s']:.3f} CPU s, of which loading takes {loading:.3f}")
    results["index"] = index | {"first_call_tokens_per_cpu_s": tokens / index["first_call_cpu_s"]}
    results["ratios"] = {peer: rates["ids, one stream"] / rates[peer] for peer in peers}
    results["all_ratios"] = {name: {peer: rate / rates[peer] for peer in peers} for name, rate in rates.items()}
    line = f"full distributions of the next word, {model.config.vocab_size} words: {rows:,.0f} per CPU s"
    if peers:
        results["distribution_ratio"] = rows / (rates[peers[0]] / model.config.vocab_size)
        line += f", {results['distribution_ratio']:.0f}x what {peers[0]} gives by a query for each word"
    print(line)
    write_results("ngram_scoring", results)


if __name__ == "__main__":
    main()
