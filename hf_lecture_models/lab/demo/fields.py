# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The fields in the tabs of the demo page, and the functions that answer into them."""

import sys
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from hf_lecture_models.lab.demo import rendering
from hf_lecture_models.lab.demo.answers import LoadedModel

Answer = Callable[..., str | tuple[str, ...]]


def answered(answer: Answer, outputs: int) -> Answer:
    """Return `answer` as a function for gradio, with an error as one line in the first of so many outputs."""

    def run(*inputs: Any) -> str | tuple[str, ...]:
        try:
            return answer(*inputs)
        except (TypeError, ValueError) as error:
            message = textwrap.shorten(str(error), 300, placeholder=" ...")
        except Exception as error:
            print(f"hf-lecture demo: {type(error).__name__}: {error}", file=sys.stderr)
            message = "the model could not answer this; the terminal of the page says why"
        shown = rendering.render_error(message)
        return shown if outputs == 1 else (shown, *[""] * (outputs - 1))

    return run


def add_choice_of_model(gradio: Any, models: Sequence[LoadedModel]) -> Any:
    """Return a field that chooses a model by its place; it is hidden if there is one model."""
    names = [loaded.name for loaded in models]
    return gradio.Radio(names, value=names[0], type="index", label="Model", visible=len(names) > 1)


def add_button(
    gradio: Any,
    label: str,
    answer: Answer,
    inputs: list[Any],
    outputs: list[str],
    script: str | None = None,
    seed: Any = None,
) -> None:
    """Add a button whose answer goes into a field of HTML for each name in `outputs`; answers come one at a time.

    The key Enter in a text of one line does the same, and so does Shift and Enter in a longer one.

    Args:
        script: a function in JavaScript that changes the inputs in the browser before they are sent.
        seed: one of the inputs; a second button takes the next seed, and asks again.
    """
    name = f"button-{label.lower().replace(' ', '-')}"
    with gradio.Row():
        button = gradio.Button(label, variant="primary", elem_id=name, scale=4)
        other = None if seed is None else gradio.Button("Another (next seed)", elem_id=f"{name}-another", scale=1)
    fields = [add_html(gradio, elem_id=name) for name in outputs]
    run = answered(answer, len(fields))
    texts = [one for one in inputs if isinstance(one, gradio.Textbox) and one.visible]
    private: dict[str, Any] = {"api_visibility": "private"}
    one_at_a_time: dict[str, Any] = {"concurrency_limit": 1, "concurrency_id": "model", **private}
    gradio.on([button.click, *(text.submit for text in texts)], run, inputs, fields, js=script, **one_at_a_time)
    if other is not None:
        following = other.click(None, [seed], [seed], js="seed => (seed ?? -1) + 1", **private)
        following.then(run, inputs, fields, js=script, **one_at_a_time)


def add_html(gradio: Any, value: str = "", **options: Any) -> Any:
    """Return a field of HTML."""
    return gradio.HTML(value, apply_default_css=False, **options)
