# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Find out where a model is: in a folder, on the Hub, or in the Hub's cache on this machine."""

from pathlib import Path

from huggingface_hub import get_hf_file_metadata, hf_hub_url, try_to_load_from_cache
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    OfflineModeIsEnabled,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
)

from hf_lecture_models.io.saved_json import check_own_files


def check_location(name: str, places: str = "folder") -> bool:
    """Return True if the model must be loaded from local files; raise an error if no model can be at `name`.

    A name that is not a path here is looked up on the Hub by one request; transformers would make many and repeat each.

    Args:
        places: what may be found on this machine, for messages.

    Returns:
        True for a folder, and for a model in the Hub's cache while the Hub does not answer.

    Raises:
        OSError: there is no such folder or model on the Hub; or the Hub cannot be reached, and its cache is empty.
        ValueError: a JSON file of the folder is damaged, or a field in it has a wrong type.
    """
    path = Path(name)
    if path.is_file():
        raise OSError(f"{name} is a file: name a model's folder or its name on the Hub")
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise FileNotFoundError(f"the folder {name} has no config.json: name a folder written by save_pretrained")
        check_own_files(path)
        return True
    if name.count("/") > 1 or name.startswith((".", "/", "~")):
        raise FileNotFoundError(f"there is no folder {name}")
    return not _is_on_hub(name, places)


def _is_on_hub(name: str, places: str) -> bool:
    """Return True if the Hub has the model, False if the Hub does not answer but its cache has the model."""
    try:
        get_hf_file_metadata(hf_hub_url(name, "config.json"))
    except RemoteEntryNotFoundError:
        pass  # there is a repository, and transformers says what it lacks
    except HFValidationError as error:
        raise OSError(f"there is no {places} {name}, and the Hub has no such names: {error}") from None
    except Exception as error:  # how a network fails differs from one HTTP library to the next
        if isinstance(try_to_load_from_cache(name, "config.json"), str):
            return False
        raise OSError(f"there is no {places} {name}, and {_hub_error(name, error)}") from None
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
