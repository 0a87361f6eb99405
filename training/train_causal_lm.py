# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Train a causal language model by a recipe.

    accelerate launch training/train_causal_lm.py RECIPE.yaml [--name value ...] [--resume]
    python training/train_causal_lm.py training/recipes/recurrent_tiny.yaml --output_dir tiny --model.cell_type gru
    ACCELERATE_USE_CPU=true torchrun --nproc_per_node 2 training/train_causal_lm.py RECIPE.yaml --num_processes 2

Killed at any moment, the same command with --resume goes on to the same weights.
"""

import argparse
import inspect
import logging
import signal
import sys
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM

import hf_lecture_models  # noqa: F401  (registers the models)
from hf_lecture_models.tokenization.byte import ByteTokenizer
from hf_lecture_models.tokenization.word import WordTokenizer
from hf_lecture_models.trainer.data import training_texts, validation_texts
from hf_lecture_models.trainer.language_model import CausalLMRecipe, train_causal_lm
from hf_lecture_models.trainer.loop import TrainingResult
from hf_lecture_models.trainer.recipe import describe_fields, load_recipe, parse_overrides

TOKENIZERS: dict[str, Any] = {"word": WordTokenizer, "byte": ByteTokenizer}


def make_tokenizer(recipe: CausalLMRecipe, texts: Any) -> Any:
    """Train the recipe's tokenizer on the training texts."""
    options = dict(recipe.tokenizer)
    kind = options.pop("type", "word")
    if kind not in TOKENIZERS:
        raise ValueError(f"recipe: tokenizer.type must be one of {', '.join(TOKENIZERS)}, not {kind!r}")
    train = TOKENIZERS[kind].train
    known = [name for name in inspect.signature(train).parameters if name not in ("texts", "progress", "kwargs")]
    for name in options:
        if name not in known:
            raise ValueError(f"recipe: no field tokenizer.{name}; type {kind} has {', '.join(known)}")
    return train((row[recipe.text_column] for row in texts) if recipe.streaming else texts, **options)


def make_model(recipe: CausalLMRecipe, tokenizer: Any) -> Any:
    """Build the recipe's model with fresh weights, its vocabulary and special tokens those of the tokenizer."""
    fields = dict(recipe.model)
    for name in ("bos_token_id", "eos_token_id", "pad_token_id"):
        fields.setdefault(name, getattr(tokenizer, name))
    fields.setdefault("vocab_size", len(tokenizer))
    if "model_type" not in fields:
        raise ValueError("recipe: model needs a model_type, for example lecture_recurrent")
    config = AutoConfig.for_model(**fields)
    torch.manual_seed(recipe.seed)
    return AutoModelForCausalLM.from_config(config)


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
    texts = training_texts(recipe)
    tokenizer = make_tokenizer(recipe, texts)
    model = make_model(recipe, tokenizer)
    return train_causal_lm(
        model, tokenizer, texts, validation_texts(recipe), recipe.output_dir, recipe, resume=options.resume
    )


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    try:
        result = main(sys.argv[1:])
    except (ValueError, OSError, FloatingPointError, ImportError) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    if result.stopped.startswith("SIG"):
        print(f"stopped by {result.stopped} at step {result.step}; the same command with --resume continues")
        sys.exit(128 + signal.Signals[result.stopped])
    best = "" if result.best_metric is None else f", best validation {result.metric_name} {result.best_metric:.4g}"
    print(f"{result.step} steps, {result.tokens_per_second:,.0f} tokens/s{best}: {result.folder}")
