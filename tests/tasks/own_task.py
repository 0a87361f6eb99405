# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A task in a module of a user's own, outside the package: texts read from their end."""

from typing import Any

from hf_lecture_models.tasks.language_models.causal import CausalLM, CausalLMRecipe


class ReversedLM(CausalLM):
    """The task of predicting the word before."""

    name = "reversed_lm"
    script = "train_reversed_lm.py"

    def read(self, recipe: CausalLMRecipe, part: str) -> Any:
        """Return texts whose words stand in the order from the last to the first."""
        texts = super().read(recipe, part)
        return None if texts is None else [" ".join(reversed(text.split())) for text in texts]
