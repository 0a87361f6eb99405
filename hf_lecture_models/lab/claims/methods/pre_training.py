# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Models that start with what another model has learnt."""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hf_lecture_models.io.files import staged_folder
from hf_lecture_models.tokenization.word import WordTokenizer

USES = ("from_pretrained", "word_vectors")


def start_from_pretrained(
    settings: Mapping[str, Any], seed: int, folder: Path, train: Callable[[Mapping[str, Any], int, Path], Any]
) -> dict[str, Any]:
    """Return settings in which `pre_training` is replaced by the folder of a model that was trained by it.

    The model is saved beside `folder`, and trained only once for all measurements with the same `pre_training`.

    Args:
        settings: those of `train_model`; `pre_training` holds those of another model, and `use`, the field of the
            recipe that names its folder: "from_pretrained" or "word_vectors"; and `once`, true for one model, with
            seed 0, in place of one for each seed.
        train: `train_model`.

    Raises:
        ValueError: `use` is neither of the two fields.
    """
    settings = dict(settings)
    if "pre_training" not in settings:
        return settings
    own = dict(settings.pop("pre_training"))
    use, seed = own.pop("use", None), 0 if own.pop("once", False) else seed
    if use not in USES:
        raise ValueError(f"pre_training.use is {use!r}; it must be one of {', '.join(USES)}")
    return {**settings, use: str(keep_model("pretrained", own, seed, folder, train))}


def keep_model(
    kind: str,
    settings: Mapping[str, Any],
    seed: int,
    folder: Path,
    train: Callable[[Mapping[str, Any], int, Path], Any],
) -> Path:
    """Return the folder of a model beside `folder`, which is trained only if no measurement has kept it before.

    Args:
        kind: the beginning of the folder's name.
        settings, seed: what the model depends on, beside the code.
        train: `train_model`.
    """
    name = hashlib.sha256(json.dumps([settings, seed], sort_keys=True).encode()).hexdigest()[:16]
    place = folder.parent / f"{kind}-{name}"
    if not place.is_dir():
        trained = train(settings, seed, folder)
        with staged_folder(place) as stage:
            trained.model.save_pretrained(stage)
            if trained.processor is not None:
                trained.processor.save_pretrained(stage)
    return place


def with_words_of(tokenizer: WordTokenizer, other: Any) -> WordTokenizer:
    """Return a tokenizer that also knows the words of another one, after its own.

    Its kinds of unknown words remain.

    >>> both = with_words_of(WordTokenizer.from_words(["cat"]), WordTokenizer.from_words(["dog", "cat"]))
    >>> both.tokenize("a cat or dog")
    ['<unk>', 'cat', '<unk>', 'dog']
    """
    known = tokenizer.get_vocab()
    fixed = WordTokenizer.from_words([], unknown_words=tokenizer.unknown_words).get_vocab().keys()
    words = [*sorted(known, key=known.__getitem__), *sorted(other.get_vocab().keys() - known.keys())]
    return WordTokenizer.from_words(
        [word for word in words if word not in fixed], unknown_words=tokenizer.unknown_words
    )
