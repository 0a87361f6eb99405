# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Multi-head attention (Vaswani et al., "Attention is all you need", 2017, 3.2; slides R:782-834, Y:477-514).

With the rows h_1 ... h_T of an input, and for each head matrices of its own,

    q_t = W_q h_t + b_q,  k_t = W_k h_t + b_k,  v_t = W_v h_t + b_v
    a_t = softmax_s(q_t · k_s / √head_dim + bias[t, s]),  s over the positions that t may attend to
    o_t = Σ_s a_t[s] v_s

and the heads' o_t, side by side, go through W_o. With the rows a_t in a matrix A and v_s in V, a head is A V: linear
in V, with a matrix that depends on the input, which slides R:798-810 call pseudo-linear. Slide Y:495-514 scales by √d
and takes the softmax over columns; the paper scales by the square root of the keys' width and takes the softmax over
the keys, as here.

There are three kinds. Causal self-attention: s ≤ t. Bidirectional self-attention: all s. Cross-attention: k_s and v_s
are those of another sequence, the source (`layers/cross_attention.py`).
"""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from torch import Tensor, nn

from hf_lecture_models.layers.few_rows import FewRowsLinear

AttentionFunction = Callable[..., tuple[Tensor, Tensor | None]]


class AttentionKernel(NamedTuple):
    """How the positions of one call attend, the same for all layers; made by `layers/attention_kernels.py`.

    It is a tuple, so that accelerate and FSDP, which move or cast the inputs of a layer, find the tensors in it.
    """

    function: AttentionFunction
    """An attention function of transformers, or `eager_attention`."""
    mask: Any
    """What `layers.masks` gives for that function."""
    is_causal: bool
    """Whether a position attends only to itself and earlier ones; the function needs it where there is no mask."""
    position_bias: Tensor | None = None
    """(batch or 1, heads, seq, keys), added to the scores."""
    options: dict[str, Any] | None = None
    """What else a caller has for the function: a paged cache and its tables, the bounds of packed texts."""


class MultiHeadAttention(nn.Module):
    """The base of the three kinds: the heads, the weights and their dropout; a subclass has the matrices.

    Args:
        hidden_size: width of input and output; `num_heads` must divide it.
        num_heads: heads, of head_dim = hidden_size / num_heads each.
        dropout: dropout probability of the attention weights.
        layer_index: this layer's place in the cache.
    """

    # The attention functions of transformers read these two from the module.
    is_causal: ClassVar[bool]
    num_key_value_groups = 1

    o_proj: nn.Linear

    def __init__(self, hidden_size: int, num_heads: int, dropout: float = 0.0, layer_index: int = 0):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, hidden_size // num_heads
        self.scaling = self.head_dim**-0.5
        self.layer_idx = layer_index
        self.dropout = nn.Dropout(dropout)

    def split_heads(self, projected: Tensor, parts: int) -> Tensor:
        """(batch, seq, parts * hidden) -> (parts, batch, heads, seq, head_dim)."""
        batch, seq, _ = projected.shape
        return projected.view(batch, seq, parts, self.num_heads, self.head_dim).permute(2, 0, 3, 1, 4)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, attention: AttentionKernel) -> tuple[Tensor, Tensor | None]:
        """Return W_o [o_t of each head], (batch, seq, hidden), and the weights (batch, heads, seq, keys) if shown.

        Raises:
            ValueError: `attention` was made for the other direction.
        """
        if attention.is_causal != self.is_causal:
            raise ValueError(
                f"{type(self).__name__} was handed an attention kernel with is_causal={not self.is_causal}"
            )
        options = dict(attention.options or {})
        if attention.position_bias is not None:
            options["position_bias"] = attention.position_bias
        dropout = self.dropout.p if self.dropout.training else 0.0
        output, weights = attention.function(
            self, q, k, v, attention.mask, dropout=dropout, scaling=self.scaling, **options
        )
        # A server's function returns the heads side by side already, without the axis of the batch.
        return self.o_proj(output.reshape(q.shape[0], q.shape[2], -1)), weights


class SelfAttention(MultiHeadAttention):
    """The matrices of the two kinds of self-attention: q, k and v by one product."""

    def __init__(self, hidden_size: int, num_heads: int, dropout: float = 0.0, layer_index: int = 0):
        super().__init__(hidden_size, num_heads, dropout, layer_index)
        self.qkv_proj = FewRowsLinear(hidden_size, 3 * hidden_size)
        self.o_proj = FewRowsLinear(hidden_size, hidden_size)
