# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The words of a text, for models that read them as numbers, one-hot vectors or trained vectors."""

from typing import Any

from torch import Tensor

from hf_lecture_models.layers.input_codings import word_mask


class WordInputs:
    """A mixin before the pre-trained base class.

    The configuration has `input_coding`, `has_word_vectors` and the ids of special tokens, which do not count as words.
    """

    config: Any

    def is_word(self, input_ids: Tensor, attention_mask: Tensor | None) -> Tensor:
        """Return which tokens belong to the text, (batch, seq) bool."""
        ends = self.config.eos_token_id
        ends = ends if isinstance(ends, list) else [ends]
        return word_mask(input_ids, attention_mask, [self.config.bos_token_id, self.config.pad_token_id, *ends])

    def resize_token_embeddings(self, new_num_tokens: int | None = None, *args: Any, **kwargs: Any) -> Any:
        """Resize the vocabulary, unless the coding is fixed: no word then has a vector of its own."""
        if self.config.has_word_vectors:
            return super().resize_token_embeddings(new_num_tokens, *args, **kwargs)  # type: ignore[misc]
        padded = kwargs.get("pad_to_multiple_of", args[0] if args else None) is not None
        if padded or new_num_tokens not in (None, self.config.vocab_size):
            raise ValueError(
                f"the vocabulary of a model with input_coding={self.config.input_coding!r} cannot be resized: words "
                "have no vectors of their own, and its size is part of the coding; train a new model with "
                "vocab_size=len(tokenizer)"
            )
        return self.get_input_embeddings()  # type: ignore[attr-defined]
