# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Language models at the 33 k words of WikiText-2: full softmax, adaptive softmax, noise-contrastive estimation.

    OMP_NUM_THREADS=1 python -m benchmarks.large_vocabulary throughput [--steps 10]
    OMP_NUM_THREADS=1 python -m benchmarks.large_vocabulary perplexity [--seconds 180] [--model ...] [--layer ...]

`throughput`: tokens per CPU second of a training step (forward, backward, clipping, AdamW) in turns on the text itself:
an LSTM of 2 x 512, beside plain loops over `torch.nn.LSTM` with `nn.Linear` and with `nn.AdaptiveLogSoftmaxWithLoss`,
and a feed-forward model of order 5 with 512 units, beside its own full softmax; medians.

`perplexity`: each output layer trains the model with 200 units for the same CPU seconds, without evaluations; measured
is the time that each takes to the last validation perplexity of the full softmax. Each evaluation is written at once,
and a complete curve is not run again: delete benchmarks/results/large_vocabulary.json to start again.
"""

import argparse
import math
import statistics
import time
from collections.abc import Callable, Iterator
from itertools import pairwise, product
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.common import new_parser, read_options, read_results, wikitext, write_results
from hf_lecture_models import (
    FeedForwardConfig,
    FeedForwardForCausalLM,
    RecurrentConfig,
    RecurrentForCausalLM,
    WordTokenizer,
    evaluate_language_model,
)
from hf_lecture_models.tasks.language_models.causal import CausalLMRecipe, make_batches
from hf_lecture_models.trainer.optimization import Schedule, make_optimizer, parameter_groups

NAME = "large_vocabulary"
LAYERS = ("softmax", "adaptive", "noise_contrastive")
MODELS: dict[str, tuple[type, type, dict[str, Any]]] = {
    "recurrent": (RecurrentForCausalLM, RecurrentConfig, {}),
    "feed_forward": (FeedForwardForCausalLM, FeedForwardConfig, {"order": 5}),
}
DROPOUT = {"recurrent": 0.2, "feed_forward": 0.0}  # of the curves; the throughput is taken without
SHAPES = {"recurrent": "LSTM, 2 x {}", "feed_forward": "feed-forward, order 5, {} units"}
# recurrent_wikitext2.yaml's, and its dropout above: without, LSTMs with a full softmax, torch's own too, predict no
# better than the words' frequencies for hundreds of steps; after a warm-up of 50, the adaptive softmax does no better.
RECIPE = CausalLMRecipe(layout="stream", batch_size=20, sequence_length=35, learning_rate=0.003, warmup_steps=200)
EVALUATIONS, VALIDATION_TEXTS = 6, 400

Step = Callable[[dict[str, Any]], Tensor]


class Plain(nn.Module):
    """A model without this package: word vectors, `nn.LSTM`, and either of torch's output layers."""

    def __init__(self, vocab_size: int, hidden_size: int, cutoffs: list[int] | None):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, hidden_size)
        self.lstm = nn.LSTM(hidden_size, hidden_size, 2, batch_first=True)
        self.head: nn.Module = nn.Linear(hidden_size, vocab_size)
        if cutoffs is not None:
            self.head = nn.AdaptiveLogSoftmaxWithLoss(hidden_size, vocab_size, cutoffs)
        self.state: Any = None

    def forward(self, inputs: dict[str, Any]) -> Tensor:
        """The mean loss of a segment; the state goes on from the one before."""
        hidden, state = self.lstm(self.embed(inputs["input_ids"]), self.state)
        self.state = tuple(tensor.detach() for tensor in state)
        hidden, targets = hidden.flatten(0, 1), inputs["shift_labels"].flatten()
        if isinstance(self.head, nn.AdaptiveLogSoftmaxWithLoss):
            counted = targets != -100
            return self.head(hidden[counted], targets[counted]).loss
        return F.cross_entropy(self.head(hidden).float(), targets)


def ours(kind: str, tokenizer: Any, hidden_size: int, output_layer: str, dropout: float = 0.0) -> Any:
    """Return a model with fresh weights, the same at every call."""
    torch.manual_seed(0)
    model_class, config_class, fields = MODELS[kind]
    ids = {name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    shape = {"vocab_size": len(tokenizer), "hidden_size": hidden_size, "output_layer": output_layer}
    return model_class(config_class(**shape, **ids, **fields, dropout=dropout)).train()


def stepper(model: nn.Module, bf16: bool) -> Step:
    """One optimizer step as the trainer makes it, from the inputs of a batch to its loss."""
    optimizer, schedule = make_optimizer(parameter_groups(model, RECIPE), RECIPE), Schedule(RECIPE, 10**6)
    count, carried = 0, None

    def step(inputs: dict[str, Any]) -> Tensor:
        nonlocal count, carried
        schedule.apply(optimizer, count)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
            if isinstance(model, Plain):
                loss = model(inputs)
            else:
                outputs = model(**{**inputs, "past_key_values": carried}, logits_to_keep=1)
                loss, carried = outputs.loss, outputs.past_key_values.detach()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
        optimizer.zero_grad()
        count += 1
        return loss.detach()

    return step


def throughput(kind: str, tokenizer: Any, texts: list[str], steps: int, bf16: bool) -> dict[str, Any]:
    """Tokens per CPU second of each, in turns; as a ratio to torch's LSTM, or to the model's own full softmax."""
    models: dict[str, Any] = {name: ours(kind, tokenizer, 512, name) for name in LAYERS}
    for model in models.values():
        batches = make_batches(tokenizer, texts, RECIPE, model)
    cutoffs, peer = models["adaptive"].config.adaptive_cutoffs, "softmax"
    if kind == "recurrent":
        peer = "torch, softmax"
        models[peer] = Plain(len(tokenizer), 512, None)
        # torch's takes ids for ranks; those of the tokenizer are ranked but for </s>.
        models["torch, adaptive"] = Plain(len(tokenizer), 512, cutoffs)
    steppers = {name: stepper(model, bf16) for name, model in models.items()}
    seconds: dict[str, list[float]] = {name: [] for name in models}
    for _ in range(steps):
        batch = batches.next_step()[0]
        for name, step in steppers.items():
            begin = time.process_time()
            step(batch.inputs)
            seconds[name].append(time.process_time() - begin)
    # The first steps warm up.
    middle = {name: statistics.median(times[2:]) for name, times in seconds.items()}
    tokens = {name: round(RECIPE.batch_size * RECIPE.sequence_length / value) for name, value in middle.items()}
    ratios = {name: round(middle[peer] / value, 2) for name, value in middle.items()}
    return {"tokens per CPU second": tokens, f"times {peer}": ratios, "adaptive_cutoffs": cutoffs}


def training_curve(
    kind: str, tokenizer: Any, texts: list[str], held_out: list[str], output_layer: str, seconds: float
) -> Iterator[dict[str, Any]]:
    """Perplexity on held-out text at CPU seconds of training, in bf16; given after each evaluation."""
    model = ours(kind, tokenizer, 200, output_layer, DROPOUT[kind])
    batches, step = make_batches(tokenizer, texts, RECIPE, model), stepper(model, bf16=True)
    used, tokens, points = 0.0, 0, []
    for number in range(1, EVALUATIONS + 1):
        while used < seconds * number / EVALUATIONS:
            begin = time.process_time()
            batch = batches.next_step()[0]
            step(batch.inputs)
            used, tokens = used + time.process_time() - begin, tokens + batch.num_items
        model.eval()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            perplexity = evaluate_language_model(model, tokenizer, held_out, stream=True)["perplexity"]
        model.train()
        points.append({"cpu_s": round(used, 1), "tokens": tokens, "perplexity": round(perplexity, 2)})
        print(kind, output_layer, points[-1], flush=True)
        yield {"parameters": sum(p.numel() for p in model.parameters()), "points": points}


def seconds_to(perplexity: float, points: list[dict[str, float]]) -> float | None:
    """When a curve first reaches a perplexity, its logarithm read on straight lines between the points.

    >>> seconds_to(200, [{"cpu_s": 10, "perplexity": 400}, {"cpu_s": 20, "perplexity": 100}])
    15.0
    """
    if points[0]["perplexity"] <= perplexity:
        return points[0]["cpu_s"]
    for before, after in pairwise(points):
        if after["perplexity"] <= perplexity:
            fall = math.log(before["perplexity"] / after["perplexity"])
            share = math.log(before["perplexity"] / perplexity) / fall
            return round(before["cpu_s"] + share * (after["cpu_s"] - before["cpu_s"]), 1)
    return None


def compare(curves: dict[str, Any]) -> None:
    """Add to each curve its time to the full softmax's last perplexity, once that is there."""
    if "softmax" not in curves:
        return
    last = curves["softmax"]["points"][-1]
    for curve in curves.values():
        reached = seconds_to(last["perplexity"], curve["points"])
        curve["cpu_s_to_the_last_of_softmax"] = reached
        curve["times_faster"] = None if reached is None else round(last["cpu_s"] / reached, 2)


def parts(options: argparse.Namespace, done: dict[str, Any]) -> Iterator[None]:
    """Run the parts that are missing, one at a time."""
    texts, held_out = wikitext("train"), wikitext("valid")
    tokenizer = WordTokenizer.train(texts, progress=False)
    if options.what == "throughput":
        for kind, precision in product(options.model, ("float32", "bf16 autocast")):
            measured = throughput(kind, tokenizer, texts[:2000], options.steps, precision != "float32")
            done.setdefault(f"throughput, {SHAPES[kind].format(512)}", {})[precision] = measured
            print(kind, precision, measured, flush=True)
            yield
        return
    for kind, name in product(options.model, options.layer):
        curves = done.setdefault(f"perplexity, {SHAPES[kind].format(200)}, bf16 autocast", {})
        if name in curves and len(curves[name]["points"]) == EVALUATIONS:
            continue
        for curve in training_curve(kind, tokenizer, texts, held_out[:VALIDATION_TEXTS], name, options.seconds):
            curves[name] = curve
            compare(curves)
            yield


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("what", choices=("throughput", "perplexity"))
    parser.add_argument("--model", nargs="+", choices=tuple(MODELS), default=tuple(MODELS))
    parser.add_argument("--layer", nargs="+", choices=LAYERS, default=LAYERS, help="of perplexity")
    parser.add_argument("--steps", type=int, default=10, help="of throughput, the first two not counted")
    parser.add_argument("--seconds", type=float, default=180, help="CPU seconds of training of each output layer")
    options = read_options(parser)
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    results = read_results(NAME, {})
    for _ in parts(options, results):
        write_results(NAME, results)


if __name__ == "__main__":
    main()
