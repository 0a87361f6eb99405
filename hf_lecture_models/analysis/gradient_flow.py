# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Gradient flow: the dependence of a text's last state on each of its words (slides R:436-477).

The Jacobian ∂h_L/∂u_l of the last position's state h_L (last layer) with respect to the vector u_l of the word l. In a
recurrent network it is a product,

    ∂h_L/∂u_l = ∂h_L/∂h_{L-1} · ... · ∂h_{l+1}/∂h_l · ∂h_l/∂u_l

which vanishes or explodes with L - l where the singular values of its factors stay below or above one (Hochreiter 1991;
Bengio, Simard and Frasconi 1994). In self-attention every u_l is one step away from h_L.

|.| is Frobenius' norm, the root of the sum of the squares of the singular values.
"""

import os
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from hf_lecture_models.analysis.figures import COLOURS, MARKERS, WIDTH, slide
from hf_lecture_models.analysis.text_inputs import TextInput, text_input
from hf_lecture_models.base.evaluation_mode import evaluation_mode
from hf_lecture_models.layers.recurrent_cells import Cell, cell_from_kernel
from hf_lecture_models.layers.recurrent_layer import RecurrentLayer

# Elements of h_L that are followed back at once, each in a row of the batch.
_ROWS = 64

UNTRAINED = ", untrained"
"""Ends the name of a model with new random weights, in pictures."""


@dataclass(frozen=True)
class GradientFlow:
    """The dependence of a text's last state on its words.

    Attributes:
        text: its tokens.
        singular_values: of ∂h_L/∂u_l, (seq, min(hidden, input)) float64, the largest first.
        step_singular_values: of ∂s_l/∂s_{l-1}, (seq, size of s) float64, where s is the state of the last recurrent
            layer that reads forwards: h, or h and c of an LSTM. None for a model without recurrence.
    """

    text: TextInput
    singular_values: Tensor
    step_singular_values: Tensor | None

    @property
    def norms(self) -> Tensor:
        """|∂h_L/∂u_l|, (seq,) float64, the first word's first."""
        return self.singular_values.norm(dim=1)


def measure_gradient_flow(model: Any, tokenizer: Any, text: str) -> GradientFlow:
    """Measure the dependence of the last state of `text` on each word.

    >>> from hf_lecture_models import RecurrentConfig, RecurrentForCausalLM, WordTokenizer
    >>> tokenizer = WordTokenizer.from_words(["the", "cat", "sat"])
    >>> model = RecurrentForCausalLM(RecurrentConfig(vocab_size=len(tokenizer), hidden_size=8, cell_type="elman"))
    >>> flow = measure_gradient_flow(model, tokenizer, "the cat sat the cat sat")
    >>> flow.norms.shape, bool(flow.norms[0] < flow.norms[-1]), flow.step_singular_values.shape
    (torch.Size([7]), True, torch.Size([7, 8]))

    Args:
        model: any model of ours or of transformers with a state for each position; of an encoder-decoder, the encoder.

    Raises:
        TypeError: `text` is not a str.
        ValueError: the model has no states with gradients; the text is blank, or longer than the model reads.
    """
    if model.config.is_encoder_decoder:
        model = model.get_encoder()
    read = text_input(model, tokenizer, text)
    with evaluation_mode(model):
        jacobians = input_jacobians(model, read.inputs)
        steps = _step_jacobians(model, read)
    if not all(part.isfinite().all() for part in (jacobians, steps) if part is not None):
        raise ValueError("the gradients hold NaN or infinity; the weights are damaged or training diverged")
    return GradientFlow(read, torch.linalg.svdvals(jacobians), None if steps is None else torch.linalg.svdvals(steps))


def input_jacobians(model: Any, inputs: Mapping[str, Tensor]) -> Tensor:
    """Return ∂h_L/∂u_l of the last position's state and each word vector: (seq, hidden, input), float64 on the CPU.

    Args:
        model: in evaluation mode, without dropout.
        inputs: of `forward`, each (1, seq).

    Raises:
        ValueError: the model does not look its words up in a table, or has no state for each position.
    """
    base = model.base_model
    caught: list[Tensor] = []

    def catch(module: nn.Module, given: Any, vectors: Tensor) -> Tensor:
        caught.append(vectors.detach().requires_grad_())
        return caught[-1]

    try:
        hook = model.get_input_embeddings().register_forward_hook(catch)
    except (AttributeError, NotImplementedError):
        raise ValueError(f"{type(model).__name__} has no word vectors to take gradients by; {_OTHERWISE}") from None
    try:
        length = inputs["input_ids"].shape[1]
        hidden = _state(base, inputs, length).shape[-1]
        rows = []
        for begin in range(0, hidden, _ROWS):
            elements = torch.arange(begin, min(begin + _ROWS, hidden), device=model.device)
            caught.clear()
            state = _state(
                base, {name: one.expand(len(elements), *one.shape[1:]) for name, one in inputs.items()}, length
            )
            if len(caught) != 1 or caught[0].shape[:-1] != (len(elements), length):
                raise ValueError(f"{type(model).__name__} does not read one vector for each token; {_OTHERWISE}")
            # Row i of the batch follows element i of h_L.
            followed = state[:, -1].gather(1, elements[:, None]).sum()
            rows.append(torch.autograd.grad(followed, caught[0])[0].double().cpu())
    finally:
        hook.remove()
    return torch.cat(rows).transpose(0, 1)  # (hidden, seq, input) -> (seq, hidden, input)


_OTHERWISE = "it can show its surprisal (see surprisal), if it is a language model"


def _state(base: Any, inputs: Mapping[str, Tensor], length: int) -> Tensor:
    with torch.enable_grad():
        state = getattr(base(**inputs), "last_hidden_state", None)
    if state is None or state.dim() != 3 or state.shape[1] != length:
        raise ValueError(f"{type(base).__name__} has no state for each position; {_OTHERWISE}")
    return state


def _step_jacobians(model: Any, read: TextInput) -> Tensor | None:
    """Return ∂s_l/∂s_{l-1} of the last recurrent layer that reads forwards, at the inputs of that layer."""
    layer = next((m for m in reversed(list(model.modules())) if isinstance(m, RecurrentLayer)), None)
    if layer is None:
        return None
    given: list[Tensor] = []
    hook = layer.register_forward_pre_hook(lambda module, arguments: given.append(arguments[0]))
    try:
        with torch.no_grad():
            model.base_model(**read.inputs)
    finally:
        hook.remove()
    return step_jacobians(cell_from_kernel(layer.rnn), given[0][0].detach())


def step_jacobians(cell: Cell, inputs: Tensor) -> Tensor:
    """Return ∂s_l/∂s_{l-1} at inputs (seq, input_size), from a state of zeros: (seq, size, size), float64 on the CPU.

    >>> from hf_lecture_models.layers.recurrent_cells import ElmanCell
    >>> step_jacobians(ElmanCell(input_size=2, hidden_size=3), torch.ones(4, 2)).shape
    torch.Size([4, 3, 3])
    """

    def step(state: Tensor, u: Tensor) -> tuple[Tensor, Tensor]:
        after = torch.cat(cell(u[None], tuple(state[None].split(cell.state_sizes, 1))), 1)[0]
        return after, after.detach()

    jacobian = torch.func.jacrev(step, has_aux=True)
    state, found = inputs.new_zeros(sum(cell.state_sizes)), []
    for u in inputs:
        one, state = jacobian(state, u)
        found.append(one.detach().double().cpu())
    return torch.stack(found)


def untrained(model: Any, seed: int = 0) -> Any:
    """Return a model of the same configuration with new random weights; the global random state stays as it was.

    >>> from hf_lecture_models import RecurrentConfig, RecurrentForCausalLM
    >>> type(untrained(RecurrentForCausalLM(RecurrentConfig(vocab_size=9, hidden_size=4)))).__name__
    'RecurrentForCausalLM'
    """
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return type(model)(deepcopy(model.config)).eval()


def save_gradient_flow(flows: Mapping[str, GradientFlow], path: str | os.PathLike[str], caption: str) -> None:
    """Draw |∂h_L/∂u_l| against the distance L - l, and the singular values of one step of recurrent networks below.

        flow = measure_gradient_flow(model, tokenizer, text)
        fresh = measure_gradient_flow(untrained(model), tokenizer, text)
        save_gradient_flow({"LSTM": flow, "LSTM, untrained": fresh}, "gradients.svg", caption="...")

    Args:
        flows: by the model's name; colours repeat after seven models. A name that ends in "untrained" has a dashed
            line, in the colour of the trained model.
        caption: names the text, for example.

    Raises:
        ValueError: there is nothing to draw.
    """
    if not flows:
        raise ValueError(f"nothing to draw in {path}: give the gradient flow of one model at least")
    steps = any(flow.step_singular_values is not None for flow in flows.values())
    title = "How much the last state depends on a word, by distance" + (", and one step's Jacobian" if steps else "")
    with slide(path, title, caption, WIDTH, 8.4 if steps else 4.6, rows=1 + steps, legend=True) as panels:
        distances = panels[0] if steps else panels
        _draw_flows(flows, distances, panels[1] if steps else None)
        distances.set_yscale("log")
        distances.set_xlabel("distance $L - l$ in tokens", parse_math=True)
        distances.set_ylabel(r"$|\partial h_L / \partial u_l|$")
        if steps:
            panels[1].axhline(1, color="0.5", linewidth=1)
            panels[1].set_yscale("log")
            panels[1].set_xlabel("rank")
            panels[1].set_ylabel(r"singular values of $\partial s_l / \partial s_{l-1}$")


def _draw_flows(flows: Mapping[str, GradientFlow], distances: Any, ranks: Any) -> None:
    families = list(dict.fromkeys(name.removesuffix(UNTRAINED) for name in flows))
    for name, flow in flows.items():
        number = families.index(name.removesuffix(UNTRAINED)) % len(COLOURS)
        look = {"color": COLOURS[number], "linestyle": "--" if name.endswith(UNTRAINED) else "-", "linewidth": 2}
        norms = flow.norms.flip(0)
        # Zeros, of words outside the model's window, have no place on the axis.
        places = norms.nonzero()[:, 0]
        mark = {"marker": MARKERS[number], "markevery": max(1, len(norms) // 8), "markersize": 7}
        distances.plot(places, norms[places], label=name, **look, **mark)
        if flow.step_singular_values is not None:
            median = flow.step_singular_values.median(0).values
            ranks.plot(range(1, len(median) + 1), median, **look | mark | {"markevery": max(1, len(median) // 8)})
