# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Load a model with its tokenizer or image processor, from a folder, the Hub, or a file of n-grams or word vectors."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from transformers import AutoConfig, AutoImageProcessor, AutoModel, AutoModelForCausalLM, AutoProcessor
from transformers.utils import logging

from hf_lecture_models.io import locations
from hf_lecture_models.io.auto_classes import find_auto_class, gives_saved_model
from hf_lecture_models.io.files import weights_file_errors
from hf_lecture_models.io.packing import file_suffix
from hf_lecture_models.io.pickled_weights import pickled_weights_errors
from hf_lecture_models.io.progress import hide_other_bars
from hf_lecture_models.io.saved_json import refuse_outside_shards
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.models.ngram.conversion_ngram import load_file
from hf_lecture_models.models.ngram.files.arpa_format import is_arpa_file
from hf_lecture_models.models.ngram.files.kenlm_format import is_kenlm_file
from hf_lecture_models.models.word2vec import Word2VecModel
from hf_lecture_models.models.word2vec.conversion_word2vec import is_word2vec_name
from hf_lecture_models.models.word2vec.reader_word2vec import is_word2vec_file
from hf_lecture_models.tokenization.loading import load_saved_tokenizer
from hf_lecture_models.tokenization.pairs import with_target_tokenizer


def load_model(name: str | os.PathLike[str], auto_class: Any = None) -> tuple[Any, Any]:
    """Return a model and its tokenizer, image processor, or processor of both; None for a model of points.

    >>> from tempfile import TemporaryDirectory
    >>> from hf_lecture_models import NGramForCausalLM, WordTokenizer
    >>> texts = ["a cat", "a dog"]
    >>> tokenizer = WordTokenizer.train(texts)
    >>> model = NGramForCausalLM.fit(texts, tokenizer, order=2, smoothing="add_alpha")
    >>> with TemporaryDirectory() as folder:
    ...     for part in (model, tokenizer):
    ...         _ = part.save_pretrained(folder)
    ...     loaded, _ = load_model(folder)
    >>> type(loaded).__name__, loaded.config.order
    ('NGramForCausalLM', 2)

    Args:
        name: a folder that `save_pretrained` wrote, a name on the Hub, one of KenLM's binary files, an ARPA file, also
            packed or a pipe, or a file of word2vec, fastText (.vec) or GloVe.
        auto_class: the Auto class to load with, such as `AutoModelForCausalLM`. None: the one for the saved class,
            which config.json names; `AutoModelForCausalLM` if it names none.

    Raises:
        OSError: there is no such model, or the Hub cannot be reached.
        ValueError: the model is damaged, a field of its JSON files has a wrong type, weights are missing or lie outside
            the folder, or `auto_class` does not load it.
    """
    with _quiet():
        return _load(os.fspath(name), auto_class)


def _load(name: str, auto_class: Any) -> tuple[Any, Any]:
    if is_vector_file(name):
        _refuse_other_class(name, Word2VecModel.__name__, auto_class in (None, AutoModel), auto_class)
        return Word2VecModel.from_word2vec_format(name, binary=None)
    local_only = check_location(name)
    if is_ngram_file(name):
        _refuse_other_class(name, NGramForCausalLM.__name__, auto_class in (None, AutoModelForCausalLM), auto_class)
        return load_file(name)
    if Path(name).is_dir():
        refuse_outside_shards(name)
    config = AutoConfig.from_pretrained(name, local_files_only=local_only)
    saved = ", ".join(config.architectures or ["a model without a class name"])
    chosen = find_auto_class(config) if auto_class is None else auto_class
    has_own_code = chosen.__name__ in (getattr(config, "auto_map", None) or {})
    _refuse_other_class(name, saved, has_own_code or gives_saved_model(chosen, config), chosen)
    with pickled_weights_errors(name), weights_file_errors(name):
        # transformers' annotation leaves out the pair that output_loading_info=True returns.
        loaded: Any = chosen.from_pretrained(name, config=config, local_files_only=local_only, output_loading_info=True)
    model, info = loaded
    _refuse_missing(name, type(model).__name__, sorted(info["missing_keys"]))
    if model.main_input_name == "points":
        return model, None
    reads_images = model.main_input_name == "pixel_values"
    # With the configuration transformers need not read it again.
    load_processor = (
        AutoImageProcessor.from_pretrained if reads_images else partial(load_saved_tokenizer, config=config)
    )
    if reads_images and config.is_encoder_decoder:  # which writes texts
        load_processor = AutoProcessor.from_pretrained
    processor = load_processor(name, local_files_only=local_only)
    return model, with_target_tokenizer(processor, config, name, local_files_only=local_only)


@contextmanager
def _quiet() -> Iterator[None]:
    """Call `be_quiet`, and restore transformers' settings at the end of the block."""
    verbosity, shows_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    be_quiet()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if shows_bars:
            logging.enable_progress_bar()


def be_quiet() -> None:
    """Silence transformers' log and progress bars, for programs whose output is their result."""
    logging.set_verbosity_error()
    hide_other_bars()


def _refuse_other_class(name: str, saved: str, fits: bool, auto_class: Any) -> None:
    if not fits:
        raise ValueError(f"{name} holds {saved}, which {auto_class.__name__} cannot load; name a model that it loads")


def _refuse_missing(name: str, kind: str, missing: list[str]) -> None:
    # transformers fills them with random numbers and goes on.
    if missing:
        shown = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        raise ValueError(f"{name} lacks weights of {kind}: {shown}; name a folder that {kind}.save_pretrained wrote")


def check_location(name: str) -> bool:
    """Return whether the model must come from local files; see `io.locations.check_location`, which takes no files.

    Raises:
        OSError: the name is neither a model's folder nor a file of n-grams nor on the Hub; or the Hub cannot be
            reached, and its cache is empty.
    """
    path = Path(name)
    if is_ngram_file(name):
        return True
    if path.is_file():
        raise OSError(
            f"{name} is a file: name a model's folder, its name on the Hub, an ARPA file (with a line \\data\\), or "
            f"one of KenLM's binary files{_about_vectors(name)}"
        )
    if is_arpa_name(name) and not path.exists():
        raise FileNotFoundError(f"there is no ARPA file {name}")
    if is_arpa_name(name) and not (path / "config.json").exists():
        raise IsADirectoryError(f"{name} is a folder: name an ARPA file, or a folder that has a model")
    return locations.check_location(name, "folder or ARPA file")


def _about_vectors(name: str) -> str:
    """Return what to say of a file that is named like one of word vectors; of others nothing."""
    if not is_word2vec_name(name):
        return ""
    if is_word2vec_file(name):
        return f"; vectors of word2vec are a model after `hf-lecture convert {name} FOLDER`"
    return "; it does not begin as word2vec's and GloVe's files do"


def is_arpa_name(name: str | Path) -> bool:
    """Return whether a path ends like an ARPA file's: `.arpa` or `.lm`, also packed, in capitals too.

    >>> is_arpa_name("lm.arpa.gz"), is_arpa_name("LM.ARPA"), is_arpa_name("model.lm.xz"), is_arpa_name("lm")
    (True, True, True, False)
    """
    return file_suffix(str(name)) in (".arpa", ".lm")


def is_ngram_file(name: str | Path) -> bool:
    """Return whether a path is an ARPA file or one of KenLM's binary files by what is in it, or a pipe.

    A file that is named like an ARPA file is taken for one.

    >>> is_ngram_file("lm.arpa"), is_ngram_file("/dev/null"), is_ngram_file(__file__)  # lm.arpa is missing
    (False, True, False)

    Raises:
        OSError, ValueError: as `is_arpa_file`.
    """
    path = Path(name)
    if not path.is_file():
        return path.exists() and not path.is_dir()
    return is_arpa_name(name) or is_kenlm_file(name) or is_arpa_file(name)


def is_vector_file(name: str | Path) -> bool:
    """Return whether a path is named like a file of word vectors (.bin, .vec, .txt, also .gz) and begins as one.

    >>> is_vector_file("vectors.bin"), is_vector_file(__file__)  # vectors.bin is missing
    (False, False)

    Raises:
        OSError, ValueError: as `is_word2vec_file`.
    """
    return is_word2vec_name(name) and Path(name).is_file() and not is_ngram_file(name) and is_word2vec_file(name)


def short_name(name: str) -> str:
    """Return the last part of a folder's path, without the folders above it; a name on the Hub stays whole.

    >>> short_name("models/no-folder")
    'models/no-folder'
    """
    path = Path(name)
    # A link has the name that the user gave it.
    return Path(os.path.abspath(path)).name if path.exists() else name


def short_names(names: Sequence[str]) -> list[str]:
    """Return the `short_name` of each; folders with equal last parts keep their whole paths.

    >>> short_names(["nobody/model", "somebody/model"])
    ['nobody/model', 'somebody/model']
    """
    short = [short_name(name) for name in names]
    return [name if short.count(one) > 1 else one for name, one in zip(names, short, strict=True)]
