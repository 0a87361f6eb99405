# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What the verbs of n-gram tools share: they read a model, change it, write it, and say what was done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transformers import AutoConfig

from hf_lecture_models.cli.io import print_json
from hf_lecture_models.loading import check_location, is_ngram_file, load_model
from hf_lecture_models.models.ngram import NGramConfig, NGramForCausalLM
from hf_lecture_models.models.ngram.saving_ngram import save_ngrams


def load_ngrams(name: str) -> tuple[NGramForCausalLM, Any]:
    """Return an n-gram model and its tokenizer: from a folder, the Hub, an ARPA file or one of KenLM's binary files.

    Raises:
        ValueError: it is another model, or damaged.
        OSError: it is not there, or cannot be read.
    """
    local_only = check_location(name)
    if not is_ngram_file(name):
        config = AutoConfig.from_pretrained(name, local_files_only=local_only)
        if not isinstance(config, NGramConfig):
            saved = ", ".join(config.architectures or [config.model_type])
            raise ValueError(
                f"{name} holds {saved}; name an n-gram model: a folder, a name on the Hub, or an ARPA file"
            )
    return load_model(name)


def save_and_report(model: NGramForCausalLM, tokenizer: Any, target: Path, json: bool, **facts: Any) -> None:
    """Write the model, and print the facts with the number of n-grams of each order: as lines, or as one JSON object.

    Facts with the value None are left out of the lines.
    """
    counts = save_ngrams(model, tokenizer, target)
    if json:
        print_json({"output": str(target), "ngrams": counts, **facts})
        return
    for name, value in facts.items():
        if value is not None:
            print(f"{name.replace('_', ' ')}: {value}")
    print(f"{target}: {', '.join(f'{count:,} {order}-grams' for order, count in enumerate(counts, start=1))}")
