# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Loading a model with its tokenizer or image processor from wherever it is: a folder, the Hub, or an ARPA file."""

from pathlib import Path
from typing import Any

from huggingface_hub import get_hf_file_metadata, hf_hub_url, try_to_load_from_cache
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    OfflineModeIsEnabled,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
)
from transformers import (
    AutoConfig,
    AutoImageProcessor,
    AutoModelForCausalLM,
    AutoTokenizer,
)
from transformers.utils import logging

from hf_lecture_models.io.auto_classes import find_auto_class, gives_saved_model
from hf_lecture_models.models.ngram import NGramForCausalLM


def load_model(name: str, auto_class: Any = None) -> tuple[Any, Any]:
    """Return a model and its processing class, a tokenizer or an image processor.

        model, tokenizer = load_model("quickstart/lstm")

    Args:
        name: a folder that `save_pretrained` wrote, a name on the Hub, or an ARPA file.
        auto_class: the Auto class to load by, such as `AutoModelForCausalLM`. None: that of the saved class, which
            config.json names; a causal language model where it names none.

    Raises:
        OSError: there is no such model, or the Hub cannot be reached.
        ValueError: it is damaged, lacks weights, or is no model of `auto_class`.
    """
    be_quiet()
    local_only = check_location(name)
    if is_arpa_name(name):
        _refuse_other_class(name, NGramForCausalLM.__name__, auto_class in (None, AutoModelForCausalLM), auto_class)
        return NGramForCausalLM.from_arpa(name)
    config = AutoConfig.from_pretrained(name, local_files_only=local_only)
    saved = ", ".join(config.architectures or ["a model without a class name"])
    chosen = find_auto_class(config) if auto_class is None else auto_class
    has_own_code = chosen.__name__ in (getattr(config, "auto_map", None) or {})
    _refuse_other_class(name, saved, has_own_code or gives_saved_model(chosen, config), chosen)
    # transformers' annotation leaves out the pair that output_loading_info=True returns.
    loaded: Any = chosen.from_pretrained(name, local_files_only=local_only, output_loading_info=True)
    model, info = loaded
    _refuse_missing(name, type(model).__name__, sorted(info["missing_keys"]))
    processing: Any = AutoImageProcessor if model.main_input_name == "pixel_values" else AutoTokenizer
    return model, processing.from_pretrained(name, local_files_only=local_only)


def be_quiet() -> None:
    """Silence transformers' log and bars of loading, for programs whose output is their result."""
    logging.set_verbosity_error()
    logging.disable_progress_bar()


def _refuse_other_class(name: str, saved: str, fits: bool, auto_class: Any) -> None:
    if not fits:
        raise ValueError(f"{name} holds {saved}, which {auto_class.__name__} cannot load; name a model of that kind")


def _refuse_missing(name: str, kind: str, missing: list[str]) -> None:
    # transformers fills them with random numbers and goes on.
    if missing:
        shown = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        raise ValueError(f"{name} lacks weights of {kind}: {shown}; name a folder that {kind}.save_pretrained wrote")


def check_location(name: str) -> bool:
    """Raise an error that says what to name instead, where no model can be at `name`.

    What is no path here is looked up on the Hub by one request, before transformers makes many and repeats each.

    Returns:
        Whether the model must come from local files: its path, or the Hub's cache where the Hub does not answer.

    Raises:
        OSError: no model's folder, ARPA file or name on the Hub; or the Hub cannot be reached, and its cache is empty.
    """
    path = Path(name)
    if is_arpa_name(name):
        if not path.exists():
            raise FileNotFoundError(f"there is no ARPA file {name}")
        if path.is_dir():
            raise IsADirectoryError(f"{name} is a folder: name an ARPA file, or a folder without .arpa in its name")
        return True
    if path.is_file():
        raise OSError(f"{name} is a file: name a model's folder, its name on the Hub, or a file ending in .arpa[.gz]")
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise OSError(f"the folder {name} has no config.json: name a folder written by save_pretrained")
        return True
    if name.count("/") > 1 or name.startswith((".", "/", "~")):
        raise OSError(f"there is no folder {name}")
    return not _is_on_hub(name)


def _is_on_hub(name: str) -> bool:
    """Whether the Hub has the model; False where it does not answer, but its cache has it."""
    try:
        get_hf_file_metadata(hf_hub_url(name, "config.json"))
    except RemoteEntryNotFoundError:
        pass  # there is a repository, and transformers says what it lacks
    except HFValidationError as error:
        raise OSError(f"there is no folder or ARPA file {name}, and the Hub has no such names: {error}") from None
    except Exception as error:  # how a network fails differs from one HTTP library to the next
        if isinstance(try_to_load_from_cache(name, "config.json"), str):
            return False
        raise OSError(f"there is no folder or ARPA file {name}, and {_hub_error(name, error)}") from None
    return True


def _hub_error(name: str, error: Exception) -> str:
    if isinstance(error, GatedRepoError):
        return f"{name} on the Hub asks for consent: give it on the model's page, then log in by `hf auth login`"
    if isinstance(error, RepositoryNotFoundError):
        return f"the Hub has no model {name}; if it is a private one, log in by `hf auth login`"
    if isinstance(error, OfflineModeIsEnabled):
        return "HF_HUB_OFFLINE keeps from asking the Hub"
    if isinstance(error, HfHubHTTPError):
        return f"the Hub does not give it: {error}"
    return f"the Hub cannot be reached: {error}"


def is_arpa_name(name: str | Path) -> bool:
    """Whether a path ends as ARPA files do.

    >>> is_arpa_name("lm.arpa.gz"), is_arpa_name("lm")
    (True, False)
    """
    return str(name).endswith((".arpa", ".arpa.gz"))
