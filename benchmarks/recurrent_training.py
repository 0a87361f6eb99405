# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Training steps of an LSTM language model beside the plain loop over `torch.nn.LSTM` of the same shape, in turns.

    OMP_NUM_THREADS=1 python -m benchmarks.recurrent_training [--steps 24]

Both start from the same weights, read the same segments with carried state, clip and step alike; their losses must
agree. The figure is plain's CPU seconds of one thread over ours, the median over the steps: above 1, ours is faster.
Ours runs as the trainer runs it (`logits_to_keep=1`: the loss in pieces) and with all logits returned, as a plain call
does. Then once more in a process that keeps the memory which it frees.
"""

import time
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.common import keep_freed_memory, new_parser, read_options, write_results
from hf_lecture_models import RecurrentConfig, RecurrentForCausalLM

SHAPES = {
    "WikiText-2: 2 x 200, 33 k words": {"vocab_size": 33_278, "hidden_size": 200},
    "2 x 512, 8 k words": {"vocab_size": 8_192, "hidden_size": 512},
    "2 x 512, 33 k words": {"vocab_size": 33_278, "hidden_size": 512},
}
BATCH, SEQ = 20, 35


class Plain(nn.Module):
    """Word vectors, a two-layer LSTM, a linear layer."""

    def __init__(self, vocab_size: int, hidden_size: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, hidden_size)
        self.lstm = nn.LSTM(hidden_size, hidden_size, 2, batch_first=True)
        self.head = nn.Linear(hidden_size, vocab_size)

    def forward(self, ids: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Logits (batch, seq, vocab) and the state after them."""
        hidden, state = self.lstm(self.embed(ids), state)
        return self.head(hidden), state

    def loss(self, ids: Tensor, targets: Tensor, state: Any) -> tuple[Tensor, Any]:
        """The mean loss, and the state cut from the graph."""
        logits, state = self(ids, state)
        return F.cross_entropy(logits.float().flatten(0, 1), targets.flatten()), tuple(t.detach() for t in state)


def ours_loss(model: nn.Module, ids: Tensor, targets: Tensor, cache: Any, keep: int) -> tuple[Tensor, Any]:
    outputs = model(ids, shift_labels=targets, past_key_values=cache, use_cache=True, logits_to_keep=keep)
    return outputs.loss, outputs.past_key_values.detach()


def same_weights(plain: Plain, ours: RecurrentForCausalLM) -> None:
    ours.model.embed_tokens.load_state_dict(plain.embed.state_dict())
    ours.lm_head.load_state_dict(plain.head.state_dict())
    for number, layer in enumerate(ours.model.layers):
        for name, parameter in layer.rnn.named_parameters():
            parameter.data.copy_(plain.lstm.get_parameter(name.replace("l0", f"l{number}")))


def measure(shape: dict[str, int], steps: int, bf16: bool) -> dict[str, float]:
    torch.manual_seed(0)
    plain = Plain(**shape)
    variants: dict[str, nn.Module] = {"plain": plain}
    for name in ("ours", "ours, all logits"):
        variants[name] = RecurrentForCausalLM(RecurrentConfig(**shape, num_hidden_layers=2)).train()
        same_weights(plain, variants[name])
    optimizers = {name: torch.optim.SGD(model.parameters(), lr=1.0) for name, model in variants.items()}
    text = torch.randint(shape["vocab_size"], (BATCH, steps * SEQ + 1))
    states: dict[str, Any] = dict.fromkeys(variants)
    seconds: dict[str, list[float]] = {name: [] for name in variants}
    for step in range(steps):
        ids, targets = (text[:, step * SEQ + shift :][:, :SEQ] for shift in (0, 1))
        losses = []
        for name, model in variants.items():
            begin = time.process_time()
            optimizers[name].zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
                if isinstance(model, Plain):
                    loss, states[name] = model.loss(ids, targets, states[name])
                else:
                    loss, states[name] = ours_loss(model, ids, targets, states[name], keep=int(name == "ours"))
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            optimizers[name].step()
            seconds[name].append(time.process_time() - begin)
            losses.append(loss.item())
        assert max(losses) - min(losses) < (0.05 if bf16 else 1e-3), losses
    # The first steps warm up. Each step's ratio is of one moment of the machine, the medians' would be of several.
    measured = {name: np.array(times[2:]) for name, times in seconds.items()}
    tokens = {f"{name}: tokens per CPU second": round(BATCH * SEQ / np.median(own)) for name, own in measured.items()}
    ratios = {name: float(np.median(measured["plain"] / own)) for name, own in measured.items() if name != "plain"}
    return tokens | {f"plain / {name}": round(ratio, 3) for name, ratio in ratios.items()}


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--steps", type=int, default=24)
    steps = read_options(parser).steps
    torch.set_num_threads(1)
    results = {}
    for memory in ("", ", freed memory kept"):
        if memory:
            keep_freed_memory()
        for name, shape in SHAPES.items():
            for precision in ("float32", "bf16 autocast"):
                key = f"{name}, {precision}{memory}"
                results[key] = measure(shape, steps, precision != "float32")
                print(f"{key}: {results[key]}", flush=True)
    write_results("recurrent_training", results)


if __name__ == "__main__":
    main()
