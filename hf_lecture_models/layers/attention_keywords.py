# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The keyword arguments that an attention function reads, beside those that its layer gives."""

from inspect import Parameter, signature

from hf_lecture_models.io.compat import ALL_ATTENTION_FUNCTIONS
from hf_lecture_models.layers.attention_kernels import eager_attention

# Arguments that transformers itself hands to attention functions through a causal model: of packed batches, and of
# continuous batching. Its own functions ignore those that they have no use for.
_FROM_TRANSFORMERS = frozenset(
    {"cu_seq_lens_q", "cu_seq_lens_k", "max_length_q", "max_length_k", "seq_idx", "is_causal"}
    | {"cache", "read_index", "write_index", "block_table", "logits_indices", "logits_processor_args"}
)
_GIVEN_BY_THE_LAYER = frozenset({"dropout", "scaling", "position_bias"})


def reads_keyword(implementation: str, name: str, is_causal: bool) -> bool:
    """Return whether an attention function reads the keyword argument `name`, beside those that its layer gives.

    A function that a program has registered reads the parameters that it names, or with `**kwargs` any. transformers'
    own take `**kwargs` too, but read only what they name, and in causal models what transformers itself gives.

    >>> reads_keyword("eager", "attention_maks", is_causal=True), reads_keyword("sdpa", "seq_idx", is_causal=True)
    (False, True)
    """
    function = ALL_ATTENTION_FUNCTIONS.get_interface(implementation, eager_attention)
    parameters = signature(function).parameters
    if name in _GIVEN_BY_THE_LAYER or name in list(parameters)[:5]:  # the first five are given by their places
        return False
    if function is eager_attention or function.__module__.startswith("transformers."):
        return is_causal if name in _FROM_TRANSFORMERS else name in parameters
    return name in parameters or any(each.kind is Parameter.VAR_KEYWORD for each in parameters.values())
