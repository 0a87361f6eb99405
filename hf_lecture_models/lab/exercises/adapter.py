# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The adapter file of the package: each exercise's function, answered by the code that models and tokenizers run.

It is a file as yours, and `hf-lecture exercise all` finds it right; nothing here computes by itself what is asked for.
Two exercises are answered by torch and transformers, as the models are: the gradient of layer normalisation is
autograd's of `torch.nn.LayerNorm`, and beam search is `generate()` of a language model.
"""

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F
from transformers import GenerationConfig

from hf_lecture_models.lab.studies.backpropagation_through_time import backpropagate_through_time
from hf_lecture_models.layers.attention import AttentionKernel
from hf_lecture_models.layers.bidirectional_attention import bidirectional_attention
from hf_lecture_models.layers.linear_attention import LinearAttention, chunk_sums
from hf_lecture_models.layers.recurrent_cells import ElmanCell, LstmCell
from hf_lecture_models.layers.relative_attention import Distances, RelativeSelfAttention
from hf_lecture_models.layers.segment_memory import SegmentMemory
from hf_lecture_models.layers.word_prediction import NegativeSampling
from hf_lecture_models.models.feed_forward import FeedForwardConfig, FeedForwardForCausalLM
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.counting_ngram import NGramCounts, continuation_counts
from hf_lecture_models.models.ngram.smoothing.interpolated import fit_discounts, small_counts
from hf_lecture_models.tasks.language_models.masked_batches import choose_tokens, replace_tokens
from hf_lecture_models.tokenization.lattices import Lattices
from hf_lecture_models.tokenization.merges import NONE, LinkedWords

Words = dict[tuple[str, ...], int]


def bpe_merge(words: Words) -> tuple[tuple[str, str], Words]:
    """Merge one pair by the tables that train `BpeTokenizer`.

    >>> bpe_merge({("l", "o", "w"): 2, ("l", "o"): 1})
    (('l', 'o'), {('lo', 'w'): 2, ('lo',): 1})
    """
    state = LinkedWords(words, str)
    pair = min(state.entry(pair) for pair in state.counts)[-1]
    state.merge(pair)
    # Before each word, and after the last one, there is a NONE; others are the right halves of merged pairs.
    borders = np.cumsum([0, *(len(word) + 1 for word in words)]).tolist()
    merged: Counter[tuple[str, ...]] = Counter()
    for (begin, end), count in zip(pairwise(borders), words.values(), strict=True):
        merged[tuple(state.names[symbol] for symbol in state.symbols[begin:end] if symbol != NONE)] += count
    return (state.names[pair[0]], state.names[pair[1]]), dict(merged)


def unigram_viterbi(text: str, scores: dict[str, float]) -> tuple[list[str], float]:
    """Search a lattice of `UnigramTokenizer` for the best segmentation.

    >>> unigram_viterbi("aab", {"a": -1.0, "b": -2.0, "ab": -2.5})
    (['a', 'ab'], -3.5)
    """
    pieces = list(scores)
    lattice = Lattices.of([text], {piece: number for number, piece in enumerate(pieces)})
    log_prob, numbers = lattice.nbest(np.array(list(scores.values())), 1)[0][0]
    return [pieces[number] for number in numbers], log_prob


def kneser_ney_discounts(bigrams: dict[tuple[str, str], int]) -> tuple[list[float], list[float]]:
    """Estimate the discounts of both orders as `NGramForCausalLM.fit` does."""
    words = {word: number for number, word in enumerate(sorted({word for pair in bigrams for word in pair}))}
    size = len(words)
    fields: dict[str, Any] = {"vocab_size": size, "order": 2, "smoothing": "modified_kneser_ney"}
    config = NGramConfig(**fields)
    ids, occurrences = np.array([[words[v], words[w]] for v, w in bigrams]).T, np.array(list(bigrams.values()))
    numbers, none = np.arange(size), np.zeros(size, bool)
    unigrams = NGramCounts(numbers, np.bincount(ids[1], occurrences, size), numbers, none)
    pairs = NGramCounts(ids[0] * size + ids[1], occurrences, ids[1], none[ids[0]])
    used = continuation_counts([unigrams, pairs], 1), pairs.occurrences
    of_unigrams, of_bigrams = (fit_discounts(small_counts(counts), n, config) for n, counts in enumerate(used, 1))
    return of_unigrams, of_bigrams


def lstm_cell(u: Tensor, h: Tensor, c: Tensor, W: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Call `LstmCell`."""
    cell = LstmCell(u.shape[1], h.shape[1])
    return functional_call(cell, {"W.weight": W, "W.bias": b}, (u, (h, c)))


def backpropagation_through_time(
    u: Tensor, Y: Tensor, W: Tensor, b: Tensor, A: Tensor, d: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Call `backpropagate_through_time` with an `ElmanCell`."""
    cell = ElmanCell(u.shape[2], len(b)).to(u.dtype)
    cell.load_state_dict({"W.weight": W, "W.bias": b})
    found = backpropagate_through_time(cell, A, d, u, Y)
    return found.parameters["W.weight"], found.parameters["W.bias"], found.A, found.b


class _GivenNoise(NegativeSampling):
    """word2vec's output layer, with noise that is given in place of drawn."""

    noise: Tensor

    def draw_noise(self, *size: int, generator: torch.Generator | None = None) -> Tensor:
        return self.noise


@torch.enable_grad()
def skip_gram_update(
    inputs: Tensor, outputs: Tensor, centres: Tensor, contexts: Tensor, noise: Tensor, learning_rate: float
) -> tuple[Tensor, Tensor]:
    """Take one step of torch's SGD on the loss of word2vec's output layer."""
    vectors, (vocab, hidden) = nn.Parameter(inputs.clone()), outputs.shape
    layer = _GivenNoise(vocab, hidden, noise.shape[1], noise_exponent=0.75)
    layer.weight, layer.noise = nn.Parameter(outputs.clone()), noise
    layer(vectors[centres], contexts).sum().backward()
    torch.optim.SGD([vectors, layer.weight], learning_rate).step()
    return vectors.detach(), layer.weight.detach()


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """Call the function of "eager" attention with a prepared mask, as the models do."""
    hidden = q.transpose(1, 2).flatten(2)
    kernel = bidirectional_attention("eager", hidden, attention_mask=mask)
    output, _ = kernel.function(nn.Module().eval(), q, k, v, kernel.mask, scaling=q.shape[-1] ** -0.5)
    return output.transpose(1, 2)


@torch.enable_grad()
def layer_norm_gradient(x: Tensor, weight: Tensor, dy: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """Let autograd differentiate `torch.nn.LayerNorm`, the layer of all models here."""
    norm = nn.LayerNorm(x.shape[-1], eps, dtype=x.dtype)
    norm.load_state_dict({"weight": weight, "bias": torch.zeros_like(weight)})
    x = x.detach().requires_grad_()
    dx, dweight, dbias = torch.autograd.grad(norm(x), (x, norm.weight, norm.bias), dy)
    return dx, dweight, dbias


def mask_tokens(
    ids: Tensor, maskable: Tensor, order: Tensor, fate: Tensor, random_ids: Tensor, mask_id: int, share: float
) -> tuple[Tensor, Tensor]:
    """Choose and replace tokens as `MaskedTexts`, BERT's training data, does."""
    chosen = choose_tokens(maskable.numpy(), order.numpy(), share)
    inputs, labels = replace_tokens(ids.numpy(), chosen, fate.numpy(), random_ids.numpy(), mask_id)
    return torch.from_numpy(inputs), torch.from_numpy(labels)


def beam_search(
    log_probs: Tensor, start: int, end: int, beams: int, max_length: int, length_penalty: float
) -> list[int]:
    """Generate with a feed-forward language model that reads one word, and so can have any table of probabilities."""
    size = len(log_probs)
    config = FeedForwardConfig(
        vocab_size=size, order=2, hidden_size=1, embedding_size=size, direct_connections=True, eos_token_id=end
    )
    model: Any = FeedForwardForCausalLM(config).eval()
    model.to(log_probs.dtype)
    one_hot, zeros = torch.eye(size, dtype=log_probs.dtype), torch.zeros(size, 1, dtype=log_probs.dtype)
    model.model.embed_tokens.weight.data = one_hot
    # tanh of the hidden layer counts nothing; the direct connections read the row of the word.
    model.lm_head.weight.data = torch.cat((zeros, log_probs.T), 1)
    model.lm_head.bias.data.zero_()
    options: dict[str, Any] = {"num_beams": beams, "early_stopping": "never", "length_penalty": length_penalty}
    options |= {"max_new_tokens": max_length, "do_sample": False, "eos_token_id": end, "pad_token_id": end}
    ids = model.generate(torch.tensor([[start]]), GenerationConfig(**options))[0, 1:].tolist()
    return ids[: ids.index(end) + 1] if end in ids else ids


def relative_shift(by_distance: Tensor) -> Tensor:
    """Return the position bias that `RelativeSelfAttention` hands to the attention function.

    Its matrices are identities, and R_p marks the distance p, so that its scores by distance are the given ones.
    """
    batch, heads, seq, keys = by_distance.shape
    width, like = heads * keys, by_distance.detach()
    layer = RelativeSelfAttention(width, heads, keys).to(like.dtype)
    for matrix in (layer.q_proj, layer.r_proj):
        matrix.weight.data = torch.eye(width, dtype=like.dtype)
    states, memory = by_distance.transpose(1, 2).reshape(batch, seq, width), like.new_zeros(batch, keys - seq, width)
    segment = SegmentMemory(keys - seq, states, before=torch.ones(batch, keys - seq, dtype=torch.bool))
    marks = torch.eye(keys, dtype=like.dtype).repeat(1, heads) / layer.scaling
    zeros = like.new_zeros(heads, keys)
    distances = Distances(marks, segment.distances.clamp(min=0))
    _, bias = layer(states, memory, zeros, zeros, distances, AttentionKernel(_show_bias, None, is_causal=True))
    return bias.where(segment.allowed(), 0.0)


def _show_bias(module: Any, q: Tensor, k: Tensor, v: Tensor, mask: Any, **options: Any) -> tuple[Tensor, Tensor]:
    return q, options["position_bias"]


def linear_attention_step(q: Tensor, k: Tensor, v: Tensor, S: Tensor, z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Call `chunk_sums` for a chunk of one token, with the features of `LinearAttention`."""
    features = LinearAttention(q.shape[-1], 1).features
    (f_q, _), (f_k, s) = features(q[:, :, None]), features(k[:, :, None])
    sums, largest = torch.cat((S, z[..., None]), -1), s.new_zeros(*s.shape[:2], 1)
    o, sums, _ = chunk_sums(f_q, f_k, s, F.pad(v[:, :, None], (0, 1), value=1.0), sums, largest)
    return o[:, :, 0], sums[..., :-1], sums[..., -1]
