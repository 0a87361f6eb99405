# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""word2vec's own way to train: hundreds of small updates a second, each of only the rows that it read.

An update takes the gradient of the model's loss (`models/word2vec/modeling_word2vec.py`), summed over the pairs of a
few blocks. One matrix product computes the scores of all pairs of words in a block; those of words that are not in the
same window are masked.

Noise words are drawn once for an update and not for each pair: all pairs share m of them, and each counts k/m times, so
that the expected gradient is that of k words for each pair (Zoph, Vaswani, May & Knight, NAACL 2016, share noise in
this way). As in the model, a noise word does not count for a pair that predicts this very word.

Adagrad (Duchi, Hazan & Singer, JMLR 2011) then changes each row w of a matrix, with one rate for the row, where g is
the row's gradient of width d:

    s_w ← s_w + |g|² / d,    row w ← row w - learning_rate · g / √s_w
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from hf_lecture_models.layers.word_prediction import HierarchicalSoftmax
from hf_lecture_models.trainer.batches import Batch
from hf_lecture_models.trainer.recipe import TrainingRecipe


class RowAdagrad(torch.optim.Optimizer):
    """Adagrad with one rate for each row of a matrix; an update changes only the rows that it names.

    >>> weight = nn.Parameter(torch.zeros(4, 2))
    >>> optimizer = RowAdagrad([{"params": [weight]}], lr=0.5)
    >>> optimizer.update_rows(weight, torch.tensor([1, 1]), torch.tensor([[2.0, 0.0], [0.0, 2.0]]))
    >>> weight.round(decimals=4)[:2].tolist()
    [[0.0, 0.0], [-0.5, -0.5]]
    """

    def __init__(self, groups: Any, lr: float) -> None:
        super().__init__(groups, {"lr": lr})
        for group in self.param_groups:
            for parameter in group["params"]:
                # Above 0, so that the first step of a row without a gradient does not divide 0 by 0.
                self.state[parameter]["row_sums"] = torch.full((len(parameter),), 1e-12, device=parameter.device)

    @torch.no_grad()
    def update_rows(self, weight: nn.Parameter, rows: Tensor, gradients: Tensor) -> None:
        """Change the rows by their gradients (rows, width); the gradients of a row that is named twice are added."""
        unique, place = torch.unique(rows, return_inverse=True)
        total = weight.new_zeros(len(unique), gradients.shape[1]).index_add_(0, place, gradients.to(weight.dtype))
        sums = self.state[weight]["row_sums"]
        seen = sums.index_select(0, unique).add_(
            torch.linalg.vector_norm(total, dim=1).square_(), alpha=1 / total.shape[1]
        )
        sums.index_copy_(0, unique, seen)
        weight.index_add_(0, unique, total.mul_(seen.rsqrt_().mul_(-self.param_groups[0]["lr"])[:, None]))

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Raise an error: a step would change all rows."""
        raise RuntimeError("RowAdagrad changes rows by update_rows, which tasks/word_vectors/updates.py calls")


def make_row_adagrad(groups: list[dict[str, Any]], recipe: TrainingRecipe) -> RowAdagrad:
    """Return the optimizer of word vectors."""
    return RowAdagrad([{"params": group["params"]} for group in groups], recipe.learning_rate)


class WordUpdates:
    """The updates of a step, which the training loop calls in place of a backward pass.

    Args:
        model: a `Word2VecForPreTraining`.
        blocks: the number of blocks in an update.
    """

    def __init__(self, model: Any, blocks: int) -> None:
        config, output = model.config, model.output
        self.blocks, self.cbow = blocks, config.architecture == "cbow"
        self.inputs, self.outputs = model.model.embed_tokens.weight, output.weight
        self.num_negatives = config.num_negatives
        self.paths: tuple[Tensor, Tensor] | None = None
        if isinstance(output, HierarchicalSoftmax):
            self.paths = output.paths(torch.arange(config.vocab_size, device=output.weight.device))

    @torch.no_grad()
    def __call__(self, optimizer: Any, batch: Batch) -> Tensor | float:
        """Make the updates of a batch, one after the other.

        Returns:
            The mean loss of a pair in the last update, a scalar. Other updates compute no loss, which would take a
            tenth of their time.
        """
        words, texts, sizes, noise = (batch.inputs[name] for name in ("words", "texts", "sizes", "noise"))
        loss: Tensor | float = 0.0  # stays 0 in a step without words
        for number, drawn in enumerate(noise):
            rows = slice(number * self.blocks, (number + 1) * self.blocks)
            update = self.gradients(words[rows], texts[rows], sizes[rows], drawn, with_loss=number == len(noise) - 1)
            optimizer.update_rows(self.inputs, update.input_rows, update.input_gradients)
            optimizer.update_rows(self.outputs, update.output_rows, update.output_gradients)
            loss = update.loss / max(update.pairs, 1.0)
        return loss

    def gradients(
        self, words: Tensor, texts: Tensor, sizes: Tensor, noise: Tensor, with_loss: bool = True
    ) -> "Gradients":
        """Return the gradient of the summed loss of some blocks.

        Args:
            words, texts: (blocks, middle + 2 window), the ids of words and the numbers of their texts; -1: no word.
            sizes: (blocks, middle), the size of each word's window.
            noise: (m,), the ids of noise words.
            with_loss: whether to compute the loss too.
        """
        middle = sizes.shape[1]
        margin = (words.shape[1] - middle) // 2
        inside = slice(margin, margin + middle)
        windows = window_mask(texts, sizes, inside)
        words = words.clamp(min=0)
        inner = words[:, inside]
        make = self._cbow if self.cbow else self._skip_gram
        return make(words, inner, windows, noise, with_loss)

    def _skip_gram(self, words: Tensor, inner: Tensor, windows: Tensor, noise: Tensor, with_loss: bool) -> "Gradients":
        hidden = _rows(self.inputs, inner)  # (blocks, middle, width)
        rows, signs = self._targets(words)  # (blocks, all, choices)
        targets = _rows(self.outputs, rows.flatten(1))
        weights = windows  # (blocks, middle, all x choices)
        if signs is not None:
            weights = (windows[..., None] * (signs != 0)[:, None]).flatten(2)
            signs = signs.flatten(1)[:, None]
        loss, factors = _logistic(torch.bmm(hidden, targets.transpose(1, 2)), weights, signs, with_loss)
        by_hidden = torch.bmm(factors, targets)
        by_targets = torch.bmm(factors.transpose(1, 2), hidden)
        pairs = windows.sum(2)
        noisy = self._noise(hidden, pairs, torch.bmm(windows, _same(words, noise)), noise, with_loss)
        return Gradients(
            loss + noisy.loss,
            float(pairs.sum()),
            inner.flatten(),
            by_hidden.flatten(0, 1).float().add_(noisy.by_hidden),
            torch.cat((rows.flatten(), noise)),
            torch.cat((by_targets.flatten(0, 1), noisy.by_noise)),
        )

    def _cbow(self, words: Tensor, inner: Tensor, windows: Tensor, noise: Tensor, with_loss: bool) -> "Gradients":
        number = windows.sum(2, keepdim=True)
        share = windows / number.clamp(min=1)
        counted = (number[..., 0] > 0).to(windows.dtype)  # (blocks, middle)
        hidden = torch.bmm(share, _rows(self.inputs, words))
        rows, signs = self._targets(inner)  # (blocks, middle, choices)
        targets = _rows(self.outputs, rows)
        weights = counted[..., None] if signs is None else counted[..., None] * (signs != 0)
        loss, factors = _logistic(torch.einsum("bld,blcd->blc", hidden, targets), weights, signs, with_loss)
        by_hidden = torch.einsum("blc,blcd->bld", factors, targets)
        by_targets = factors[..., None] * hidden[:, :, None]
        noisy = self._noise(hidden, counted, counted[..., None] * _same(inner, noise), noise, with_loss)
        by_hidden = by_hidden + noisy.by_hidden.view_as(by_hidden)
        return Gradients(
            loss + noisy.loss,
            float(counted.sum()),
            words.flatten(),
            torch.bmm(share.transpose(1, 2), by_hidden).flatten(0, 1),
            torch.cat((rows.flatten(), noise)),
            torch.cat((by_targets.flatten(0, 2), noisy.by_noise)),
        )

    def _targets(self, words: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return the rows of the output matrix for words (...), as (..., choices), and their signs; 0 marks no choice.

        Signs are None if all are 1.
        """
        if self.paths is None:
            return words[..., None], None
        nodes, bits = self.paths[0][words], self.paths[1][words]
        return nodes.clamp(min=0), torch.where(nodes < 0, 0, 1 - 2 * bits).float()

    def _noise(self, hidden: Tensor, pairs: Tensor, same: Tensor, noise: Tensor, with_loss: bool) -> "_NoiseGradients":
        """Return the gradients of the noise of all pairs.

        Args:
            hidden: (blocks, middle, width).
            pairs: (blocks, middle), the number of pairs in which each position predicts.
            same: (blocks, middle, m), how many of these predict the noise word itself.
        """
        hidden = hidden.flatten(0, 1)
        if not len(noise):
            return _NoiseGradients(0.0, torch.zeros_like(hidden), hidden.new_zeros(0, hidden.shape[1]))
        rows = _rows(self.outputs, noise)
        weights = (pairs[..., None] - same).flatten(0, 1).mul_(self.num_negatives / len(noise))
        loss, factors = _logistic(hidden @ rows.T, weights, -1, with_loss)
        return _NoiseGradients(loss, factors @ rows, factors.T @ hidden)


@dataclass(frozen=True)
class Gradients:
    """The gradient of a summed loss by rows of the two matrices; a row may occur several times."""

    loss: Tensor | float  # 0 if it was not computed
    pairs: float
    input_rows: Tensor
    input_gradients: Tensor
    output_rows: Tensor
    output_gradients: Tensor


@dataclass(frozen=True)
class _NoiseGradients:
    loss: Tensor | float
    by_hidden: Tensor
    by_noise: Tensor


def window_mask(texts: Tensor, sizes: Tensor, inside: slice) -> Tensor:
    """Return (blocks, middle, all) floats, 1 if a word is in the window of a middle word.

    >>> window_mask(torch.tensor([[-1, 0, 0, 0, 1]]), torch.tensor([[1, 2, 1]]), slice(1, 4)).int().tolist()
    [[[0, 0, 1, 0, 0], [0, 1, 0, 1, 0], [0, 0, 1, 0, 0]]]
    """
    places = torch.arange(texts.shape[1], device=texts.device)
    distance = (places - places[inside, None]).abs()
    distance[distance == 0] = texts.shape[1]
    near = distance <= sizes[..., None]
    middle = texts[:, inside, None]
    return (near & (texts[:, None] == middle) & (middle >= 0)).float()


def _rows(weight: Tensor, ids: Tensor) -> Tensor:
    """Return weight[ids], several times as fast as indexing."""
    return weight.index_select(0, ids.flatten()).view(*ids.shape, -1)


def _same(words: Tensor, noise: Tensor) -> Tensor:
    return (words[..., None] == noise).float()


def _logistic(
    scores: Tensor, weights: Tensor, signs: Tensor | int | None, with_loss: bool
) -> tuple[Tensor | float, Tensor]:
    """Return Σ weight · -ln σ(sign · score), 0 unless `with_loss`, and its gradient by the scores; signs None: 1."""
    scores = scores.float()  # in bfloat16, σ - 1 would be 0 for well learnt pairs
    right = (scores if signs is None else scores.mul_(signs)).sigmoid_()
    # This takes a third of the time of softplus(-score), and is as exact down to scores of -69.
    loss = -torch.dot(right.clamp(min=1e-30).log_().flatten(), weights.flatten()) if with_loss else 0.0
    factors = right.sub_(1).mul_(weights)
    return loss, factors if signs is None else factors.mul_(signs)
