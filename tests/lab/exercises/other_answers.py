# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Right answers to all exercises, written in other ways than the package's code: definitions, loops, brute force."""

from __future__ import annotations

import functools
import itertools
import math

import torch
from torch import Tensor


def bpe_merge(words):
    pairs = [pair for word, count in words.items() for pair in itertools.pairwise(word) for _ in range(count)]
    left, right = min(set(pairs), key=lambda pair: (-pairs.count(pair), *pair))
    merged = {}
    for word, count in words.items():
        symbols, place = list(word), 0
        while place < len(symbols) - 1:
            if symbols[place : place + 2] == [left, right]:
                symbols[place : place + 2] = [left + right]
            place += 1
        merged[tuple(symbols)] = count
    return (left, right), merged


def unigram_viterbi(text, scores):
    @functools.cache
    def best(rest):
        if not rest:
            return 0.0, ()
        ways = [x for x in scores if rest.startswith(x)]
        return max((scores[x] + best(rest[len(x) :])[0], (x, *best(rest[len(x) :])[1])) for x in ways)

    log_prob, pieces = best(text)
    return list(pieces), log_prob


def kneser_ney_discounts(bigrams):
    before = {w: 0 for _, w in bigrams}
    for _, w in bigrams:
        before[w] += 1
    found = []
    for counts in (list(before.values()), list(bigrams.values())):
        n1, n2, n3, n4 = (counts.count(k) for k in (1, 2, 3, 4))
        y = n1 / (n1 + 2 * n2)
        found.append([1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3])
    return tuple(found)


def lstm_cell(u, h, c, W, b):
    """By torch's own cell, whose gates are in another order."""
    size = h.shape[1]
    f, i, g, o = W.split(size)
    bias = torch.cat([b.split(size)[k] for k in (1, 0, 2, 3)])
    weight = torch.cat((i, f, g, o))
    return torch.lstm_cell(u, (h, c), weight[:, size:], weight[:, :size], bias, torch.zeros_like(bias))


def backpropagation_through_time(u, Y, W, b, A, d):
    """By differences: the loss a little to both sides of each number."""

    def loss(parameters):
        W, b, A, d = parameters
        h = torch.zeros(len(u), len(b), dtype=u.dtype)
        for step in range(u.shape[1]):
            h = torch.tanh(torch.hstack((h, u[:, step])) @ W.T + b)
        return torch.nn.functional.cross_entropy(h @ A.T + d, Y).item()

    gradients = []
    for number, tensor in enumerate((W, b, A, d)):
        gradient = torch.zeros_like(tensor)
        for place in itertools.product(*map(range, tensor.shape)):
            sides = []
            for step in (1e-5, -1e-5):
                moved = [one.clone() for one in (W, b, A, d)]
                moved[number][place] += step
                sides.append(loss(moved))
            gradient[place] = (sides[0] - sides[1]) / 2e-5
        gradients.append(gradient)
    return tuple(gradients)


def skip_gram_update(inputs, outputs, centres, contexts, noise, learning_rate):
    new_inputs, new_outputs = inputs.clone(), outputs.clone()
    for c, w, words in zip(centres.tolist(), contexts.tolist(), noise.tolist(), strict=True):
        for word, label in [(w, 1.0), *((n, 0.0) for n in words if n != w)]:
            factor = 1 / (1 + math.exp(-float(inputs[c] @ outputs[word]))) - label
            new_inputs[c] -= learning_rate * factor * outputs[word]
            new_outputs[word] -= learning_rate * factor * inputs[c]
    return new_inputs, new_outputs


def attention(q, k, v, mask):
    rows = []
    for b, head, t in itertools.product(*map(range, q.shape[:3])):
        keys = [s for s in range(k.shape[2]) if mask[b, 0, t, s]]
        weights = torch.stack([torch.exp(q[b, head, t] @ k[b, head, s] / math.sqrt(q.shape[3])) for s in keys])
        rows.append(weights / weights.sum() @ v[b, head, keys])
    return torch.stack(rows).view(*q.shape[:3], v.shape[3])


def layer_norm_gradient(x, weight, dy, eps):
    """By the matrix of derivatives of each row."""
    size, dx, dweight = x.shape[-1], torch.zeros_like(x), torch.zeros_like(weight)
    centre = torch.eye(size, dtype=x.dtype) - 1 / size
    for place in itertools.product(*map(range, x.shape[:-1])):
        centred = centre @ x[place]
        s = (centred.square().mean() + eps).sqrt()
        jacobian = centre / s - torch.outer(centred, centred) / (size * s**3)
        dx[place] = jacobian.T @ (weight * dy[place])
        dweight += dy[place] * centred / s
    return dx, dweight, dy.flatten(0, -2).sum(0)


def mask_tokens(ids, maskable, order, fate, random_ids, mask_id, share):
    read, labels = ids.tolist(), torch.full_like(ids, -100)
    for row, tokens in enumerate(read):
        places = [place for place in range(len(tokens)) if maskable[row, place]]
        places.sort(key=lambda place: float(order[row, place]))
        for place in places[: max(1, round(share * len(places)))]:
            labels[row, place] = ids[row, place]
            if fate[row, place] < 0.8:
                tokens[place] = mask_id
            elif fate[row, place] < 0.9:
                tokens[place] = int(random_ids[row, place])
    return torch.tensor(read), labels


def beam_search(log_probs, start, end, beams, max_length, length_penalty):
    live, finished = {(): 0.0}, {}
    for length in range(1, max_length + 1):
        grown = {
            (*text, token): score + float(log_probs[(start, *text)[-1], token])
            for text, score in live.items()
            for token in range(len(log_probs))
        }
        ranked = sorted(grown, key=grown.get, reverse=True)
        for text in ranked[:beams]:
            if text[-1] == end or length == max_length:
                finished[text] = grown[text] / length**length_penalty
        live = {text: grown[text] for text in [text for text in ranked if text[-1] != end][:beams]}
    return list(max(finished, key=finished.get))


def relative_shift(by_distance: Tensor) -> Tensor:
    """By padding and reading the numbers in rows that are one shorter, as Transformer-XL's authors do."""
    batch, heads, seq, keys = by_distance.shape
    turned = by_distance.flip(-1)  # the largest distance first
    padded = torch.cat((by_distance.new_zeros(batch, heads, seq, 1), turned), -1)
    shifted = padded.view(batch, heads, keys + 1, seq)[:, :, 1:].reshape(by_distance.shape)
    return shifted.tril(keys - seq)


def linear_attention_step(q, k, v, S, z):
    def features(x):
        return torch.where(x > 0, x + 1, x.exp())

    S = S + torch.einsum("bhd,bhv->bhdv", features(k), v)
    z = z + features(k)
    return (features(q)[..., None] * S).sum(2) / (features(q) * z).sum(-1, keepdim=True), S, z
