# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Write results as JSON that every program can read."""

import json
import math
from functools import cache
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any


def strict_json(value: Any, indent: int | None = None) -> str:
    """Write JSON with null in the place of infinities and NaN, which standard JSON does not have.

    >>> strict_json({"log_prob": float("-inf"), "text": "dansé"})
    '{"log_prob": null, "text": "dansé"}'
    """
    if isinstance(value, str):  # for ASCII both give the same, the first in half the time
        return encode_basestring_ascii(value) if value.isascii() else encode_basestring(value)
    encoder = _encoder(indent)
    try:
        return encoder.encode(value)
    except ValueError:  # a number is not finite: seldom, and looking for one takes longer than writing all
        return encoder.encode(_finite(value))


@cache
def _encoder(indent: int | None) -> json.JSONEncoder:
    return json.JSONEncoder(ensure_ascii=False, indent=indent, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
