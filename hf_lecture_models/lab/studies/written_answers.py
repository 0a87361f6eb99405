# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Answers that a causal language model writes after a prompt, by greedy search up to the end of the line."""

import string
from collections.abc import Iterator, Sequence
from typing import Any

from hf_lecture_models.base.evaluation_mode import evaluation_mode
from hf_lecture_models.base.limits import check_tokenizer
from hf_lecture_models.evaluation.encoding import encode_texts
from hf_lecture_models.evaluation.scoring import ContextLimit
from hf_lecture_models.generation.completion import generate_rows
from hf_lecture_models.lab.studies.prompting import PromptItem, encode_prompt, independent_groups, mean_with_error

_PUNCTUATION = str.maketrans("", "", string.punctuation)
# A line may be so many tokens longer than the longest answer: its end, and an answer written in other tokens.
_MORE_TOKENS = 4


def plain_answer(text: str) -> str:
    """Return an answer in small letters, without ASCII punctuation and repeated blanks.

    >>> plain_answer(" The sun was  rising .")
    'the sun was rising'
    """
    return " ".join(text.lower().translate(_PUNCTUATION).split())


def write_answers(
    model: Any, tokenizer: Any, items: Sequence[PromptItem], separator: str = " ", batch_size: int = 32
) -> list[str | None]:
    """Return the line that follows each prompt by greedy search; None where it has not ended in time.

    A line ends at a newline or with the text. It may have four tokens more than the item's longest answer. Of a prompt
    that leaves no room for them the beginning is cut off. After a prompt with a word that a closed vocabulary lacks
    nothing can follow, so the line is empty.

    >>> from hf_lecture_models import NGramForCausalLM, WordTokenizer
    >>> tokenizer = WordTokenizer.train(["the cat ran"], progress=False)
    >>> fit = {"order": 2, "smoothing": "maximum_likelihood", "progress": False}
    >>> model = NGramForCausalLM.fit(["the cat ran"], tokenizer, **fit)
    >>> write_answers(model, tokenizer, [PromptItem("the", ("cat ran", "cat sat"), 0)])
    [' cat ran']
    """
    check_tokenizer(model, tokenizer)
    limit = ContextLimit.of(model)
    longest = None if limit.exact or limit.carries_state else limit.longest
    prompts = encode_texts(tokenizer, [item.prompt.rstrip() for item in items])
    answers = iter(encode_texts(tokenizer, [f"{separator}{answer}" for item in items for answer in item.answers]))
    rows, sizes = [], []
    for item, prompt in zip(items, prompts, strict=True):
        size = max(len(next(answers).ids) for _ in item.answers) + _MORE_TOKENS
        row = encode_prompt(tokenizer, prompt)
        size = size if longest is None else min(size, longest - 1)
        rows.append(row if longest is None else row[-(longest - size) :])
        sizes.append(size)
    written: list[str | None] = [""] * len(items)
    with evaluation_mode(model):
        for places in _batches([p.possible for p in prompts], list(map(len, rows)), sizes, longest, batch_size):
            options = {"max_new_tokens": sizes[places[-1]], "do_sample": False}
            found = generate_rows(model, tokenizer, [rows[place] for place in places], **options)
            for place, [ids] in zip(places, found, strict=True):
                written[place] = _line(tokenizer, rows[place], ids[: sizes[place]])
    return written


def _batches(
    possible: list[bool], lengths: list[int], sizes: list[int], longest: int | None, batch_size: int
) -> Iterator[list[int]]:
    """Yield the places of prompts that are continued together, those with the longest answers last.

    >>> list(_batches([True, True, False, True], [5, 9, 1, 6], [3, 1, 1, 2], longest=10, batch_size=8))
    [[1], [3, 0]]
    """
    batch: list[int] = []
    # Alike in size, so that short answers do not wait for long ones.
    for place in sorted((place for place, one in enumerate(possible) if one), key=lambda p: (sizes[p], lengths[p])):
        width = max(lengths[one] for one in [*batch, place])
        if batch and (len(batch) == batch_size or (longest is not None and width + sizes[place] > longest)):
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def _line(tokenizer: Any, prompt: list[int], new: list[int]) -> str | None:
    """Return the text of the new tokens up to a newline or the end of the text; None if they have neither."""
    end = tokenizer.eos_token_id
    has_ended = end in new
    new = new[: new.index(end)] if has_ended else new
    # The blank before the first word is that of the whole text.
    before = tokenizer.decode(prompt, skip_special_tokens=True)
    line, newline, _ = tokenizer.decode([*prompt, *new], skip_special_tokens=True)[len(before) :].partition("\n")
    return line if has_ended or newline else None


def measure_written(items: Sequence[PromptItem], written: Sequence[str | None]) -> dict[str, Any]:
    """Return the share of lines that are the right answer after `plain_answer`, and its standard error.

    >>> items = [PromptItem("x", ("Yes.", "No."), 0), PromptItem("y", ("Yes.", "No."), 1)]
    >>> measure_written(items, [" yes .", None])["exact_match"]
    0.5
    """
    matches = [
        float(line is not None and plain_answer(line) == plain_answer(item.answers[item.label]))
        for item, line in zip(items, written, strict=True)
    ]
    mean, error = mean_with_error(matches, independent_groups(items))
    return {"exact_match": mean, "standard_error": error, "unfinished": sum(line is None for line in written)}
