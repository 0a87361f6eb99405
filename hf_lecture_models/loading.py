# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Loading a model with its tokenizer from wherever it is: a folder, the Hub, or an ARPA file."""

from pathlib import Path
from typing import Any

from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging

from hf_lecture_models.models.ngram import NGramForCausalLM


def load_model(name: str) -> tuple[Any, Any]:
    """Return the causal language model and its tokenizer from a folder, an ARPA file, or the Hub.

    Raises:
        OSError: there is no such model.
        ValueError: it is damaged, or lacks weights.
    """
    be_quiet()
    check_location(name)
    if is_arpa_name(name):
        return NGramForCausalLM.from_arpa(name)
    try:
        # transformers' annotation leaves out the pair that output_loading_info=True returns.
        loaded: Any = AutoModelForCausalLM.from_pretrained(name, output_loading_info=True)
        model, info = loaded
        _refuse_missing(name, type(model).__name__, sorted(info["missing_keys"]))
        return model, AutoTokenizer.from_pretrained(name)
    except OSError as error:
        if Path(name).exists():
            raise
        raise OSError(f"there is no folder or ARPA file {name}, and the Hub does not give it: {error}") from error


def be_quiet() -> None:
    """Silence transformers' log and bars of loading, for programs whose output is their result."""
    logging.set_verbosity_error()
    logging.disable_progress_bar()


def _refuse_missing(name: str, kind: str, missing: list[str]) -> None:
    # transformers fills them with random numbers and goes on.
    if missing:
        shown = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        raise ValueError(
            f"{name} lacks weights of {kind}, the causal model of its model_type: {shown}; "
            f"name a folder that {kind}.save_pretrained wrote"
        )


def check_location(name: str) -> None:
    """Raise OSError, saying what to name instead, where `name` can be no model's folder, ARPA file or Hub name."""
    path = Path(name)
    if is_arpa_name(name):
        if not path.exists():
            raise FileNotFoundError(f"there is no ARPA file {name}")
        if path.is_dir():
            raise IsADirectoryError(f"{name} is a folder: name an ARPA file, or a folder without .arpa in its name")
        return
    if path.is_file():
        raise OSError(f"{name} is a file: name a model's folder, its name on the Hub, or a file ending in .arpa[.gz]")
    if path.is_dir() and not (path / "config.json").is_file():
        raise OSError(f"the folder {name} has no config.json: name a folder written by save_pretrained")
    if not path.exists() and (name.count("/") > 1 or name.startswith((".", "/", "~"))):
        raise OSError(f"there is no folder {name}")


def is_arpa_name(name: str | Path) -> bool:
    """Whether a path ends as ARPA files do.

    >>> is_arpa_name("lm.arpa.gz"), is_arpa_name("lm")
    (True, False)
    """
    return str(name).endswith((".arpa", ".arpa.gz"))
