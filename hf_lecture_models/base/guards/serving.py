# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What the servers vLLM and SGLang ask of a model of transformers, and what they cannot serve.

Such a server builds the model without a head, registers an attention function under its own name, and calls the model
with one row that holds the tokens of several requests, their positions, and one attention for each layer. It keeps the
requests apart, and holds their keys and values (vLLM, `model_executor/models/transformers/`; SGLang,
`srt/models/transformers.py`).
"""

from typing import Any

from hf_lecture_models.base.travelling_guards import SERVERS

# The names under which their attentions have the number of heads.
_HEADS = ("num_heads", "tp_q_head_num")


def refuse_unserved(model: Any) -> None:
    """Refuse to build a model, whose attention is a server's, if the server would compute something else than it does.

    Raises:
        ValueError: naming the server, the model and what is in the way.
    """
    attention = model.config._attn_implementation
    name, server, reason = type(model).__name__, SERVERS[attention], model.unserved.get(attention)
    if not model._supports_attention_backend:
        reason = "its attention, if it has one, is not of the form that a server's function computes"
    elif not model.is_backend_compatible():
        reason = "a server applies a head to states that this head does not read; serve the model without a head"
    elif model.adds_position_bias:
        kind = model.config.position_encoding
        reason = f"its {kind!r} positions are added to the attention scores, and the server's function adds nothing"
    if reason:
        raise ValueError(f"{server} cannot serve {name}: {reason}. generate() and transformers serve do")


def check_served_call(
    model: Any, instances: dict[int, Any], attention_mask: Any, position_ids: Any, cache: Any
) -> None:
    """Refuse a server's call of `model.forward` whose result would be wrong.

    Args:
        instances: the server's attention of each layer, which it gives as `attention_instances`.
        attention_mask: what `forward` was given, as are `position_ids` and `cache`.

    Raises:
        ValueError: a mask or a cache, which a server's attention does not read; no positions; attention for a part of
            the layers or of the heads.
    """
    name, layers, heads = type(model).__name__, len(model.layers), model.config.num_attention_heads
    if attention_mask is not None or cache is not None:
        raise ValueError(
            "attention_instances keep the requests apart, and their keys and values; leave out attention_mask and "
            "past_key_values, and set use_cache=False"
        )
    if position_ids is None:
        raise ValueError("with attention_instances, a row holds several requests; give the position_ids of each")
    if set(instances) != set(range(layers)):
        raise ValueError(
            f"{name} has {layers} layers, and attention_instances are of the layers {sorted(instances)}: it is not "
            "served in pipeline stages (set the server's pipeline parallel size to 1)"
        )
    given = {getattr(instance, field, heads) for instance in instances.values() for field in _HEADS}
    if given != {heads}:
        raise ValueError(
            f"{name} has {heads} attention heads, and attention_instances have {min(given)}: its heads are not "
            "divided among GPUs (set the server's tensor parallel size to 1)"
        )
