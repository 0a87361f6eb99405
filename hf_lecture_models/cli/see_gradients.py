# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture see gradients`: the dependence of the last state on each word."""

from pathlib import Path

from hf_lecture_models.analysis.gradient_flow import UNTRAINED, measure_gradient_flow, save_gradient_flow, untrained
from hf_lecture_models.cli.io import load_side_by_side, print_json


def run(name: str, text: str, beside: list[str], with_untrained: bool, output: Path | None, json: bool) -> None:
    """Print the gradients of each model by distance, and the singular values of a step; draw both."""
    flows = {}
    for title, (model, tokenizer) in load_side_by_side([name, *beside]):
        flows[title] = measure_gradient_flow(model, tokenizer, text)
        if with_untrained:
            flows[title + UNTRAINED] = measure_gradient_flow(untrained(model), tokenizer, text)
    for title, flow in flows.items():
        norms, steps = flow.norms.tolist(), flow.step_singular_values
        if json:
            row = {"model": title, "tokens": list(flow.text.tokens), "norms": norms}
            print_json({**row, "step_singular_values": None if steps is None else steps.tolist()})
            continue
        print(f"{title}: |dh_L/du_l| by distance L - l")
        for distance, (token, norm) in enumerate(zip(reversed(flow.text.tokens), reversed(norms), strict=True)):
            print(f"{distance:5}  {norm:10.3e}  {token}")
        if steps is not None:
            low, middle, high = (steps.quantile(part).item() for part in (0.0, 0.5, 1.0))
            print(f"singular values of a step's Jacobian: {low:.2e} to {high:.2e}, median {middle:.2e}")
    if output is not None:
        save_gradient_flow(flows, output, f"“{text}”")
