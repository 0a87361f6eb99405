# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Trained language models on WikiText-2: test perplexity and bits per byte, with the curve of their training.

    python -m benchmarks.language_models NAME FOLDER        # FOLDER as training/train_causal_lm.py leaves it

Protocol: one stream, each line a text that ends in `</s>`, blank lines included, state and context carried (the
published protocol of WikiText-2 at the level of words).
"""

from pathlib import Path
from typing import Any

from transformers import AutoModelForCausalLM, AutoTokenizer

from benchmarks.common import (
    check_trained_on_committed_code,
    new_parser,
    read_options,
    timed,
    training_record,
    wikitext,
    write_results,
)
from hf_lecture_models import evaluate_language_model


def validation_curve(folder: Path) -> list[dict[str, Any]]:
    """Step, epoch, validation perplexity and bits per byte of each evaluation; [] where nothing was recorded."""
    history = training_record(folder).get("history", ())
    keys = ("step", "epoch", "validation_perplexity", "validation_word_perplexity", "validation_bits_per_byte")
    return [{key: row[key] for key in keys} for row in history if "validation_perplexity" in row]


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("name", help="of the result: results/NAME.json")
    parser.add_argument("folder", type=Path)
    arguments = read_options(parser)
    if not arguments.dirty:
        check_trained_on_committed_code(arguments.folder)
    model = AutoModelForCausalLM.from_pretrained(arguments.folder)
    tokenizer = AutoTokenizer.from_pretrained(arguments.folder)
    measured: dict[str, Any] = {"parameters": sum(p.numel() for p in model.parameters())}
    for split in ("valid", "test"):
        texts = wikitext(split)
        figures, cpu_seconds, _ = timed(lambda: evaluate_language_model(model, tokenizer, texts, stream=True))  # noqa: B023
        measured[split] = figures | {"cpu_seconds": cpu_seconds}
        print(
            f"{split}: perplexity {figures['perplexity']:.2f}, {figures['bits_per_byte']:.4f} bits per byte, "
            f"{figures['tokens'] / cpu_seconds:,.0f} tokens per CPU second"
        )
    measured["validation_curve"] = validation_curve(arguments.folder)
    if training := training_record(arguments.folder):
        measured["training"] = {k: v for k, v in training.items() if not isinstance(v, list | dict)}
    write_results(arguments.name, measured)


if __name__ == "__main__":
    main()
