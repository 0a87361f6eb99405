# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The gradient of layer 1 over that of layer L, with and without residual connections and norms (slide R:938-944).

    OMP_NUM_THREADS=1 python -m benchmarks.depth_gradients [--steps 200]

Stacks of 2 to 24 causal blocks of the lectures (attention, then a feed-forward network), untrained, in six variants:
with and without the sums, and without layer norm, with pre-LN or with post-LN. Each is a language model of words, whose
loss on eight texts of WikiText-2 gives the gradients, in float64, with two kinds of initial weights: those of
`transformer` (Glorot, whose products keep the size of their input) and those of `self_attention` (normal, 0.02). Ratios
are geometric means over the seeds; "cosine" is the mean cosine of the last states of two positions of a text. The
deepest stacks then learn these eight texts by heart for some steps: their last losses say which variants can be
trained, beside the loss of the texts' own frequencies of words, which needs no context.
"""

import math
import statistics
from collections.abc import Callable
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.common import new_parser, read_options, wikitext, write_results
from hf_lecture_models import WordTokenizer
from hf_lecture_models.lab.studies.depth_gradients import measure_depth_gradients
from hf_lecture_models.layers.causal_attention import CausalSelfAttention, causal_attention
from hf_lecture_models.layers.position_wise import PositionWise
from hf_lecture_models.layers.positions import SinusoidalPositions

WIDTH, HEADS, LENGTH, TEXTS, VOCABULARY = 64, 4, 64, 8, 2000
DEPTHS = (2, 4, 8, 12, 16, 24)
SEEDS = 3
NORMS = ("none", "pre", "post")
INITIAL: dict[str, Callable[[Tensor], Tensor]] = {
    "Glorot": nn.init.xavier_uniform_,
    "normal, 0.02": lambda weight: nn.init.normal_(weight, std=0.02),
}
RATE, WARMUP = 1e-3, 20


class Block(nn.Module):
    """Attention and feed-forward network as the variant wires them; no model of ours has such switches."""

    def __init__(self, residual: bool, norm: str):
        super().__init__()
        self.residual, self.norm = residual, norm
        self.attention = CausalSelfAttention(WIDTH, HEADS)
        self.ffn = PositionWise(WIDTH, 4 * WIDTH, nn.GELU())
        self.norms = nn.ModuleList() if norm == "none" else nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))

    def forward(self, h: Tensor) -> Tensor:
        """(batch, seq, width) to the same shape."""
        kernel = causal_attention("sdpa", h)
        return self.wired(1, self.ffn, self.wired(0, lambda x: self.attention(x, kernel)[0], h))

    def wired(self, number: int, f: Callable[[Tensor], Tensor], h: Tensor) -> Tensor:
        """Return f(h) with the sum and the norm of the variant."""
        added = f(self.norms[number](h)) if self.norm == "pre" else f(h)
        h = h + added if self.residual else added
        return self.norms[number](h) if self.norm == "post" else h


class Stack(nn.Module):
    """A language model of such blocks; the word vectors are the output matrix."""

    def __init__(self, depth: int, residual: bool, norm: str, initial: str):
        super().__init__()
        self.words, self.positions = nn.Embedding(VOCABULARY, WIDTH), SinusoidalPositions(WIDTH)
        self.blocks = nn.Sequential(*(Block(residual, norm) for _ in range(depth)))
        self.final_norm = nn.LayerNorm(WIDTH) if norm == "pre" else nn.Identity()
        for module in self.modules():
            if isinstance(module, nn.Linear):
                INITIAL[initial](module.weight)
                nn.init.zeros_(module.bias)
        nn.init.normal_(self.words.weight, std=WIDTH**-0.5 if initial == "Glorot" else 0.02)

    def state(self, ids: Tensor) -> Tensor:
        """The last state of each token, (batch, seq, width)."""
        places = torch.arange(ids.shape[1])[None]
        return self.final_norm(self.blocks(self.positions(self.words(ids), places, places[:, None])[0]))

    def loss(self, ids: Tensor) -> Tensor:
        """Mean nats per token, each from those before it."""
        logits = self.state(ids[:, :-1]) @ self.words.weight.T
        return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())


def cosine(states: Tensor) -> float:
    """Return the mean cosine of two different positions of a text, (batch, seq, width)."""
    unit = F.normalize(states, dim=-1, eps=1e-300)
    count = states.shape[1]
    return ((unit.sum(1).square().sum(-1) - count) / (count * (count - 1))).mean().item()


def ratios(depth: int, residual: bool, norm: str, initial: str, ids: Tensor) -> dict[str, float]:
    """Return the gradient of layer 1 over layer L, of states and weights, at random weights, over the seeds."""
    rows = []
    for seed in range(SEEDS):
        torch.manual_seed(seed)
        stack = Stack(depth, residual, norm, initial).double()
        found = measure_depth_gradients(stack.blocks, lambda stack=stack: stack.loss(ids))  # type: ignore[misc]
        with torch.no_grad():
            rows.append((*(one[0] / one[-1] for one in (found.states, found.weights)), cosine(stack.state(ids))))
    states, weights, cosines = zip(*rows, strict=True)
    means = (math.exp(statistics.fmean(math.log(one) for one in each)) for each in (states, weights))
    return dict(zip(("states", "weights"), means, strict=True)) | {"cosine": statistics.fmean(cosines)}


def learned(depth: int, residual: bool, norm: str, ids: Tensor, steps: int) -> dict[str, float | None]:
    """Return the loss of the first and the last step; None where it is not finite."""
    torch.manual_seed(0)
    stack, losses = Stack(depth, residual, norm, "Glorot"), []
    optimizer = torch.optim.Adam(stack.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / WARMUP))
    for _ in range(steps):
        loss = stack.loss(ids)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(stack.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    finite = [loss if math.isfinite(loss) else None for loss in losses]
    return {"first loss": finite[0], "last loss": finite[-1]}


def loss_of_frequencies(ids: Tensor) -> float:
    """Return the mean nats per token of the texts' own frequencies of words, which need no context."""
    shares = ids[:, 1:].flatten().bincount().double() / ids[:, 1:].numel()
    return -(shares[shares > 0] * shares[shares > 0].log()).sum().item()


def read_ids() -> Tensor:
    """The first words of eight paragraphs, (texts, length + 1)."""
    lines = wikitext("valid")
    tokenizer = WordTokenizer.train(lines, vocab_size=VOCABULARY - 3, progress=False)
    assert len(tokenizer) <= VOCABULARY
    long = [line for line in lines if len(line.split()) > LENGTH]
    return torch.tensor([tokenizer(line)["input_ids"][: LENGTH + 1] for line in long[:TEXTS]])


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--steps", type=int, default=200, help="of training the deepest stacks")
    arguments = read_options(parser)
    torch.set_num_threads(1)
    ids, variants = read_ids(), list(product((True, False), NORMS))
    results: dict[str, Any] = {"steps": arguments.steps, "rate": RATE, "seeds": SEEDS, "variants": []}
    results["loss of frequencies"] = loss_of_frequencies(ids)
    print(f"loss of the frequencies of words: {results['loss of frequencies']:.3f}")
    for residual, norm in variants:
        row: dict[str, Any] = {"residual": residual, "norm": norm}
        for initial in INITIAL:
            row[initial] = {str(depth): ratios(depth, residual, norm, initial, ids) for depth in DEPTHS}
            cells = (f"{one['weights']:.0e} {one['cosine']:.2f}" for one in row[initial].values())
            print(f"{'sums' if residual else 'no sums':<8}{norm:<5} {initial:<13}", *cells, sep="  ", flush=True)
        row["trained"] = learned(DEPTHS[-1], residual, norm, ids, arguments.steps)
        print(f"{'':<8}trained: {row['trained']}", flush=True)
        results["variants"].append(row)
    write_results("depth_gradients", results)


if __name__ == "__main__":
    main()
