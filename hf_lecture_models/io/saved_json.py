# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The files of a saved folder: the names of those with weights, and checks of the JSON files.

transformers and the Rust library read the JSON files field by field, wherever they need one. There a wrong type is an
AttributeError of some inner line, or passes until a text is read. Here it is an error that names the file, the field
and the mend. `FILES` lists the fields that they read.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import torch


def _fits(value: Any, shape: Any) -> bool:
    """Return whether a value has a shape: a type, a list or an object of a shape, one of several, or a function's yes.

    >>> _fits([1, 2], [int]), _fits({"a": "b"}, {"": str}), _fits(True, int), _fits(2, (int, [int]))
    (True, True, False, True)
    """
    match shape:
        case type():
            # To Python True is an integer, too.
            return isinstance(value, shape) and (shape is bool or not isinstance(value, bool))
        case tuple():
            return any(_fits(value, one) for one in shape)
        case [each]:
            return isinstance(value, list) and all(_fits(one, each) for one in value)
        case {"": each}:
            return isinstance(value, dict) and all(_fits(one, each) for one in value.values())
    return shape(value)


def _at_least(least: int, shape: Any = int) -> Callable[[Any], bool]:
    return lambda value: _fits(value, shape) and value >= least


def _by_number(shape: Any) -> Callable[[Any], bool]:
    return lambda value: _fits(value, {"": shape}) and all(str(key).isdecimal() for key in value)


def _is_token(value: Any) -> bool:
    """Return whether a value is a special token: its spelling, or the options of an added token."""
    return isinstance(value, str) or _is_added_token(value)


def _is_added_token(value: Any) -> bool:
    flags = ("single_word", "lstrip", "rstrip", "normalized", "special")
    return (
        isinstance(value, dict)
        and _is_token(value.get("content"))
        and all(isinstance(value[name], bool) for name in flags if name in value)
    )


def _is_size(value: Any) -> bool:
    if isinstance(value, list):
        return len(value) == 2 and _fits(value, [_at_least(1)])
    return value != {} and _fits(value, (_at_least(1), {"": (_at_least(1), type(None))}))


def _is_dtype(value: Any) -> bool:
    dtype = getattr(torch, value, None) if isinstance(value, str) else value
    return _fits(dtype, (torch.dtype, {"": _is_dtype}))


def _is_class(value: Any) -> bool:
    return _fits(value, int) or (isinstance(value, str) and value.isdecimal())


def _is_measure(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(name), str) for name in ("key", "label"))


_KINDS: dict[str, Any] = {
    "a text": str,
    "a list of texts": [str],
    "a list of texts, not empty": lambda value: _fits(value, [str]) and value != [],
    "a text or a list of texts": (str, [str]),
    "a text, or a list or an object of templates": (str, [dict], {"": str}),
    '"left" or "right"': lambda value: value in ("left", "right"),
    "true or false": bool,
    "true, false or a list of layers": (bool, [int]),
    "a number": (int, float),
    "a number above 0": lambda value: _fits(value, (int, float)) and value > 0,
    "a number of at least 1": _at_least(1, (int, float)),
    "a whole number of at least 0": _at_least(0),
    "a whole number of at least 1": _at_least(1),
    "a whole number of at least 3": _at_least(3),
    "a whole number of at least 1, two of them, or an object of height and width": _is_size,
    "a dtype of torch, such as float32": _is_dtype,
    "a token id": int,
    "a token id or a list of them": (int, [int]),
    "a list of token ids": [int],
    "a list of lists of token ids": [[int]],
    "a token: a text, or an object with its `content`": _is_token,
    "a list of tokens": [_is_token],
    "an object of tokens": {"": _is_token},
    "an object of tokens by their ids": _by_number(_is_added_token),
    "a list of tokens, or an object of them": ([_is_token], {"": _is_token}),
    "an object": dict,
    "a list of objects": [dict],
    "a list of objects with a `key` and a `label`": [_is_measure],
    "an object of settings": lambda value: not isinstance(value, str | int | float | list),
    "an object as task.json has it": lambda value: _fits(value, dict) and not [*_wrong_fields(value, "task.json")],
    "an object of names of classes": {"": (str, list)},
    "an object or a list of names of classes": (list, {"": (str, list)}),
    "an object of names by the classes' numbers": _by_number((str, int, bool)),
    "an object of the classes' numbers by their names": {"": _is_class},
    "an empty list": lambda value: value == [],
}
"""What a field must hold, in the words of an error, and as `_fits` takes it."""

_OR_NULL = ", or null"
_EVERY = "every field"
_SPECIAL_TOKENS = "bos_token eos_token unk_token pad_token cls_token sep_token mask_token"
FILES: dict[str, dict[str, str]] = {
    "config.json": {
        "a text": "model_type",
        "a text, or null": "attn_implementation _attn_implementation target_tokenizer",
        "a list of texts, or null": "architectures",
        "a dtype of torch, such as float32, or null": "dtype torch_dtype",
        "an object of names of classes": "auto_map",
        "an object of names by the classes' numbers, or null": "id2label",
        "an object of the classes' numbers by their names, or null": "label2id",
        "a whole number of at least 1": "num_labels",
        "an object of settings": "quantization_config",
        "an object, or null": "base_model_tp_plan base_model_pp_plan",
        "true or false": "is_encoder_decoder return_dict",
    },
    "generation_config.json": {
        "a whole number of at least 1, or null": "max_new_tokens num_beams num_return_sequences",
        "a whole number of at least 0, or null": (
            "max_length min_length min_new_tokens top_k no_repeat_ngram_size encoder_no_repeat_ngram_size"
        ),
        "a token id, or null": "bos_token_id pad_token_id forced_bos_token_id",
        "a token id or a list of them, or null": "eos_token_id decoder_start_token_id forced_eos_token_id",
        "a list of token ids, or null": "suppress_tokens begin_suppress_tokens",
        "a list of lists of token ids, or null": "bad_words_ids",
        "a number, or null": (
            "temperature top_p min_p top_h typical_p epsilon_cutoff eta_cutoff length_penalty guidance_scale max_time"
        ),
        "a number above 0, or null": "repetition_penalty encoder_repetition_penalty",
        "true or false, or null": (
            "do_sample use_cache renormalize_logits remove_invalid_values output_attentions output_scores "
            "output_logits return_dict_in_generate"
        ),
        "true, false or a list of layers, or null": "output_hidden_states",
        "a text or a list of texts, or null": "stop_strings",
        "a text, or null": "cache_implementation",
        "an object, or null": "watermarking_config",
    },
    "tokenizer_config.json": {
        "a text, or null": "tokenizer_class template",
        "a token: a text, or an object with its `content`, or null": (
            f"{_SPECIAL_TOKENS} start_token delim_token extract_token"
        ),
        "a list of tokens, or an object of them, or null": "additional_special_tokens extra_special_tokens",
        "an object of tokens, or null": "model_specific_special_tokens",
        "an object of tokens by their ids": "added_tokens_decoder",
        "a number of at least 1, or null": "model_max_length",
        '"left" or "right"': "padding_side truncation_side",
        "a list of texts, not empty": "model_input_names",
        "an object or a list of names of classes": "auto_map",
        "true or false": "split_special_tokens",
        "true or false, or null": "add_bos_token add_eos_token clean_up_tokenization_spaces",
        "a text, or a list or an object of templates, or null": "chat_template",
        "an empty list": "init_inputs",
        "a whole number of at least 3": "max_characters_per_token",
    },
    "special_tokens_map.json": {
        "a token: a text, or an object with its `content`, or null": _SPECIAL_TOKENS,
        "a list of tokens, or null": "additional_special_tokens",
    },
    "added_tokens.json": {"a whole number of at least 0": _EVERY},
    "tokenizer.json": {},
    "preprocessor_config.json": {
        "a text": "image_processor_type",
        "an object of names of classes": "auto_map",
        "a whole number of at least 1, two of them, or an object of height and width, or null": "size crop_size",
    },
    "task.json": {
        "a text": "name auto_class items",
        "a text, or null": "script pipeline_tag",
        "a list of objects with a `key` and a `label`": "measures",
        "an object, or null": "settings",
    },
    "training.json": {"a text, or null": "metric", "a list of objects": "history", "an object": "environment"},
    "facts.json": {
        "a text": "name model_type class library",
        "an object as task.json has it": "task",
        "an object, or null": "data results recipe training environment",
    },
}
"""The fields of each file that are checked, by what they must hold; whoever reads another field checks it."""
_NEEDED = {"tokenizer.json": ("added_tokens",), "task.json": ("name", "pipeline_tag"), "facts.json": ("name", "task")}
_OF_MODELS = tuple(name for name in FILES if name not in (*_NEEDED, "training.json"))


def check_fields(values: Any, name: str, source: object) -> None:
    """Raise a ValueError where a field has a value that whoever loads the file could not read.

    >>> check_fields({"tokenizer_class": 3}, "tokenizer_config.json", "lstm/tokenizer_config.json")
    Traceback (most recent call last):
    ValueError: lstm/tokenizer_config.json: tokenizer_class is 3; it must be a text, or null: mend or restore it

    Args:
        values: the file's content.
        name: the file's name; of a file that is not in `FILES` no field is checked.
        source: its path, for the message.
    """
    if not isinstance(values, dict):
        raise ValueError(f"{source} holds {_shown(values)}, not an object of fields: restore it, or save it again")
    for field in _NEEDED.get(name, ()):
        if field not in values:
            raise ValueError(f"{source} has no {field}: restore it, or save it again")
    for field, kind in _wrong_fields(values, name):
        raise ValueError(f"{source}: {field} is {_shown(values[field])}; it must be {kind}: mend or restore it")


def _wrong_fields(values: dict[str, Any], name: str) -> Iterator[tuple[str, str]]:
    for kind, fields in FILES.get(name, {}).items():
        shape = _KINDS[kind.removesuffix(_OR_NULL)]
        for field in values if fields == _EVERY else fields.split():
            is_null = kind.endswith(_OR_NULL) and values.get(field) is None
            if field in values and not is_null and not _fits(values[field], shape):
                yield field, kind


def read_fields(path: Path) -> dict[str, Any]:
    """Return the content of a file of a saved folder.

    Raises:
        ValueError: it is not whole JSON, or a field has a wrong type.
    """
    values = read_json(path)
    check_fields(values, path.name, path)
    return values


def read_json(path: Path) -> Any:
    """Return the content of a JSON file.

    Raises:
        ValueError: it is not whole JSON.
    """
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not whole JSON ({error}); copy or save it again") from None


def check_saved_files(folder: Path, *names: str) -> None:
    """Raise a ValueError where a JSON file of a folder is damaged, or a field in it has a wrong type.

    Args:
        folder: may also be a model's name on the Hub: files that are not there are passed over.
        names: the files' names; by default all but `tokenizer.json` from which a model and its tokenizer are loaded.
    """
    for name in names or _OF_MODELS:
        if (folder / name).is_file():
            read_fields(folder / name)


def check_own_files(folder: Path) -> None:
    """Check a folder with `check_saved_files` if its model is one of this package.

    Models of transformers' own are loaded by transformers' own rules.
    """
    values = read_json(folder / "config.json")
    model_type = values.get("model_type") if isinstance(values, dict) else None
    if not isinstance(model_type, str) or model_type.startswith("lecture_"):
        check_saved_files(folder)


def check_tokenizer_files(folder: Path) -> None:
    """Check the files from which a tokenizer is loaded with `check_saved_files`."""
    check_saved_files(folder, "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")


def _shown(value: Any) -> str:
    shown = json.dumps(value, ensure_ascii=False, default=str)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


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
        try:
            shards = {*json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()}
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"{index} is no index of shards ({error!r}); restore the file") from error
        for shard in sorted(shards, key=str):
            # Of either system: a folder travels.
            parts = (PurePosixPath(shard), PureWindowsPath(shard)) if isinstance(shard, str) else ()
            if not parts or any(path.anchor or ".." in path.parts for path in parts):
                raise ValueError(
                    f"{index} names the file {shard!r}, which is not within its folder; a model's shards stand beside "
                    "their index: restore the index, or do not load the model"
                )
