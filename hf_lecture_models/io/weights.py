# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The names of the files that hold a model's weights, and a check of the index that names several of them."""

import json
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any


def weight_file_patterns(variant: str | None = None) -> tuple[str, ...]:
    """Return patterns of the weight files that one `save_pretrained` writes: a whole file, or shards and their index.

    Another variant's files, or a file that somebody called `model-best.safetensors`, do not match.

    >>> from fnmatch import fnmatchcase
    >>> for name in "model.safetensors", "model-00001-of-00002.safetensors", "model.fp16.safetensors":
    ...     print([any(fnmatchcase(name, pattern) for pattern in weight_file_patterns(v)) for v in (None, "fp16")])
    [True, False]
    [True, False]
    [False, True]
    """
    suffix, digits = f".{variant}" if variant else "", "[0-9]" * 5
    return (
        f"model{suffix}.safetensors",
        f"model{suffix}-{digits}-of-{digits}.safetensors",
        f"model.safetensors.index{suffix}.json",
    )


def refuse_outside_shards(folder: str | Path) -> None:
    """Raise a ValueError if an index of shards names a file outside of the folder, or is damaged.

    transformers opens the files that an index names, wherever they are. The message names both files.
    """
    for index in sorted(Path(folder).glob("*.index*.json")):
        for shard in sorted(_shards(index), key=str):
            # Of either system: a folder travels.
            parts = (PurePosixPath(shard), PureWindowsPath(shard)) if isinstance(shard, str) else ()
            if not parts or any(path.anchor or ".." in path.parts for path in parts):
                raise ValueError(
                    f"{index} names the file {shard!r}, which is not within its folder; a model's shards stand beside "
                    "their index: restore the index, or do not load the model"
                )


def _shards(index: Path) -> set[Any]:
    try:
        return set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{index} is no index of shards ({error!r}); restore the file") from error
