# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Building small models, and measuring predictions: milliseconds beside transformers, scikit-learn and scipy.

    OMP_NUM_THREADS=1 python -m benchmarks.small_costs [--repeats 41] [--rows 1000]

A model is built from its configuration, with random weights, in turns with a peer: transformers' model of equal shape;
for the LSTM, which transformers lacks, a `PreTrainedModel` written here of the same modules of torch. Measures are
computed of as many rows as a task of GLUE has: the first call, with the import of the function, in a process of its own
that has imported torch and transformers, and the median of later calls. CPU time of one thread.
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn
from transformers import (
    BertConfig,
    BertForMaskedLM,
    GenerationMixin,
    GPT2Config,
    GPT2LMHeadModel,
    MarianConfig,
    MarianMTModel,
    PreTrainedModel,
)

import hf_lecture_models as ours
from benchmarks.common import new_parser, read_options, write_results
from benchmarks.training_steps import clock, note, ratio

VOCABULARY, WIDTH, LAYERS, HEADS, POSITIONS = 1_000, 64, 2, 4, 128
COMMON = {"vocab_size": VOCABULARY, "hidden_size": WIDTH, "num_hidden_layers": LAYERS}
ATTENTION = COMMON | {"num_attention_heads": HEADS, "max_position_embeddings": POSITIONS}


class PlainLSTM(PreTrainedModel):
    """Word vectors and LSTMs, with the initial weights of transformers and torch."""

    config: ours.RecurrentConfig

    def __init__(self, config: Any):
        super().__init__(config)
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        width = config.hidden_size
        self.layers = nn.ModuleList(nn.LSTM(width, width, batch_first=True) for _ in range(config.num_hidden_layers))
        self.post_init()


class PlainLSTMForCausalLM(PreTrainedModel, GenerationMixin):
    """An output layer above them."""

    config: ours.RecurrentConfig

    def __init__(self, config: Any):
        super().__init__(config)
        self.model = PlainLSTM(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size)
        self.post_init()


def builders() -> dict[str, dict[str, Callable[[], Any]]]:
    """Return for each architecture a function that builds the peer's model, and one that builds ours."""
    gpt2 = GPT2Config(
        vocab_size=VOCABULARY,
        n_positions=POSITIONS,
        n_embd=WIDTH,
        n_layer=LAYERS,
        n_head=HEADS,
        bos_token_id=0,
        eos_token_id=0,
    )
    sides: dict[str, int] = {}
    for side in ("encoder", "decoder"):
        sides |= {f"{side}_layers": LAYERS, f"{side}_attention_heads": HEADS, f"{side}_ffn_dim": 4 * WIDTH}
    ids = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0, "forced_eos_token_id": 1}
    marian = MarianConfig(vocab_size=VOCABULARY, d_model=WIDTH, max_position_embeddings=POSITIONS, **sides, **ids)
    bert = BertConfig(**ATTENTION, intermediate_size=4 * WIDTH)
    recurrent, gpt1 = ours.RecurrentConfig(**COMMON), ours.Gpt1Config(**ATTENTION)
    transformer = ours.LectureTransformerConfig(
        **COMMON, num_attention_heads=HEADS, intermediate_size=4 * WIDTH, max_position_embeddings=POSITIONS
    )
    own_bert = ours.LectureBertConfig(**ATTENTION, intermediate_size=4 * WIDTH)
    return {
        "lstm": {"peer": lambda: PlainLSTMForCausalLM(recurrent), "ours": lambda: ours.RecurrentForCausalLM(recurrent)},
        "gpt1": {"peer": lambda: GPT2LMHeadModel(gpt2), "ours": lambda: ours.Gpt1ForCausalLM(gpt1)},
        "bert": {"peer": lambda: BertForMaskedLM(bert), "ours": lambda: ours.LectureBertForMaskedLM(own_bert)},
        "transformer": {
            "peer": lambda: MarianMTModel(marian),
            "ours": lambda: ours.LectureTransformerForConditionalGeneration(transformer),
        },
    }


def building(sides: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Return the milliseconds of each side, and the ratio of ours to the peer's."""
    taken: dict[str, list[float]] = {side: [] for side in sides}
    for _ in range(1 + repeats):
        for side, build in sides.items():
            begin = clock("cpu")
            build()
            taken[side].append(clock("cpu") - begin)
    found = {f"{side}: ms": round(1000 * statistics.median(times[1:]), 3) for side, times in taken.items()}
    return found | {"ours / peer": ratio(taken["ours"][1:], taken["peer"][1:])}


IMPORTS = {
    "accuracy": ("sklearn.metrics:accuracy_score", "hf_lecture_models.tasks.metrics:accuracy"),
    "f1": ("sklearn.metrics:f1_score", "hf_lecture_models.tasks.metrics:f1"),
    "matthews_correlation": (
        "sklearn.metrics:matthews_corrcoef",
        "hf_lecture_models.tasks.metrics:matthews_correlation",
    ),
    "pearson": ("scipy.stats:pearsonr", "hf_lecture_models.tasks.metrics:pearson"),
    "spearmanr": ("scipy.stats:spearmanr", "hf_lecture_models.tasks.metrics:spearmanr"),
    "by class": (
        "sklearn.metrics:precision_recall_fscore_support",
        "hf_lecture_models.tasks.classification.measures:measures_by_class",
    ),
}
"""Measure -> where the peer's function is, and ours."""


def calls(name: str, where: str, rows: int, repeats: int) -> dict[str, float]:
    """Return the milliseconds of the first call in this process, its import included, and of later ones."""
    generator, numbers = np.random.default_rng(0), name in ("pearson", "spearmanr")
    sides = [generator.normal(size=rows) if numbers else generator.integers(0, 2, rows) for _ in range(2)]
    arguments: list[Any] = [side.tolist() for side in sides]
    if where.endswith("measures_by_class"):
        arguments.append(["no", "yes"])
    module, _, function = where.partition(":")
    times = []
    for _ in range(1 + repeats):
        begin = time.process_time()
        getattr(__import__(module, fromlist=[function]), function)(*arguments)
        times.append(1000 * (time.process_time() - begin))
    return {"first": round(times[0], 3), "later": round(statistics.median(times[1:]), 4)}


def in_own_process(*arguments: Any) -> dict[str, float]:
    """Return `calls(*arguments)` of a new process, which has imported this module, torch and transformers."""
    code = f"from benchmarks.small_costs import calls; print(*calls(*{arguments!r}).values())"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True).stdout
    return dict(zip(("first", "later"), map(float, printed.split()), strict=True))


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--repeats", type=int, default=41)
    parser.add_argument("--rows", type=int, default=1_000)
    options = read_options(parser)
    torch.set_num_threads(1)
    results: dict[str, Any] = {"shape": ATTENTION | {"repeats": options.repeats, "rows": options.rows}}
    for name, sides in builders().items():
        note(results, f"building, {name}", building(sides, options.repeats))
    for name, (peer, own) in IMPORTS.items():
        both = {side: in_own_process(name, where, options.rows, 200) for side, where in (("peer", peer), ("ours", own))}
        row = {f"{side}, {call} call: ms": both[side][call] for side in both for call in ("first", "later")}
        note(results, f"measure, {name}", row)
    write_results("small_costs", results)


if __name__ == "__main__":
    main()
