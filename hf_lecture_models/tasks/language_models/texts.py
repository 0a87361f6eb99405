# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The base class of tasks whose data are texts alone, such as language models."""

import math
import sys
from typing import Any

from hf_lecture_models.data.holdout import HeldOut
from hf_lecture_models.data.reading import read_part_texts
from hf_lecture_models.tasks.core.factories import tokenizer_for
from hf_lecture_models.tasks.core.hold_out import hold_out_texts
from hf_lecture_models.tasks.core.task import RecipeType, Task


class TextsTask(Task[RecipeType]):
    """A task on texts; its data are a list of them, and it has a tokenizer for these."""

    def read(self, recipe: Any, part: str) -> Any:
        """Return a list of texts; None if the recipe names none for the part."""
        return read_part_texts(recipe, part)

    def hold_out(self, data: Any, recipe: Any) -> tuple[Any, Any, HeldOut | None]:
        """Split texts into those to train on and stretches of neighbouring ones to validate on; log how many."""
        return hold_out_texts(data, recipe)

    def processor(self, recipe: RecipeType, data: Any) -> Any:
        """Return the tokenizer of `from_pretrained`, or a new one for the texts."""
        return tokenizer_for(recipe, data)


def perplexity(nats: float) -> float:
    """Return exp of a mean -ln P; infinity in place of an overflow.

    >>> perplexity(0.0), perplexity(1e4)
    (1.0, inf)
    """
    return math.exp(nats) if nats < math.log(sys.float_info.max) else math.inf
