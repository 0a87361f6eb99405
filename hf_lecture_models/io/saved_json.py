# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The JSON files of a saved folder: a field of a wrong type is an error that names the file, the field and the mend.

transformers and the Rust library read these files field by field, wherever they need one. A wrong type is there an
AttributeError of some inner line, or passes until a text is read. Here are the fields that they read of our folders.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch


@dataclass(frozen=True)
class Kind:
    """The values that a field may have.

    Attributes:
        words: as an error names them.
        fits: returns whether a value is one of them.
    """

    words: str
    fits: Callable[[Any], bool]

    def or_null(self) -> "Kind":
        """The same values, and null."""
        return replace(self, words=f"{self.words}, or null", fits=lambda value: value is None or self.fits(value))


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_list_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(fits, value))


def _is_object_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(map(fits, value.values()))


def _is_token(value: Any) -> bool:
    """Return whether a value is a special token: its spelling, or the options of an added token."""
    if not isinstance(value, dict):
        return _is_text(value)
    flags = [name for name in ("single_word", "lstrip", "rstrip", "normalized", "special") if name in value]
    return _is_token(value.get("content")) and all(_is_flag(value[name]) for name in flags)


def _is_numbered(value: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, dict) and all(str(key).isdecimal() and fits(one) for key, one in value.items())


def _is_size(value: Any) -> bool:
    """Return whether a value is a side, two of them, or sides by their names."""
    if isinstance(value, list):
        return len(value) == 2 and all(map(POSITIVE.fits, value))
    if isinstance(value, dict):
        return value != {} and all(side is None or POSITIVE.fits(side) for side in value.values())
    return POSITIVE.fits(value)


def _is_class(value: Any) -> bool:
    return _is_integer(value) or (isinstance(value, str) and value.isdecimal())


def _is_measure(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_text(value.get(name)) for name in ("key", "label"))


def _is_dtype(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_is_dtype, value.values()))
    return isinstance(getattr(torch, value, None) if isinstance(value, str) else value, torch.dtype)


def _is_code(value: Any) -> bool:
    """Return whether a value maps Auto classes to the names of the classes that they load."""
    return isinstance(value, dict) and all(isinstance(name, str | list) for name in value.values())


TEXT, FLAG = Kind("a text", _is_text), Kind("true or false", _is_flag)
COUNT = Kind("a whole number of at least 0", lambda value: _is_integer(value) and value >= 0)
POSITIVE = Kind("a whole number of at least 1", lambda value: _is_integer(value) and value >= 1)
NUMBER, OBJECT = Kind("a number", _is_number), Kind("an object", lambda value: isinstance(value, dict))
ROWS = Kind("a list of objects", _is_list_of(lambda value: isinstance(value, dict)))
TEXTS = Kind("a list of texts", _is_list_of(_is_text))
SIDE = Kind('"left" or "right"', lambda value: value in ("left", "right"))
CODE = Kind("an object of names of classes", _is_code)
TOKEN = Kind("a token: a text, or an object with its `content`", _is_token)
TOKENS = Kind(
    "a list of tokens, or an object of them", lambda v: _is_list_of(_is_token)(v) or _is_object_of(_is_token)(v)
)
SIZE = Kind("a whole number of at least 1, two of them, or an object of height and width", _is_size)
TOKEN_ID = Kind("a token id", _is_integer)
TOKEN_IDS = Kind("a token id or a list of them", lambda v: _is_integer(v) or _is_list_of(_is_integer)(v))

CONFIG = {
    "model_type": TEXT,
    "architectures": TEXTS.or_null(),
    "auto_map": CODE,
    **dict.fromkeys(("dtype", "torch_dtype"), Kind("a dtype of torch, such as float32", _is_dtype).or_null()),
    "id2label": Kind(
        "an object of names by the classes' numbers",
        lambda value: _is_numbered(value, lambda one: isinstance(one, str | int)),
    ).or_null(),
    "label2id": Kind("an object of the classes' numbers by their names", _is_object_of(_is_class)).or_null(),
    "num_labels": POSITIVE,
    "quantization_config": Kind(OBJECT.words, lambda value: not isinstance(value, str | int | float | list)).or_null(),
    **dict.fromkeys(("base_model_tp_plan", "base_model_pp_plan"), OBJECT.or_null()),
    **dict.fromkeys(("attn_implementation", "_attn_implementation", "target_tokenizer"), TEXT.or_null()),
    **dict.fromkeys(("is_encoder_decoder", "return_dict"), FLAG),
}
GENERATION = {
    **dict.fromkeys(("max_new_tokens", "num_beams", "num_return_sequences"), POSITIVE.or_null()),
    **dict.fromkeys(("max_length", "min_length", "min_new_tokens", "top_k"), COUNT.or_null()),
    **dict.fromkeys(("no_repeat_ngram_size", "encoder_no_repeat_ngram_size"), COUNT.or_null()),
    **dict.fromkeys(("bos_token_id", "pad_token_id", "forced_bos_token_id"), TOKEN_ID.or_null()),
    **dict.fromkeys(("eos_token_id", "decoder_start_token_id", "forced_eos_token_id"), TOKEN_IDS.or_null()),
    **dict.fromkeys(
        ("suppress_tokens", "begin_suppress_tokens"), Kind("a list of token ids", _is_list_of(_is_integer)).or_null()
    ),
    "bad_words_ids": Kind("a list of lists of token ids", _is_list_of(_is_list_of(_is_integer))).or_null(),
    **dict.fromkeys(("temperature", "top_p", "min_p", "top_h", "typical_p", "epsilon_cutoff"), NUMBER.or_null()),
    **dict.fromkeys(("eta_cutoff", "length_penalty", "guidance_scale", "max_time"), NUMBER.or_null()),
    **dict.fromkeys(
        ("repetition_penalty", "encoder_repetition_penalty"),
        Kind("a number above 0", lambda value: _is_number(value) and value > 0).or_null(),
    ),
    **dict.fromkeys(("do_sample", "use_cache", "renormalize_logits", "remove_invalid_values"), FLAG.or_null()),
    **dict.fromkeys(("output_attentions", "output_scores", "output_logits"), FLAG.or_null()),
    "output_hidden_states": Kind(
        "true, false or a list of layers", lambda value: _is_flag(value) or _is_list_of(_is_integer)(value)
    ).or_null(),
    "return_dict_in_generate": FLAG.or_null(),
    "stop_strings": Kind("a text or a list of texts", lambda v: _is_text(v) or TEXTS.fits(v)).or_null(),
    "cache_implementation": TEXT.or_null(),
    "watermarking_config": OBJECT.or_null(),
}
TASK = {
    **dict.fromkeys(("name", "auto_class", "items"), TEXT),
    **dict.fromkeys(("script", "pipeline_tag"), TEXT.or_null()),
    "measures": Kind("a list of objects with a `key` and a `label`", _is_list_of(_is_measure)),
    "settings": OBJECT.or_null(),
}
TRAINING = {"metric": TEXT.or_null(), "history": ROWS, "environment": OBJECT}
FACTS = {
    **dict.fromkeys(("name", "model_type", "class", "library"), TEXT),
    "task": Kind("an object as task.json has it", lambda value: OBJECT.fits(value) and not _wrong_fields(value, TASK)),
    **dict.fromkeys(("data", "results", "recipe", "training", "environment"), OBJECT.or_null()),
}
_TOKEN_NAMES = tuple(f"{name}_token" for name in ("bos", "eos", "unk", "pad", "cls", "sep", "mask"))
TOKENIZER = {
    "tokenizer_class": TEXT.or_null(),
    **dict.fromkeys((*_TOKEN_NAMES, "start_token", "delim_token", "extract_token"), TOKEN.or_null()),
    **dict.fromkeys(("additional_special_tokens", "extra_special_tokens"), TOKENS.or_null()),
    "model_specific_special_tokens": Kind("an object of tokens", _is_object_of(_is_token)).or_null(),
    "added_tokens_decoder": Kind(
        "an object of tokens by their ids",
        lambda value: _is_numbered(value, lambda one: isinstance(one, dict) and _is_token(one)),
    ),
    "model_max_length": Kind("a number of at least 1", lambda value: _is_number(value) and value >= 1).or_null(),
    **dict.fromkeys(("padding_side", "truncation_side"), SIDE),
    "model_input_names": Kind("a list of texts, not empty", lambda value: TEXTS.fits(value) and value != []),
    "auto_map": Kind(CODE.words, lambda value: _is_code(value) or isinstance(value, list)),
    "split_special_tokens": FLAG,
    **dict.fromkeys(("add_bos_token", "add_eos_token", "clean_up_tokenization_spaces"), FLAG.or_null()),
    "chat_template": Kind(
        "a text, or a list or an object of templates",
        lambda v: _is_text(v) or _is_object_of(_is_text)(v) or ROWS.fits(v),
    ).or_null(),
    "init_inputs": Kind("an empty list", lambda value: value == []),
    "template": TEXT.or_null(),
    "max_characters_per_token": Kind("a whole number of at least 3", lambda value: _is_integer(value) and value >= 3),
}
FILES: dict[str, Mapping[str, Kind]] = {
    "config.json": CONFIG,
    "generation_config.json": GENERATION,
    "tokenizer_config.json": TOKENIZER,
    "special_tokens_map.json": {
        **{name: TOKENIZER[name] for name in _TOKEN_NAMES},
        "additional_special_tokens": Kind("a list of tokens", _is_list_of(_is_token)).or_null(),
    },
    "added_tokens.json": {},
    "tokenizer.json": {},
    "preprocessor_config.json": {
        "image_processor_type": TEXT,
        "auto_map": CODE,
        "size": SIZE.or_null(),
        "crop_size": SIZE.or_null(),
    },
    "task.json": TASK,
    "training.json": TRAINING,
    "facts.json": FACTS,
}
"""The fields of each file that are checked; others are left to who reads them."""
_NEEDED = {"tokenizer.json": ("added_tokens",), "task.json": ("name", "pipeline_tag"), "facts.json": ("name", "task")}
_OF_MODELS = tuple(name for name in FILES if name not in (*_NEEDED, "training.json"))


def check_fields(values: Any, name: str, source: object) -> None:
    """Raise a ValueError where a field has a value that whoever loads the file could not read.

    >>> check_fields({"tokenizer_class": 3}, "tokenizer_config.json", "lstm/tokenizer_config.json")
    Traceback (most recent call last):
    ValueError: lstm/tokenizer_config.json: tokenizer_class is 3; it must be a text, or null: mend or restore it

    Args:
        values: what the file holds.
        name: of the file; of one that is not in `FILES` no field is checked.
        source: its path, for the message.
    """
    if not isinstance(values, dict):
        raise ValueError(f"{source} holds {_shown(values)}, not an object of fields: restore it, or save it again")
    if lacking := [field for field in _NEEDED.get(name, ()) if field not in values]:
        raise ValueError(f"{source} has no {lacking[0]}: restore it, or save it again")
    kinds = dict.fromkeys(values, COUNT) if name == "added_tokens.json" else FILES.get(name, {})
    for field in _wrong_fields(values, kinds):
        raise ValueError(
            f"{source}: {field} is {_shown(values[field])}; it must be {kinds[field].words}: mend or restore it"
        )


def _wrong_fields(values: Mapping[str, Any], kinds: Mapping[str, Kind]) -> list[str]:
    return [field for field, kind in kinds.items() if field in values and not kind.fits(values[field])]


def read_fields(path: Path) -> dict[str, Any]:
    """Return what a file of a saved folder holds.

    Raises:
        ValueError: it is not whole JSON, or as `check_fields`.
    """
    values = read_json(path)
    check_fields(values, path.name, path)
    return values


def read_json(path: Path) -> Any:
    """Return what a file of JSON holds.

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
        folder: what is no folder, and a file that is not there, are passed over.
        names: of the files; none: all that a model and what encodes its inputs are loaded from, but `tokenizer.json`.
    """
    for name in names or _OF_MODELS:
        if (folder / name).is_file():
            read_fields(folder / name)


def check_own_files(folder: Path) -> None:
    """Raise a ValueError as `check_saved_files`, in a folder of a model of this package.

    A model of transformers' own is loaded as transformers loads it, whatever its files hold.
    """
    values = read_json(folder / "config.json")
    model_type = values.get("model_type") if isinstance(values, dict) else None
    if not isinstance(model_type, str) or model_type.startswith("lecture_"):
        check_saved_files(folder)


def check_tokenizer_files(folder: Path) -> None:
    """Raise a ValueError as `check_saved_files`, of the files from which a tokenizer is loaded."""
    check_saved_files(folder, "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")


def _shown(value: Any) -> str:
    shown = json.dumps(value, ensure_ascii=False, default=str)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
