# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A tokenizer written in Python, which needs its code wherever it goes."""

from typing import Any

from transformers import PythonBackend

from hf_lecture_models.layers.inputs import real_token_mask


class DigitTokenizer(PythonBackend):
    """The digits, and 10 for anything else."""

    model_input_names = ["input_ids", "attention_mask"]
    travels_with = real_token_mask.__name__

    @property
    def vocab_size(self) -> int:
        return 11

    def get_vocab(self) -> dict[str, int]:
        return {**{str(digit): digit for digit in range(10)}, "?": 10, **self.added_tokens_encoder}

    def _tokenize(self, text: str, **kwargs: Any) -> list[str]:
        return list(text)

    def _convert_token_to_id(self, token: str) -> int:
        return int(token) if token.isdigit() else 10

    def _convert_id_to_token(self, index: int) -> str:
        return str(index) if index < 10 else "?"

    def save_vocabulary(self, save_directory: str, filename_prefix: str | None = None) -> tuple[str, ...]:
        return ()
