# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Load the tokenizer that was saved with a model."""

from pathlib import Path
from typing import Any

from transformers import AutoTokenizer

from hf_lecture_models.io.saved_json import check_tokenizer_files

_FILES = ("tokenizer*", "vocab*", "*.model", "*.spm")


def load_saved_tokenizer(name: str, **options: Any) -> Any:
    """Return `AutoTokenizer.from_pretrained(name, **options)` if the folder has a tokenizer.

    transformers would build some tokenizers from the model's configuration alone, without a vocabulary.

    Raises:
        OSError: the folder has no tokenizer.
        ValueError: a field of its JSON files has a wrong type.
    """
    folder = Path(name)
    if folder.is_dir() and not any(path for pattern in _FILES for path in folder.glob(pattern)):
        raise OSError(f"the folder {name} has no tokenizer: save it there by tokenizer.save_pretrained({name!r})")
    try:
        return AutoTokenizer.from_pretrained(name, **options)
    except Exception:
        check_tokenizer_files(folder / (options.get("subfolder") or ""))
        raise
