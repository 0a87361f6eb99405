# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture see segmentation`: the steps in which a text is split into tokens."""

from pathlib import Path

from hf_lecture_models.analysis.neighbours import shown
from hf_lecture_models.analysis.segmentation import save_segmentation, segmentation_steps
from hf_lecture_models.cli.io import print_json
from hf_lecture_models.loading import be_quiet, check_location, is_ngram_file, short_name
from hf_lecture_models.tokenization.loading import load_saved_tokenizer


def run(name: str, text: str, output: Path | None, json: bool) -> None:
    """Print and draw each word's steps from characters to tokens; only the tokenizer is loaded."""
    be_quiet()
    # A folder may hold a tokenizer alone.
    local_only = Path(name).is_dir() or check_location(name)
    if is_ngram_file(name):
        raise ValueError(f"{name} is a file of n-grams, whose words are not segmented; name a folder with a tokenizer")
    words = segmentation_steps(load_saved_tokenizer(name, local_files_only=local_only), text)
    for word in words:
        if json:
            steps = [{"symbols": list(step.symbols), "rule": step.rule} for step in word.steps]
            print_json({"word": word.word, "tokens": list(word.tokens), "steps": steps})
            continue
        width = max(len(" ".join(map(shown, step.symbols))) for step in word.steps)
        for step in word.steps:
            print(f"{' '.join(map(shown, step.symbols)):{width}}  {step.rule}")
        print()
    if output is not None:
        save_segmentation(words, output, short_name(name), f"“{text}”")
