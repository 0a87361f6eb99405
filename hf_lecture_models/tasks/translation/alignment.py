# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Align each word of a translation with the source words that it attended to (Bahdanau et al. 2015, figure 3).

Row t of the weights is the attention of the target's word t to the source's words. It is the sum over the tokens of a
source word and the mean over the tokens of a target word, so each row adds up to one. Layers and heads are counted from
one. This file travels with exported models.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import torch
from torch import Tensor

from hf_lecture_models.base.attention_weights import eager_attention
from hf_lecture_models.base.evaluation_mode import evaluation_mode
from hf_lecture_models.tasks.translation.translate import Translation, start_of, target_tokenizer_of


@dataclass(frozen=True)
class Alignment:
    """The words of both sides, with the end of text, and the weights.

    Attributes:
        layers: the weights of each decoder layer, (heads, target words, source words) float32 on the CPU.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    layers: tuple[Tensor, ...]

    def of(self, layer: int | None = None, head: int | None = None) -> Tensor:
        """Return the weights (target words, source words) of one head, or their mean over a layer, or over all.

        Raises:
            ValueError: there is no such layer or head, or a head is named without its layer.
        """
        if layer is None and head is not None:
            raise ValueError("a head belongs to a layer; name the layer too")
        if layer is not None and not 1 <= layer <= len(self.layers):
            raise ValueError(f"there is no layer {layer}: they are counted from 1 to {len(self.layers)}")
        heads = torch.cat(self.layers) if layer is None else self.layers[layer - 1]
        if head is not None and not 1 <= head <= len(heads):
            raise ValueError(f"there is no head {head}: they are counted from 1 to {len(heads)}")
        return (heads if head is None else heads[head - 1 : head]).mean(0)

    def which(self, layer: int | None = None, head: int | None = None) -> str:
        """Describe what `of(layer, head)` returns, such as "mean over 8 heads of layer 2"."""
        if layer is not None and head is not None:
            return f"layer {layer}, head {head}"
        number = sum(map(len, self.layers)) if layer is None else len(self.layers[layer - 1])
        mean = "one head" if number == 1 else f"mean over {number} heads"
        return mean + ("" if layer is None else f" of layer {layer}")


@torch.no_grad()
def align(model: Any, tokenizer: Any, translations: Sequence[Translation]) -> list[Alignment]:
    """Return the alignment of each translation; the model reads its target once more to get the weights.

    >>> from hf_lecture_models import RecurrentSeq2SeqConfig, RecurrentSeq2SeqForConditionalGeneration, WordTokenizer
    >>> tokenizer = WordTokenizer.train(["je suis", "I am"], add_bos_token=False, add_eos_token=True, progress=False)
    >>> ids = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("eos", "pad")}
    >>> ids |= {"vocab_size": len(tokenizer), "decoder_start_token_id": tokenizer.bos_token_id}
    >>> config = RecurrentSeq2SeqConfig(hidden_size=4, attention_type="dot", **ids)
    >>> model = RecurrentSeq2SeqForConditionalGeneration(config)
    >>> from hf_lecture_models.tasks.translation.translate import given_translation
    >>> (found,) = align(model, tokenizer, [given_translation(model, tokenizer, "je suis", "I am")])
    >>> found.target, found.of().sum(1).round(decimals=4).tolist()
    (('I', 'am', '</s>'), [1.0, 1.0, 1.0])

    Args:
        model: any that `AutoModelForSeq2SeqLM` loads, if its decoder attends to the source.

    Raises:
        ValueError: the model gives no such weights, for example because it reads the source as a single vector.
    """
    target_tokenizer = target_tokenizer_of(model, tokenizer)
    with evaluation_mode(model), eager_attention(model):
        return [_align(model, tokenizer, target_tokenizer, one) for one in translations]


def _align(model: Any, tokenizer: Any, target_tokenizer: Any, one: Translation) -> Alignment:
    source = torch.tensor([one.source_ids], device=model.device)
    target = torch.tensor([[start_of(model), *one.ids[:-1]]], device=model.device)
    outputs = model(input_ids=source, decoder_input_ids=target, output_attentions=True, use_cache=False)
    weights = getattr(outputs, "cross_attentions", None) or ()
    if not weights or any(layer is None for layer in weights):
        raise ValueError(
            f"{type(model).__name__} gives no attention weights from target to source, so there is no alignment; "
            "choose a model whose decoder attends to the source"
        )
    source_words, columns = words_of(getattr(tokenizer, "source", tokenizer), one.source_ids)
    target_words, rows = words_of(target_tokenizer, one.ids)
    gather, mean = _membership(columns), _membership(rows)
    mean = mean / mean.sum(0)
    layers = tuple(mean.T @ layer[0].float().cpu() @ gather for layer in weights)
    return Alignment(source_words, target_words, layers)


def _membership(places: Sequence[int]) -> Tensor:
    """Return a matrix (tokens, words) with 1 where a token is part of a word."""
    return torch.nn.functional.one_hot(torch.tensor(places)).float()


def words_of(tokenizer: Any, ids: Sequence[int]) -> tuple[tuple[str, ...], list[int]]:
    """Return the words of a tokenized text, and the number of each token's word; a special token is a word by itself.

    >>> from hf_lecture_models import BpeTokenizer
    >>> tokenizer = BpeTokenizer.train(["a cat sat"], merges=1, add_eos_token=True, progress=False)
    >>> words_of(tokenizer, tokenizer("a cat")["input_ids"])
    (('<s>', 'a', 'cat', '</s>'), [0, 1, 2, 2, 3])
    """
    special = set(tokenizer.all_special_ids)
    words: list[str] = []
    places: list[int] = []
    for is_special, run in groupby(map(int, ids), special.__contains__):
        tokens = list(run)
        if is_special:
            places += range(len(words), len(words) + len(tokens))
            words += tokenizer.convert_ids_to_tokens(tokens)
            continue
        # A token is part of the last word that is decoded from the tokens up to it.
        counts = [len(tokenizer.decode(tokens[: end + 1]).split()) for end in range(len(tokens))]
        own = tokenizer.decode(tokens).split() or [""]
        places += [len(words) + min(max(1, count), len(own)) - 1 for count in counts]
        words += own
    return tuple(words), places
