# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Exercises on training without labels: an update of skip-gram, and BERT's masked tokens."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from hf_lecture_models.lab.exercises import adapter
from hf_lecture_models.lab.exercises.draws import integers, normal, uniform
from hf_lecture_models.lab.exercises.exercise import Case, Exercise, Slip


def skip_gram_update(
    inputs: Tensor, outputs: Tensor, centres: Tensor, contexts: Tensor, noise: Tensor, learning_rate: float
) -> tuple[Tensor, Tensor]:
    """Return word2vec's two matrices after one step of gradient descent, without autograd.

    Skip-gram with negative sampling (slide R:678-690; Mikolov et al., NeurIPS 2013, equation 4). A pair of a word c in
    the centre and a word w in its window, with h = inputs[c], v = outputs and the noise words n_1 ... n_k, costs

        -ln σ(h · v_w) - Σ_i ln σ(-h · v_{n_i})

    The loss is the sum over the pairs, and every row of both matrices moves by -learning_rate times its gradient, all
    of them taken before the step. The derivative of -ln σ(s) by a score s is σ(s) - 1, and that of -ln σ(-s) is σ(s).

    - A noise word that is w itself counts nothing.
    - A word may be in several pairs, and may be drawn several times: its gradients add up.

    Args:
        inputs: (vocab, hidden), the vectors of words in the centre.
        outputs: (vocab, hidden), the vectors of predicted words.
        centres: (pairs,), int64.
        contexts: (pairs,), int64, the word w of each pair.
        noise: (pairs, k), int64, the noise words of each pair.
        learning_rate: the step's size.

    Returns:
        The new inputs and the new outputs.
    """
    raise NotImplementedError


def _pair_cases(generator: torch.Generator) -> list[Case]:
    cases = []
    for vocab, hidden, pairs, k in ((4, 2, 1, 1), (4, 2, 2, 2), (6, 3, 5, 3), (9, 4, 12, 5)):
        case = {"inputs": normal(generator, vocab, hidden), "outputs": normal(generator, vocab, hidden)}
        case["centres"], case["contexts"] = integers(generator, 0, vocab, 2, pairs)
        case["noise"] = integers(generator, 0, vocab, pairs, k)
        if k > 1:
            case["noise"][0] = case["contexts"][0]
            case["centres"][1] = case["centres"][0]
        cases.append({**case, "learning_rate": 0.5})
    return cases


def _wrong_update(
    noise_sign: float = 1.0,
    direction: float = -1.0,
    accumulate: bool = True,
    keep_own: bool = False,
    in_turn: bool = False,
    averaged: bool = False,
) -> Callable[..., tuple[Tensor, Tensor]]:
    """Return an update that differs in one of these from the right one."""

    def update(
        inputs: Tensor, outputs: Tensor, centres: Tensor, contexts: Tensor, noise: Tensor, learning_rate: float
    ) -> tuple[Tensor, Tensor]:
        words = torch.cat((contexts[:, None], noise), 1)
        labels = torch.zeros(words.shape, dtype=inputs.dtype)
        labels[:, 0] = 1
        counted = (words != contexts[:, None]) | (labels == 1) | keep_own
        h, v = inputs[centres], outputs[words]
        factors = (torch.sigmoid(torch.einsum("pd,pwd->pw", h, v)) - labels) * counted
        factors[:, 1:] *= noise_sign
        rate = direction * learning_rate / (len(centres) if averaged else 1)
        by_h = rate * torch.einsum("pw,pwd->pd", factors, v)
        new_inputs = inputs.index_put((centres,), by_h if accumulate else h + by_h, accumulate=accumulate)
        if in_turn:
            h = new_inputs[centres]
        by_v = rate * factors[..., None] * h[:, None]
        return new_inputs, outputs.index_put((words,), by_v, accumulate=True)

    return update


SKIP_GRAM_UPDATE = Exercise(
    skip_gram_update,
    "a step of word2vec with negative sampling, without autograd",
    "R:678-690",
    adapter.skip_gram_update,
    _pair_cases,
    ("the inputs", "the outputs"),
    (
        Slip(
            _wrong_update(accumulate=False),
            "a word that is the centre of several pairs moves by one pair's gradient alone: x[rows] -= y counts a row "
            "that is named twice once; use index_add_",
        ),
        Slip(
            _wrong_update(noise_sign=-1.0),
            "noise words are pulled towards h; the derivative of -ln σ(-s) is +σ(s), which pushes them away",
        ),
        Slip(_wrong_update(direction=1.0), "you add the gradient; descent subtracts it"),
        Slip(_wrong_update(keep_own=True), "a noise word that is the predicted word itself is counted; leave it out"),
        Slip(
            _wrong_update(in_turn=True),
            "the outputs' gradient has the inputs after their step; take both gradients before either step",
        ),
        Slip(_wrong_update(averaged=True), "this is the step for the mean over the pairs; the loss is their sum"),
    ),
)


def mask_tokens(
    ids: Tensor, maskable: Tensor, order: Tensor, fate: Tensor, random_ids: Tensor, mask_id: int, share: float
) -> tuple[Tensor, Tensor]:
    """Return the tokens that BERT reads in pre-training, and its labels.

    Slide N s61-63; Devlin, Chang, Lee & Toutanova 2018, section 3.1. In each row a share of the tokens, 15 % as a rule,
    is chosen and has to be predicted. The mask token replaces 80 % of the chosen ones, a random token 10 %, and 10 %
    stay. All random numbers are given:

    - Of a row with n tokens that may be masked, the round(share · n) with the smallest `order` are chosen, but one at
      least (none if n is 0); round is Python's.
    - A chosen token becomes `mask_id` where its fate is below 0.8, its token of `random_ids` where it is below 0.9, and
      stays from 0.9 on.
    - The label of a chosen token is the original token, also where it stays; all other labels are -100.

    Args:
        ids: (rows, width), int64.
        maskable: (rows, width) bool, False for special tokens and padding, which are never chosen.
        order: (rows, width), numbers from [0, 1).
        fate: (rows, width), numbers from [0, 1).
        random_ids: (rows, width), int64.
        mask_id: the id of the mask token.
        share: the share of tokens to choose, such as 0.15.

    Returns:
        The tokens to read and the labels, (rows, width) int64 each.
    """
    raise NotImplementedError


def _mask_cases(generator: torch.Generator) -> list[Case]:
    cases: list[Case] = []
    for rows, width, share in ((1, 4, 0.5), (2, 10, 0.15), (3, 24, 0.15), (8, 40, 0.4)):
        case: Case = {"ids": integers(generator, 5, 99, rows, width)}
        maskable = uniform(generator, rows, width) > 0.15
        maskable[:, 0] = False
        maskable[-1] &= rows < 3  # a row of padding
        case |= {
            "maskable": maskable,
            "order": uniform(generator, rows, width),
            "fate": uniform(generator, rows, width),
        }
        case |= {"random_ids": integers(generator, 5, 99, rows, width), "mask_id": 4, "share": share}
        cases.append(case)
    # The tokens of the first row have a fate of each kind.
    cases[0]["fate"][0] = torch.tensor([0.5, 0.85, 0.95, 0.3], dtype=torch.float64)
    cases[0]["maskable"][0] = torch.tensor([False, True, True, True])
    return cases


def _wrong_masks(
    limits: tuple[float, float] = (0.8, 0.9),
    special: bool = False,
    label: str = "chosen",
    rounded: bool = True,
    of_width: bool = False,
    largest: bool = False,
) -> Callable[..., tuple[Tensor, Tensor]]:
    """Return a masking that differs in one of these from the right one."""

    def masks(
        ids: Tensor, maskable: Tensor, order: Tensor, fate: Tensor, random_ids: Tensor, mask_id: int, share: float
    ) -> tuple[Tensor, Tensor]:
        allowed = torch.ones_like(maskable) if special else maskable
        number = (share * (torch.ones_like(allowed) if of_width else allowed).sum(1)).round().clamp(min=1)[:, None]
        rank = (-order if largest else order).masked_fill(~allowed, 2.0).argsort(1).argsort(1)
        chosen = allowed & (rank < number if rounded else order < share)
        inputs = torch.where(chosen & (fate < limits[1]), random_ids, ids)
        inputs[chosen & (fate < limits[0])] = mask_id
        shown: dict[str, Any] = {"chosen": chosen, "all": torch.ones_like(chosen), "changed": inputs != ids}
        return inputs, torch.where(shown[label], ids, -100)

    return masks


MASK_TOKENS = Exercise(
    mask_tokens,
    "BERT's masked tokens: 80 % masks, 10 % random, 10 % unchanged",
    "N s61-63",
    adapter.mask_tokens,
    _mask_cases,
    ("the tokens", "the labels"),
    (
        Slip(_wrong_masks(limits=(1.0, 1.0)), "every chosen token becomes the mask token; that is so for 80 % of them"),
        Slip(
            _wrong_masks(label="changed"),
            "a chosen token that stays as it is has the label -100; it has to be predicted as well",
        ),
        Slip(_wrong_masks(label="all"), "every token has a label; those that were not chosen have -100"),
        Slip(_wrong_masks(special=True), "tokens are chosen that are not maskable, special ones or padding"),
        Slip(
            _wrong_masks(rounded=False),
            "each token is chosen by itself, with probability share; a row has exactly round(share · n) chosen ones",
        ),
        Slip(
            _wrong_masks(of_width=True),
            "a share of all tokens of the row is chosen; it is a share of those that may be masked",
        ),
        Slip(_wrong_masks(largest=True), "the tokens with the largest order are chosen; those with the smallest are"),
        Slip(
            _wrong_masks(limits=(0.1, 0.9)), "80 % of the chosen tokens are random and 10 % masked: the other way round"
        ),
    ),
)
