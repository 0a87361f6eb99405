# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Attention maps: the weight with which each token of a text attends to each other (slides R:772-834, N s36).

The weights a_t[s] = softmax_s(q_t · k_s / √head_dim) of `layers/attention.py`: row t is the token that attends, column
s the one that is attended to; a row sums to one, and where attention is causal all is zero above the diagonal. Layers
and heads are counted from one: layer 4, head 2 is what transformers has at `attentions[3][0, 1]`.

A weight shows where a head reads, not what it reads there: that may be little, or a vector of zeros.
"""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from hf_lecture_models.analysis.figures import (
    COLOUR_SCALE,
    COLOURS,
    LONGEST,
    SEQUENTIAL,
    WIDTH,
    draw_weights,
    label_room,
    shorten,
    slide,
)
from hf_lecture_models.analysis.text_inputs import TextInput, text_input
from hf_lecture_models.base.attention_weights import eager_attention
from hf_lecture_models.base.evaluation_mode import evaluation_mode

# Nobody can read more rows and columns of letters on a slide.
_MOST_TOKENS = 40
# Cells get their number in per cent while it fits.
_MOST_NUMBERED = 20


@dataclass(frozen=True)
class AttentionMaps:
    """The attention weights of one text in all layers and heads.

    Attributes:
        text: its tokens.
        layers: for each layer (heads, seq, seq), float32 on the CPU.
    """

    text: TextInput
    layers: tuple[Tensor, ...]

    def of(self, layer: int | None = None, head: int | None = None) -> Tensor:
        """Return the map (seq, seq) of one head, or the mean over all heads of one layer or of all layers.

        Args:
            layer, head: counted from one; None: the mean. A head needs a layer.

        Raises:
            ValueError: there is no such layer or head.
        """
        return self.heads(layer, head).mean(0)

    def heads(self, layer: int | None = None, head: int | None = None) -> Tensor:
        """Return the heads (heads, seq, seq) whose mean `of` gives."""
        if layer is None:
            if head is not None:
                raise ValueError("a head belongs to a layer; name the layer too")
            return torch.cat(self.layers)
        _check("layer", layer, len(self.layers))
        heads = self.layers[layer - 1]
        if head is None:
            return heads
        _check("head", head, len(heads))
        return heads[head - 1 : head]

    def most_attended(self, position: int) -> Counter[int]:
        """Count for each other word the heads of all layers in which `position` attends to it most.

        Tokens of the template, and the token itself, are left out, since many heads attend to those by default.
        """
        others = [s for s, special in enumerate(self.text.special) if not special and s != position]
        if not others:
            return Counter()
        best = self.heads()[:, position, others].argmax(1).tolist()
        return Counter(others[index] for index in best)


def _check(what: str, number: int, count: int) -> None:
    if not 1 <= number <= count:
        raise ValueError(f"there is no {what} {number}: they are counted from 1 to {count}")


def get_attention_maps(model: Any, tokenizer: Any, text: str, text_pair: str | None = None) -> AttentionMaps:
    """Return all attention weights of a text or a pair; for an encoder-decoder, those of its encoder.

    >>> from hf_lecture_models import Gpt1Config, Gpt1ForCausalLM, WordTokenizer
    >>> tokenizer = WordTokenizer.from_words(["the", "cat", "sat"])
    >>> sizes = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2}
    >>> model = Gpt1ForCausalLM(Gpt1Config(vocab_size=len(tokenizer), **sizes))
    >>> maps = get_attention_maps(model, tokenizer, "the cat sat")
    >>> maps.text.tokens, maps.of(layer=1, head=2).shape, maps.of().sum(1).round(decimals=4).tolist()
    (('<s>', 'the', 'cat', 'sat'), torch.Size([4, 4]), [1.0, 1.0, 1.0, 1.0])

    Args:
        model: any model of ours or of transformers. A kernel that keeps no weights (sdpa, flash, flex) is changed for
            "eager" during the call.

    Raises:
        TypeError: a text is not a str.
        ValueError: the model has no attention weights; the text is blank, or longer than the model reads; the weights
            hold NaN.
    """
    if model.config.is_encoder_decoder:
        model = model.get_encoder()
    read = text_input(model, tokenizer, text, text_pair)
    with torch.no_grad(), evaluation_mode(model), eager_attention(model):
        outputs = model(**read.inputs, output_attentions=True)
    weights = getattr(outputs, "attentions", None) or ()
    length = len(read.tokens)
    if not weights or any(w is None or w.shape[0] != 1 or w.shape[2:] != (length, length) for w in weights):
        raise ValueError(f"{type(model).__name__} has no attention weights between tokens; {_alternatives(model)}")
    layers = tuple(layer[0].float().cpu() for layer in weights)
    if any(layer.isnan().any() for layer in layers):
        raise ValueError("the attention weights hold NaN; the model's weights are damaged or its training diverged")
    return AttentionMaps(read, layers)


def _alternatives(model: Any) -> str:
    try:
        has_vectors = model.get_input_embeddings() is not None
    except (AttributeError, NotImplementedError):
        has_vectors = False
    return f"it can show its {'gradients (see gradients) and its ' if has_vectors else ''}surprisal (see surprisal)"


def save_attention_map(
    maps: AttentionMaps,
    path: str | os.PathLike[str],
    model_name: str,
    layer: int | None = None,
    head: int | None = None,
) -> None:
    """Draw the map of one head, or the mean map that `AttentionMaps.of` gives: rows attend to columns.

    Cells are coloured as in `figures.draw_weights`, and have their weight in per cent if there are 20 tokens or fewer.

    Args:
        model_name: for the caption.

    Raises:
        ValueError: there is no such layer or head, or there are more than 40 tokens.
    """
    weights, tokens = maps.of(layer, head), maps.text.tokens
    _refuse_many(tokens)
    size, room = max(2.4, 0.4 * len(tokens)), label_room(tokens)
    numbered = len(tokens) <= _MOST_NUMBERED
    title = f"Attention in %, {which_heads(maps, layer, head)}"
    below = f"{COLOUR_SCALE}. {caption(model_name, tokens)}"
    width = size + (0.6 if numbered else 1.5) + 1.5 * room
    with slide(path, title, below, max(5.0, width), size + 0.1 + 0.9 * room) as axes:
        draw_weights(axes, weights, tokens, tokens, SEQUENTIAL, numbered)
        axes.set_ylabel("this token attends to ...")


def save_attention_of_word(
    maps: AttentionMaps,
    position: int,
    path: str | os.PathLike[str],
    model_name: str,
    layer: int | None = None,
    head: int | None = None,
) -> None:
    """Draw the weights of one token as bars, beside a uniform weight; arguments as for `save_attention_map`.

    Args:
        position: of the token that attends, counted from 0.
    """
    weights, tokens = maps.of(layer, head)[position].tolist(), maps.text.tokens
    _refuse_many(tokens)
    title = f"To what “{tokens[position]}” attends, {which_heads(maps, layer, head)}"
    with slide(path, title, caption(model_name, tokens), WIDTH, 0.34 * len(tokens) + 0.9, legend=True) as axes:
        places = list(range(len(tokens)))
        axes.barh(places, [100 * weight for weight in weights], color=COLOURS[0])
        axes.axvline(100 / len(tokens), color=COLOURS[1], linestyle="--", label="all tokens alike")
        axes.set_yticks(places, [shorten(token, LONGEST) for token in tokens], parse_math=False)
        axes.invert_yaxis()
        axes.set_xlabel("attention weight (%)")


def save_all_heads(
    maps: AttentionMaps, path: str | os.PathLike[str], model_name: str, layer: int | None = None
) -> None:
    """Draw small maps of all heads, a row for each layer, or of one layer alone; arguments as for `save_attention_map`.

    Each map has the tokens in their order, from the top and from the left; dark is 1, light is 0. The colour is that of
    the weight's square root, so that heads with small weights are seen beside others with large ones.
    """
    layers = [maps.heads(layer)] if layer is not None else list(maps.layers)
    numbers = [layer] if layer is not None else list(range(1, len(layers) + 1))
    columns = max(map(len, layers))
    length = len(maps.text.tokens)
    side = length + max(1, length // 10)  # with the gap between two maps
    picture = torch.full((len(layers) * side, columns * side), torch.nan)
    for row, heads in enumerate(layers):
        for column, one in enumerate(heads):
            picture[row * side : row * side + length, column * side : column * side + length] = one
    title = f"Attention in {'all layers and heads' if layer is None else f'the heads of layer {layer}'}"
    cell = max(0.36, min(1.0, (WIDTH - 1.2) / columns))
    width, height = max(WIDTH, cell * columns + 1.2), cell * len(layers) + 0.7
    below = f"Colour: square root of the weight, light 0, dark 1. {caption(model_name, maps.text.tokens)}"
    with slide(path, title, below, width, height) as axes:
        axes.imshow(picture.sqrt().numpy(), cmap=SEQUENTIAL, vmin=0, vmax=1, interpolation="nearest")
        axes.set_xticks([(i + 0.5) * side for i in range(columns)], range(1, columns + 1))
        axes.set_yticks([(i + 0.5) * side for i in range(len(layers))], numbers)
        axes.set_xlabel("head")
        axes.set_ylabel("layer")
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)


def which_heads(maps: AttentionMaps, layer: int | None, head: int | None) -> str:
    """Describe `maps.of(layer, head)` in words."""
    if layer is not None and head is not None:
        return f"layer {layer}, head {head}"
    number = len(maps.heads(layer))
    return f"mean over {number} heads" + ("" if layer is None else f" of layer {layer}")


def caption(model_name: str, tokens: Sequence[str]) -> str:
    """Return the model's name and the text in tokens.

    >>> caption("GPT-1", ["the", "cat"])
    'GPT-1: the cat'
    """
    return f"{model_name}: {' '.join(tokens)}"


def _refuse_many(tokens: Sequence[str]) -> None:
    if len(tokens) > _MOST_TOKENS:
        raise ValueError(f"a picture with {len(tokens)} tokens cannot be read; give a text of {_MOST_TOKENS} at most")
