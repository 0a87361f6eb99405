# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Loading a model with its tokenizer or image processor from wherever it is: a folder, the Hub, or an ARPA file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformers import AutoConfig, AutoImageProcessor, AutoModelForCausalLM
from transformers.utils import logging

from hf_lecture_models.io import locations
from hf_lecture_models.io.auto_classes import find_auto_class, gives_saved_model
from hf_lecture_models.io.files import weights_file_errors
from hf_lecture_models.io.weights import refuse_outside_shards
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.models.ngram.conversion_ngram import classes_beside
from hf_lecture_models.tokenization.loading import load_saved_tokenizer
from hf_lecture_models.tokenization.pairs import with_target_tokenizer


def load_model(name: str, auto_class: Any = None) -> tuple[Any, Any]:
    """Return a model and its processing class, a tokenizer or an image processor.

        model, tokenizer = load_model("quickstart/lstm")

    Args:
        name: a folder that `save_pretrained` wrote, a name on the Hub, or an ARPA file.
        auto_class: the Auto class to load by, such as `AutoModelForCausalLM`. None: that of the saved class, which
            config.json names; a causal language model where it names none.

    Raises:
        OSError: there is no such model, or the Hub cannot be reached.
        ValueError: it is damaged, a field of its JSON files has a wrong type, it lacks weights, names files outside of
            its folder, or is no model of `auto_class`.
    """
    be_quiet()
    local_only = check_location(name)
    if is_arpa_name(name):
        _refuse_other_class(name, NGramForCausalLM.__name__, auto_class in (None, AutoModelForCausalLM), auto_class)
        classes = classes_beside(name)
        return NGramForCausalLM.from_arpa(name, classes if classes.is_file() else None)
    if Path(name).is_dir():
        refuse_outside_shards(name)
    config = AutoConfig.from_pretrained(name, local_files_only=local_only)
    saved = ", ".join(config.architectures or ["a model without a class name"])
    chosen = find_auto_class(config) if auto_class is None else auto_class
    has_own_code = chosen.__name__ in (getattr(config, "auto_map", None) or {})
    _refuse_other_class(name, saved, has_own_code or gives_saved_model(chosen, config), chosen)
    with weights_file_errors(name):
        # transformers' annotation leaves out the pair that output_loading_info=True returns.
        loaded: Any = chosen.from_pretrained(name, local_files_only=local_only, output_loading_info=True)
    model, info = loaded
    _refuse_missing(name, type(model).__name__, sorted(info["missing_keys"]))
    load_processor = AutoImageProcessor.from_pretrained if _reads_images(model) else load_saved_tokenizer
    processor = load_processor(name, local_files_only=local_only)
    return model, with_target_tokenizer(processor, config, name, local_files_only=local_only)


def _reads_images(model: Any) -> bool:
    return model.main_input_name == "pixel_values"


def be_quiet() -> None:
    """Silence transformers' log and bars of loading, for programs whose output is their result."""
    logging.set_verbosity_error()
    logging.disable_progress_bar()


def _refuse_other_class(name: str, saved: str, fits: bool, auto_class: Any) -> None:
    if not fits:
        raise ValueError(f"{name} holds {saved}, which {auto_class.__name__} cannot load; name a model that it loads")


def _refuse_missing(name: str, kind: str, missing: list[str]) -> None:
    # transformers fills them with random numbers and goes on.
    if missing:
        shown = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        raise ValueError(f"{name} lacks weights of {kind}: {shown}; name a folder that {kind}.save_pretrained wrote")


def check_location(name: str) -> bool:
    """`io.locations.check_location`, for ARPA files too.

    Raises:
        OSError: no model's folder, ARPA file or name on the Hub; or the Hub cannot be reached, and its cache is empty.
    """
    path = Path(name)
    if not is_arpa_name(name):
        if path.is_file():
            raise OSError(
                f"{name} is a file: name a model's folder, its name on the Hub, or a file ending in .arpa[.gz]"
            )
        return locations.check_location(name, "folder or ARPA file")
    if not path.exists():
        raise FileNotFoundError(f"there is no ARPA file {name}")
    if path.is_dir():
        raise IsADirectoryError(f"{name} is a folder: name an ARPA file, or a folder without .arpa in its name")
    return True


def is_arpa_name(name: str | Path) -> bool:
    """Whether a path ends as ARPA files do.

    >>> is_arpa_name("lm.arpa.gz"), is_arpa_name("lm")
    (True, False)
    """
    return str(name).endswith((".arpa", ".arpa.gz"))


def short_name(name: str) -> str:
    """The last part of a folder's path, which shows nothing else of this machine; a name on the Hub as it is.

    >>> short_name("models/no-folder")
    'models/no-folder'
    """
    path = Path(name)
    return path.resolve().name if path.exists() else name


def short_names(names: Sequence[str]) -> list[str]:
    """`short_name` of each; of folders whose last parts are equal, the paths as they were given.

    >>> short_names(["nobody/model", "somebody/model"])
    ['nobody/model', 'somebody/model']
    """
    short = [short_name(name) for name in names]
    return [name if short.count(one) > 1 else one for name, one in zip(names, short, strict=True)]
