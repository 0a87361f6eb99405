# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Train a causal language model by a recipe.

    accelerate launch training/train_causal_lm.py RECIPE.yaml [--name value ...] [--resume]
    python training/train_causal_lm.py training/recipes/recurrent_tiny.yaml --output_dir tiny --model.cell_type gru
    ACCELERATE_USE_CPU=true torchrun --nproc_per_node 2 training/train_causal_lm.py RECIPE.yaml --num_processes 2

Killed at any moment, the same command with --resume goes on to the same weights.
"""

import argparse
import difflib
import inspect
import logging
import os
import signal
import sys
import typing
from typing import Any

import torch
from huggingface_hub.errors import StrictDataclassError
from transformers import CONFIG_MAPPING, MODEL_FOR_CAUSAL_LM_MAPPING, AutoConfig, AutoModelForCausalLM

import hf_lecture_models  # noqa: F401  (registers the models)
from hf_lecture_models.tokenization.bpe import BpeTokenizer
from hf_lecture_models.tokenization.byte import ByteTokenizer
from hf_lecture_models.tokenization.char import CharTokenizer
from hf_lecture_models.tokenization.word import WordTokenizer
from hf_lecture_models.trainer.data import training_texts, validation_texts
from hf_lecture_models.trainer.language_model import CausalLMRecipe, train_causal_lm
from hf_lecture_models.trainer.loop import TrainingResult
from hf_lecture_models.trainer.recipe import coerced, describe_fields, load_recipe, parse_overrides

TOKENIZERS: dict[str, Any] = {
    "word": WordTokenizer,
    "bpe": BpeTokenizer,
    "char": CharTokenizer,
    "byte": ByteTokenizer,
}


def make_tokenizer(recipe: CausalLMRecipe, texts: Any) -> Any:
    """Train the recipe's tokenizer on the training texts."""
    options = dict(recipe.tokenizer)
    kind = options.pop("type", "word")
    if kind not in list(TOKENIZERS):
        raise ValueError(f"recipe: tokenizer.type must be one of {', '.join(TOKENIZERS)}, not {kind!r}")
    train = TOKENIZERS[kind].train
    kinds = typing.get_type_hints(train)
    known = [name for name in inspect.signature(train).parameters if name not in ("texts", "progress", "kwargs")]
    for name in options:
        if name not in known:
            raise ValueError(f"recipe: no field tokenizer.{name}; type {kind} has {', '.join(known)}")
        options[name] = coerced(options[name], kinds[name], f"tokenizer.{name}")
    return train((row[recipe.text_column] for row in texts) if recipe.streaming else texts, **options)


def make_model(recipe: CausalLMRecipe, tokenizer: Any) -> Any:
    """Build the recipe's model with fresh weights, its vocabulary and special tokens those of the tokenizer."""
    fields = dict(recipe.model)
    for name in ("bos_token_id", "eos_token_id", "pad_token_id"):
        fields.setdefault(name, getattr(tokenizer, name))
    fields.setdefault("vocab_size", len(tokenizer))
    if "model_type" not in fields:
        raise ValueError("recipe: model needs a model_type, for example lecture_recurrent")
    refuse_unknown_model(str(fields["model_type"]))
    torch.manual_seed(recipe.seed)
    try:
        return AutoModelForCausalLM.from_config(AutoConfig.for_model(**fields))
    except (StrictDataclassError, TypeError, ArithmeticError, RuntimeError, MemoryError) as error:
        raise ValueError(f"recipe: model cannot be built: {' '.join(str(error).split())}") from error


def refuse_unknown_model(model_type: str) -> None:
    """Raise ValueError, with the nearest name and the lectures' own, where there is no such causal language model."""
    names = [name for name, config in CONFIG_MAPPING.items() if config in MODEL_FOR_CAUSAL_LM_MAPPING]
    if model_type not in names:
        near = difflib.get_close_matches(model_type, names, n=1)
        raise ValueError(
            f"recipe: no causal language model has model.model_type {model_type!r}; "
            + (f"did you mean {near[0]}? " if near else "")
            + f"The lectures' own: {', '.join(name for name in names if name.startswith('lecture_'))}"
        )


def main(arguments: list[str]) -> TrainingResult:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=describe_fields(CausalLMRecipe),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("recipe", metavar="RECIPE.yaml")
    parser.add_argument("--resume", action="store_true", help="go on from the newest checkpoint in output_dir")
    options, rest = parser.parse_known_args(arguments)
    recipe = load_recipe(options.recipe, parse_overrides(rest), recipe_class=CausalLMRecipe)
    texts, held_out = training_texts(recipe), validation_texts(recipe)
    tokenizer = make_tokenizer(recipe, texts)
    model = make_model(recipe, tokenizer)
    return train_causal_lm(model, tokenizer, texts, held_out, recipe.output_dir, recipe, resume=options.resume)


def closing_line(result: TrainingResult) -> str:
    """How the run ended, for a person."""
    if result.stopped.startswith("SIG"):
        return f"stopped by {result.stopped} at step {result.step}; the same command with --resume continues"
    early = ", stopped early (early_stopping_patience)" if result.stopped else ""
    best = "" if result.best_metric is None else f", best validation {result.metric_name} {result.best_metric:.4g}"
    return f"{result.step} steps{early}, {result.tokens_per_second:,.0f} tokens/s{best}: {result.folder}"


def command(arguments: list[str]) -> None:
    """Train, say how it ended, and turn what the user can mend into one line and an exit status."""
    try:
        result = main(arguments)
    except (ValueError, OSError, FloatingPointError, ImportError, torch.OutOfMemoryError) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    if os.environ.get("RANK", "0") == "0":
        print(closing_line(result))
    if result.stopped.startswith("SIG"):
        sys.exit(128 + signal.Signals[result.stopped])


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    command(sys.argv[1:])
