# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Perplexity of saved models with efficient attention as they are, and with the output of attention multiplied by 0.

    OMP_NUM_THREADS=1 python -m benchmarks.efficient_ablation FOLDER ...

A model may not use its attention at all: Reformer's published language model is said to be better without its hashing
(transformers issue 16972). So each block's attention is switched off alone, and then all of them. Language models read
WikiText-2's test text as one stream; masked ones predict the masked tokens of their own recipe.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer

from benchmarks.common import new_parser, read_options, training_record, wikitext, write_results
from hf_lecture_models import evaluate_language_model
from hf_lecture_models.tasks.language_models.masked import MaskedLM, MaskedLMRecipe


@contextmanager
def without_attention(model: Any, blocks: Collection[int]) -> Iterator[None]:
    """Within it, these blocks add nothing from other tokens: the output of their attention is multiplied by 0."""

    def silence(module: Any, arguments: Any, output: tuple[Tensor, Any]) -> tuple[Tensor, Any]:
        return output[0] * 0, output[1]

    handles = [model.base_model.layers[block].self_attn.register_forward_hook(silence) for block in blocks]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def perplexity(model: Any, tokenizer: Any, texts: list[str], recipe: MaskedLMRecipe | None) -> float:
    """Return the perplexity of the texts; of their masked tokens, where there is the recipe of a masked model."""
    if recipe is None:
        return evaluate_language_model(model, tokenizer, texts, True, batch_size=16)["perplexity"]
    task = MaskedLM()
    return task.measure(model, tokenizer, task.encode(model, tokenizer, texts, recipe), recipe)["masked_perplexity"]


def ablations(model: Any, tokenizer: Any, texts: list[str], recipe: MaskedLMRecipe | None = None) -> dict[str, float]:
    """Return the perplexity as it is, without the attention of each block alone, and without all."""
    blocks = range(len(model.base_model.layers))
    switched_off = {"as it is": (), **{f"without block {block}": (block,) for block in blocks}, "without any": blocks}
    measured = {}
    for name, chosen in switched_off.items():
        with without_attention(model, chosen):
            measured[name] = round(perplexity(model, tokenizer, texts, recipe), 2)
    return measured


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("folders", type=Path, nargs="+", help="saved models")
    parser.add_argument("--lines", type=int, default=1200, help="of WikiText-2's test.txt, from its beginning")
    arguments = read_options(parser)
    texts = wikitext("test")[: arguments.lines]
    results: dict[str, Any] = {"lines": len(texts), "perplexity": {}}
    for folder in arguments.folders:
        masked = AutoConfig.from_pretrained(folder).architectures[0].endswith("ForMaskedLM")
        model = (AutoModelForMaskedLM if masked else AutoModelForCausalLM).from_pretrained(folder)
        recipe = None
        if masked:
            recipe = MaskedLMRecipe(**training_record(folder)["recipe"])
        measured = ablations(model, AutoTokenizer.from_pretrained(folder), texts, recipe)
        kind = model.config.attention_kind
        print(
            f"{folder.name} ({kind}): " + ", ".join(f"{name} {value}" for name, value in measured.items()), flush=True
        )
        results["perplexity"][folder.name] = {"attention_kind": kind, **measured}
    write_results("efficient_ablation", results)


if __name__ == "__main__":
    main()
