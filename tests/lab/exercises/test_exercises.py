# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Each exercise: the blank fails, the package and another right answer pass, each slip gets its own hint."""

from __future__ import annotations

import ast
import inspect
import itertools
import re
from collections import Counter

import pytest
import torch

from hf_lecture_models.lab.exercises import adapter
from hf_lecture_models.lab.exercises.checking import check
from hf_lecture_models.lab.exercises.comparing import differences
from hf_lecture_models.lab.exercises.registry import EXERCISES, blank_file
from tests.lab.exercises import other_answers
from tests.test_readme import ROOT

BY_NAME = pytest.mark.parametrize("exercise", EXERCISES.values(), ids=list(EXERCISES))


@BY_NAME
@pytest.mark.filterwarnings("error")
def test_another_right_answer_equals_the_package(exercise):
    """Discounts that are not estimated but guessed give a warning."""
    assert exercise.answer is getattr(adapter, exercise.name)
    verdict = check(exercise, getattr(other_answers, exercise.name))
    assert verdict.is_right, verdict.problem


@pytest.mark.cases(0, 4)
@BY_NAME
@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_right_answers_are_right_on_other_inputs_and_slips_are_told_apart(exercise):
    for seed in range(1, 9):
        verdict = check(exercise, getattr(other_answers, exercise.name), seed)
        assert verdict.is_right, (seed, verdict.problem)
    for slip in exercise.slips:
        assert check(exercise, slip.function, seed=8).hint == slip.hint


@BY_NAME
def test_a_blank_says_that_nothing_is_returned_yet(exercise):
    for function in (exercise.blank, lambda *inputs: None):
        verdict = check(exercise, function)
        assert (verdict.is_right, verdict.problem, verdict.hint) == (False, "nothing is returned yet", "")


@BY_NAME
def test_every_slip_gets_its_own_hint(exercise):
    assert len(exercise.slips) >= 3
    for slip in exercise.slips:
        verdict = check(exercise, slip.function)
        assert (verdict.is_right, verdict.hint) == (False, slip.hint), verdict.problem


@BY_NAME
def test_results_in_another_order_get_a_hint(exercise):
    if len(exercise.results) > 1:
        verdict = check(exercise, lambda *given: exercise.answer(*given)[::-1])
        assert (verdict.is_right, verdict.hint.partition(" return ")[2]) == (False, ", ".join(exercise.results))


@BY_NAME
def test_inputs_follow_from_the_seed_and_fit_the_call(exercise):
    first, again, other = exercise.inputs(), exercise.inputs(0), exercise.inputs(1)
    names = list(inspect.signature(exercise.blank).parameters)
    assert [*map(list, first)] == [names] * len(first)
    assert exercise.call == f"{exercise.name}({', '.join(names)})"
    assert repr(first) == repr(again) != repr(other)


@BY_NAME
def test_the_blank_explains_every_input(exercise):
    text = inspect.getdoc(exercise.blank)
    assert exercise.slide in re.sub(r" and (?=Y)", ", ", text)
    listed = text.partition("Args:")[2].partition("Returns:")[0]
    explained = re.findall(r"^    ([\w, ]+): ", listed, re.MULTILINE)
    assert ", ".join(explained) == ", ".join(inspect.signature(exercise.blank).parameters)


def test_a_printed_file_is_python_that_the_linter_would_take():
    names = list(EXERCISES)
    for chosen in (names[:1], names):
        tree = ast.parse(blank_file(chosen))
        assert "hf-lecture exercise" in ast.get_docstring(tree)
        assert [node.name for node in tree.body if isinstance(node, ast.FunctionDef)] == chosen
        assert not blank_file(chosen).startswith("#")


def test_the_blanks_of_a_printed_file_run_and_fail(tmp_path):
    namespace = {}
    exec(compile(blank_file(list(EXERCISES)), "my.py", "exec"), namespace)
    for exercise in EXERCISES.values():
        assert check(exercise, namespace[exercise.name]).problem == "nothing is returned yet"


LSTM = EXERCISES["lstm_cell"]


def changed(change):
    """The LSTM's right answer, with something done to h."""

    def cell(*inputs):
        h, c = other_answers.lstm_cell(*inputs)
        return change(h), c

    return cell


def in_place(u, h, c, W, b):
    result = other_answers.lstm_cell(u, h, c, W, b)
    h.zero_()
    return result


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (changed(lambda h: h.T.contiguous()[None]), "h has the shape (1, 1, 1); (1, 1) is needed"),
        (changed(torch.Tensor.float), "h is float32; float64 is needed"),
        (changed(lambda h: h.to("meta")), "h is on meta; the inputs are on cpu"),
        (changed(torch.Tensor.tolist), "h is a list; a torch tensor of shape (1, 1) is needed"),
        (changed(lambda h: h / 0 * 0), "h[0, 0] is NaN"),
        (changed(lambda h: h + 0.25 * (h.shape[1] == 2)), "h[0, 0] is"),
        (changed(lambda h: h.detach()), "gradients are not: the gradient of u[0, 0] is"),
        (lambda *inputs: tuple(x.detach() for x in other_answers.lstm_cell(*inputs)), "no gradient comes from them"),
        (lambda *inputs: other_answers.lstm_cell(*inputs)[0], "a tensor of shape (1, 1) is returned; 2 results are"),
        (lambda *inputs: (*other_answers.lstm_cell(*inputs), 1), "3 results are returned; 2 are needed: h, c"),
        (lambda u, h: h, "it has to be called as lstm_cell(u, h, c, W, b): "),
        (lambda *inputs: torch.nonsense, "AttributeError: module 'torch' has no attribute 'nonsense'"),
        (lambda *inputs: len(3), "TypeError: object of type 'int' has no len()"),
        (in_place, "the input h is changed in place; leave the inputs as they are, and work on a copy, h.clone()"),
    ],
)
def test_a_wrong_result_is_described(function, problem):
    verdict = check(LSTM, function)
    assert not verdict.is_right
    assert problem in verdict.problem
    assert verdict.hint == ""


def test_autograd_where_it_is_not_asked_for_is_explained():
    def by_autograd(u, Y, W, *others):
        W.clone().requires_grad_().sum().mul(2).backward()

    assert "gradients are switched off here" in check(EXERCISES["backpropagation_through_time"], by_autograd).problem


def test_the_first_wrong_input_is_named_with_the_largest_difference():
    verdict = check(LSTM, changed(lambda h: h + 0.25 * torch.arange(h.numel()).view(h.shape)))
    number, case = verdict.case
    assert number == 2
    assert torch.equal(case["W"], LSTM.inputs()[1]["W"])
    assert verdict.problem.endswith("the largest difference is 0.25, at [0, 1]")


def test_a_softmax_over_the_wrong_axis_has_its_hint_with_infinite_scores_too():
    def attend(q, k, v, mask):
        scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~mask, -torch.inf)
        return scores.softmax(-2) @ v

    verdict = check(EXERCISES["attention"], attend)
    assert verdict.case[0] == 1
    assert verdict.hint.startswith("the softmax runs over the queries")


def test_a_slip_is_named_though_another_input_fails():
    """A hint needs the same results wherever there are any, and at the first wrong input."""
    slip = LSTM.slips[0]

    def fails_at(size):
        def cell(u, h, c, W, b):
            if h.shape[1] == size:
                raise ValueError("not this one")
            return slip.function(u, h, c, W, b)

        return cell

    assert check(LSTM, fails_at(4)).hint == slip.hint
    assert check(LSTM, fails_at(1)).hint == ""

    def another_at_the_end(u, h, c, W, b):
        return (h, c) if len(h) == 4 else slip.function(u, h, c, W, b)

    assert check(LSTM, another_at_the_end).hint == ""


@pytest.mark.parametrize(
    ("found", "expected", "problem"),
    [
        ([1.0, 2.0], [1.0, 2.5], "x[1] is 2, but 2.5 is right: off by 0.5"),
        ([1.0], [1.0, 2.5], "x has 1 numbers; 2 are needed"),
        (3, [1.0, 2.5], "x: an int is returned; a list of 2 numbers is needed"),
        ("a", 1.0, "x is a str; a number is needed"),
        (float("nan"), 1.0, "x is NaN"),
        (True, 1.0, "x is a bool; a number is needed"),
        ({"a": 1}, {"a": 2}, "x have 1 for 'a', but 2 is right"),
        ({"b": 1}, {"a": 1}, "x lack 'a'"),
        ({"a": 1, "b": 1}, {"a": 1}, "x have 'b', which does not belong there"),
        (["a"], ["b"], "x: ['a'] is returned, but ['b'] is right"),
        (["a"] * 99, ["a"] * 98 + ["b"], "x differ from place 98 on: ['a'] in place of ['b']"),
        (
            ["a"] * 70,
            ["a"] * 60,
            "x differ from place 60 on: ['a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a'] in place of []",
        ),
        ([torch.zeros(2), 1], [0, 1], "x: [tensor([0., 0.]), 1] is returned, but [0, 1] is right"),
        ("ab", ["a", "b"], "x: a str is returned; a list is needed, such as ['a', 'b']"),
        (torch.tensor([1]), torch.tensor([2]), "x[0] is 1, but 2 is right"),
        (torch.tensor([float("inf")]), torch.tensor([2.0]), "x[0] is inf, but 2 is right"),
        (torch.tensor(3.0), torch.tensor(2.0), "x is 3, but 2 is right"),
        (torch.tensor([1.05e-5]), torch.tensor([0.0]), "x[0] is 1.05e-05, but 0 is right"),
    ],
)
def test_differences_are_described(found, expected, problem):
    assert differences(found, expected, ("x",)) == problem


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ((1.0, 2), [1.0, 2.0]),
        (torch.tensor(1.0), 1.0),
        (("a", "b"), ["a", "b"]),
        (Counter("a"), {"a": 1}),
        (torch.tensor([4, 1]), [4, 1]),
        (torch.tensor([1000.005]), torch.tensor([1000.0])),
    ],
)
def test_results_of_other_kinds_that_mean_the_same_are_right(found, expected):
    assert differences(found, expected, ("x",)) is None


def test_hints_and_titles_are_all_different():
    hints = [slip.hint for exercise in EXERCISES.values() for slip in exercise.slips]
    assert len({*hints}) == len(hints) >= 36
    assert len({exercise.title for exercise in EXERCISES.values()}) == len(EXERCISES) == 12


def test_the_page_lists_the_exercises_in_their_order_with_their_slides():
    page = (ROOT / "docs" / "exercises.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[?`(\w+)`.*? \| ([^|]*) \|", page, re.MULTILINE)
    assert rows == [(exercise.name, exercise.slide) for exercise in EXERCISES.values()]


def test_three_exercises_run_without_autograd_even_if_it_was_switched_on():
    """What they ask for is given to nobody by mistake: a plain call of `backward` fails with torch's error."""
    for name in ("backpropagation_through_time", "layer_norm_gradient", "skip_gram_update"):
        seen = []
        check(EXERCISES[name], lambda *inputs, seen=seen: seen.append(torch.is_grad_enabled()))
        assert seen
        assert not any(seen)


def test_beam_search_of_the_package_is_the_definition():
    """Under other penalties too: the adapter calls transformers, whose search is not ours."""
    exercise = EXERCISES["beam_search"]
    for case, penalty in itertools.product(exercise.inputs(7)[1:3], (0.0, 0.5, 1.5)):
        given = case | {"length_penalty": penalty}
        assert exercise.answer(**given) == other_answers.beam_search(**given)
