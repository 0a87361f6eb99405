# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Programs that multiply the last hidden state by the output matrix, in the place of a model's `forward`.

The trainers SFT, DPO, KTO, GRPO and RLOO of trl replace `model.forward` (`trl.trainer.utils.add_fused_lm_head`, 1.16):
their loss is that of softmax(W h + b), with h the last hidden state of the base model, and W and b those of
`get_output_embeddings()`. That is the loss of a language model whose output layer is one matrix, and of no other model.
"""

from typing import Any

_MARK = "fused_lm_head"  # the argument with which trl asks for its own loss


def refuse_replaced_forward(model: Any, forward: Any) -> None:
    """Refuse a `forward` that computes the loss with the output matrix, if the model's loss is another one.

    Args:
        forward: what is to replace `model.forward`.

    Raises:
        ValueError: naming the model, why its loss is another one, and what to do.
    """
    code = getattr(getattr(forward, "__func__", forward), "__code__", None)
    if model.no_output_matrix is not None and _MARK in getattr(code, "co_varnames", ()):
        raise ValueError(
            f"trl computes the loss of {type(model).__name__} from one output matrix, without the model's forward, "
            f"but {model.no_output_matrix}"
        )
