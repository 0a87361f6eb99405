# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The flow of gradients through time (slides R:436-477): RNN, GRU, LSTM and self-attention, before and after training.

    OMP_NUM_THREADS=1 python -m benchmarks.gradient_flow [--share 12] [--epochs 2] [--picture gradient_flow.svg]
    python -m benchmarks.gradient_flow --draw [--picture gradient_flow.svg]          # the picture, from the record

Each is one layer of 100 units, a language model of the words of the first part of WikiText-2. Measured on held-out
texts of 60 tokens: the geometric mean of |∂h_L/∂u_l| over the texts, against the distance L - l; and the singular
values of one step's Jacobian ∂s_l/∂s_{l-1}, with their median, the largest, and the share of those above 0.9. The
picture, docs/seeing_gradients.svg, has the first text's norms, and the median singular value of each rank.
"""

import tempfile
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from benchmarks.common import (
    ROOT,
    commit,
    is_committed,
    new_parser,
    read_options,
    read_results,
    refuse_stopped,
    timed,
    wikitext,
    write_results,
)
from hf_lecture_models import WordTokenizer, evaluate_language_model
from hf_lecture_models.analysis.gradient_flow import UNTRAINED, GradientFlow, measure_gradient_flow, save_gradient_flow
from hf_lecture_models.analysis.text_inputs import TextInput
from hf_lecture_models.io.recipe import load_recipe
from hf_lecture_models.tasks.core.factories import make_model
from hf_lecture_models.tasks.language_models.causal import CausalLMRecipe, train_causal_lm

HIDDEN, TOKENS, TEXTS = 100, 60, 8
DISTANCES = (0, 1, 5, 10, 20, 40, 58)  # up to the first word; at 59 stands <s>
RECURRENT = {"learning_rate": 0.003, "layout": "stream", "sequence_length": 35}
ATTENTION = {"learning_rate": 0.002, "layout": "blocks", "sequence_length": 64}
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "RNN": ("recurrent_tiny", {**RECURRENT, "model.cell_type": "elman"}),
    "GRU": ("recurrent_tiny", {**RECURRENT, "model.cell_type": "gru"}),
    "LSTM": ("recurrent_tiny", {**RECURRENT, "model.cell_type": "lstm"}),
    "self-attention": ("self_attention_tiny", {**ATTENTION, "model.max_position_embeddings": 64}),
}
COMMON = {"batch_size": 20, "accumulation_steps": 1, "warmup_steps": 20, "clip_norm": 0.25, "log_every": 50}
SHAPE = {"model.hidden_size": HIDDEN, "model.num_hidden_layers": 1}


def model_and_recipe(name: str, tokenizer: WordTokenizer, epochs: float, folder: str) -> tuple[Any, CausalLMRecipe]:
    """Return a model with random weights, and its recipe."""
    file, overrides = MODELS[name]
    settings = COMMON | SHAPE | overrides | {"epochs": epochs, "output_dir": folder}
    recipe = load_recipe(ROOT / "training" / "recipes" / f"{file}.yaml", settings, recipe_class=CausalLMRecipe)
    return make_model(AutoModelForCausalLM, recipe.model, tokenizer, recipe.seed), recipe


def measure(model: Any, tokenizer: WordTokenizer, texts: list[str]) -> dict[str, Any]:
    """Return norms by distance, and the singular values of a step's Jacobian."""
    flows = [measure_gradient_flow(model, tokenizer, text) for text in texts]
    norms = torch.stack([flow.norms.flip(0) for flow in flows]).clamp(min=1e-300).log().mean(0).exp()
    figures: dict[str, Any] = {"norms": {distance: norms[distance].item() for distance in DISTANCES}}
    figures["norm at the farthest over the nearest"] = (norms[DISTANCES[-1]] / norms[0]).item()
    if flows[0].step_singular_values is not None:
        values = torch.cat([flow.step_singular_values.flatten() for flow in flows])
        figures["step"] = {"median": values.median().item(), "above 0.9": (values > 0.9).double().mean().item()}
        figures["step"]["largest"] = values.max().item()
    return figures


def curves(flow: GradientFlow) -> dict[str, list[float] | None]:
    """Return what the picture shows of a text: the norms by position, and a step's median singular values by rank."""
    steps = flow.step_singular_values
    return {"norms": flow.norms.tolist(), "step": None if steps is None else steps.median(0).values.tolist()}


def flow_of(drawn: dict[str, Any]) -> GradientFlow:
    """Return a flow with these `curves`, without its text."""
    norms, steps = torch.tensor(drawn["norms"], dtype=torch.float64), drawn["step"]
    text = TextInput({}, ("",) * len(norms), (False,) * len(norms))
    return GradientFlow(text, norms[:, None], None if steps is None else torch.tensor([steps], dtype=torch.float64))


def draw(flows: dict[str, dict[str, Any]], path: Path) -> None:
    """Draw the `curves` of each model."""
    caption = f"Words of WikiText-2, one layer of {HIDDEN} units; a held-out text of {TOKENS} tokens"
    save_gradient_flow({name: flow_of(drawn) for name, drawn in flows.items()}, path, caption)


def held_out_texts(lines: list[str]) -> list[str]:
    """Beginnings of paragraphs, of so many words that `<s>` and they are `TOKENS`."""
    paragraphs = [line.split() for line in lines if len(line.split()) >= TOKENS and not line.strip().startswith("=")]
    return [" ".join(words[: TOKENS - 1]) for words in paragraphs[:TEXTS]]


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--share", type=int, default=12, help="train on the first 1/SHARE of the lines")
    parser.add_argument("--epochs", type=float, default=2, help="of training")
    parser.add_argument("--picture", type=Path, default=ROOT / "docs" / "seeing_gradients.svg")
    parser.add_argument("--draw", action="store_true", help="draw the picture from the record, without training")
    arguments = read_options(parser)
    if not arguments.draw:
        measure_all(arguments.share, arguments.epochs)
    if arguments.draw or is_committed(commit()):
        draw(read_results("gradient_flow")["first text"], arguments.picture)


def measure_all(share: int, epochs: float) -> None:
    """Train and measure all models, and write the record."""
    torch.set_num_threads(1)
    everything, held_out = wikitext("train"), wikitext("valid")
    texts = everything[: len(everything) // share]
    tokenizer = WordTokenizer.train(texts, vocab_size=10_000, progress=False)
    looked_at = held_out_texts(held_out)
    models, flows = {}, {}
    for name in MODELS:
        with tempfile.TemporaryDirectory() as output:
            model, recipe = model_and_recipe(name, tokenizer, epochs, output)
            fresh = measure(model.eval(), tokenizer, looked_at)
            flows[name + UNTRAINED] = curves(measure_gradient_flow(model, tokenizer, looked_at[0]))
            result, cpu_seconds, _ = timed(
                lambda model=model, recipe=recipe, output=output: train_causal_lm(
                    model, tokenizer, texts, None, output, recipe, quiet=True
                )
            )
            refuse_stopped(result)
        flows[name] = curves(measure_gradient_flow(model.eval(), tokenizer, looked_at[0]))
        perplexity = evaluate_language_model(model, tokenizer, held_out[: len(held_out) // 8], stream=True)[
            "perplexity"
        ]
        models[name] = {"untrained": fresh, "trained": measure(model, tokenizer, looked_at)} | {
            "validation_perplexity": round(perplexity, 1),
            "steps": result.step,
            "tokens": result.items,
            "cpu_seconds": round(cpu_seconds),
        }
        print(f"{name}: {models[name]}", flush=True)
    shape = {"hidden_size": HIDDEN, "tokens": TOKENS, "texts": len(looked_at)}
    write_results("gradient_flow", shape | {"models": models, "first text": flows})


if __name__ == "__main__":
    main()
