# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The places of tokens in their text. This file travels with exported models."""

from collections.abc import Sequence

# How byte pairs of bytes spell a space.
_SPACE = "Ġ"


def whole_offsets(text: str, tokens: Sequence[str], offsets: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the offsets of tokens, with the first letters that byte pairs of bytes leave out.

    Post-processors of the `tokenizers` library (`trim_offsets`) take the space before a word off its token's offsets.
    They take the first letter off where the text has no space there and the pre-tokenizer added one: before a text,
    where only the latter has `add_prefix_space`, as in RobBERT, and within one, after an added token or a split.

    >>> whole_offsets("Jan slaapt", ["<s>", "ĠJan", "Ġslaapt"], [(0, 0), (1, 3), (4, 10)])
    [(0, 0), (0, 3), (4, 10)]

    Args:
        tokens: the tokens of one text, in its order, as the tokenizer spells them.
        offsets: the start and the end of each in the text; equal for special tokens.
    """
    found, before = [], 0
    for token, (start, end) in zip(tokens, offsets, strict=True):
        is_cut = before < start and token.startswith(_SPACE) and not text[start - 1].isspace()
        # An added space that is a token of its own has no letter.
        found.append((start - is_cut, end - (is_cut and token == _SPACE)))
        before = max(before, end)
    return found
