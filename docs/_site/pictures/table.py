# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What each picture shows: a small model of the architecture, what it reads, and its modules in order.

Formulas are those of the model's own files, in their letters.
"""

from dataclasses import dataclass, field
from typing import Any

from docs._site.pictures.drawing import Data, Item, Link, Step

SOFTMAX = Step("softmax: probabilities")
BATCH, SEQ, SOURCE, HIDDEN, WORD, VOCAB = 14, 7, 11, 24, 20, 101
TEXT = {"batch": BATCH, "seq": SEQ, "vocab": VOCAB}
STARTS = {"decoder_start_token_id": 0, "eos_token_id": 1, "pad_token_id": 2}
IDS = Data("Ids of the tokens", "input_ids")
LOGITS = Data("Logits of the next token", "logits", starts=False)


@dataclass(frozen=True)
class Architecture:
    """A picture.

    Attributes:
        title: what is written above it.
        model: the name of the model's class.
        config: the small model's configuration.
        inputs: of each argument of `forward` its axes.
        axes: the size of each axis.
        items: from top to bottom.
        links: arrows at the sides.
        options: further arguments of `forward`.
    """

    title: str
    model: str
    config: dict[str, Any]
    inputs: dict[str, tuple[str, ...]]
    axes: dict[str, int]
    items: tuple[Item, ...]
    links: tuple[Link, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
