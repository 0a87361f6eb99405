# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The page `gradients`: its networks, gradients and Adam equal torch's, and what it says about training is true."""

import numpy as np
import pytest
import torch
from torch import nn

from hf_lecture_models import RecurrentConfig, RecurrentForCausalLM
from hf_lecture_models.lab.live.pages import PAGES
from hf_lecture_models.layers.recurrent_cells import cell_from_kernel
from hf_lecture_models.trainer.optimization import clip_gradients
from tests.live.running import opened, page_file, run_node, tab_stops

SCRIPTS = ["numbers.js", *PAGES["gradients"].parts]
SEEDS = [1, 2, 3, 4, 5]
MAKE = "const NETWORKS = { elman: ElmanLearner, lstm: LstmLearner };\n"
READ = (
    MAKE
    + """
const arrays = (object) => Object.fromEntries(Object.entries(object).map(([name, one]) => [name, Array.from(one)]));
const vectors = (object) =>
  Object.fromEntries(Object.entries(object).map(([name, one]) => [name, one.map((x) => [...x])]));
const main = (cells) => cells.map((cell) => {
  const model = new NETWORKS[cell](RECALL_WORDS.length, 5, randomNumbers(3), { scale: 2, forgetBias: 1 });
  model.weights.e.forEach((_, word) => { model.weights.e[word] = word / 10; });
  const gradients = zerosLike(model.weights);
  const example = drawRecall(7, randomNumbers(4));
  const { loss, logProbs, back } = recallGradients(model, example, gradients, 0.25);
  const differences = Object.entries(model.weights).flatMap(([name, values]) => Array.from(values, (value, i) => {
    const lossAt = (x) => { values[i] = x; return recallLoss(model, example).loss; };
    const difference = lossAt(value + 1e-5) - lossAt(value - 1e-5);
    values[i] = value;
    return 0.25 * difference / 2e-5 - gradients[name][i];
  }));
  return { example, loss, logProbs: [...logProbs], weights: arrays(model.weights), gradients: arrays(gradients),
    back: vectors(back), difference: Math.max(...differences.map(Math.abs)) };
});
"""
)
OPTIMISE = """
function main({ weights, gradients, rate, clip }) {
  const theta = Object.fromEntries(Object.entries(weights).map(([name, values]) => [name, Float64Array.from(values)]));
  const adam = new Adam(theta, rate);
  return gradients.map((one) => {
    const g = Object.fromEntries(Object.entries(one).map(([name, values]) => [name, Float64Array.from(values)]));
    const norm = clipGradients(g, clip);
    adam.update(g);
    const clipped = Object.values(g).map((values) => Array.from(values));
    return { norm, clipped, weights: Object.values(theta).map((values) => Array.from(values)) };
  });
}
"""
TRAIN = (
    MAKE
    + """
function main({ cases, seeds }) {
  return cases.map(([cell, changes]) => seeds.map((seed) => {
    const settings = { ...RECALL_DEFAULTS, ...changes, seed, clip: changes.clip === "none" ? Infinity : 1 };
    const training = new RecallTraining(NETWORKS[cell], settings);
    const texts = recallTexts(settings.length, 200);
    const norms = training.gradientNorms(texts.slice(0, 12));
    const shares = Object.fromEntries(Object.entries(norms).map(([name, values]) => [name, values[0] / values.at(-1)]));
    for (let step = 0; step < settings.steps; step++) training.step();
    return { right: training.accuracy(texts), largest: training.largest, shares };
  }));
}
"""
)


def package_model(cell: str, weights: dict[str, list[float]]) -> RecurrentForCausalLM:
    """The package's network with these weights, in float64; its word vectors are the unit vectors."""
    words, size = 8, 5
    config = RecurrentConfig(
        cell_type=cell, vocab_size=words, embedding_size=words, hidden_size=size, num_hidden_layers=1
    )
    model = RecurrentForCausalLM(config).double()
    kernel = model.model.layers[0].rnn
    table = {name: torch.tensor(values, dtype=torch.float64) for name, values in weights.items()}
    with torch.no_grad():
        model.model.embed_tokens.weight.copy_(torch.eye(words))
        kernel.weight_ih_l0.copy_(table["W"].view(words, -1).T)
        kernel.weight_hh_l0.copy_(table["V"].view(-1, size))
        kernel.bias_ih_l0.copy_(table["b"])
        kernel.bias_hh_l0.zero_()
        model.lm_head.weight.copy_(table["O"].view(words, size))
        model.lm_head.bias.copy_(table["e"])
    return model


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    """What the page's networks computed for a text, by their cells."""
    cells = ["elman", "lstm"]
    return dict(zip(cells, run_node(tmp_path_factory.mktemp("node"), SCRIPTS, READ, cells), strict=True))


@pytest.mark.parametrize("cell", ["elman", "lstm"])
def test_gradients_equal_torch(read, cell):
    found = read[cell]
    model = package_model(cell, found["weights"])
    text, answer = torch.tensor([found["example"]["text"]]), torch.tensor([found["example"]["answer"]])
    logits = model(text).logits[:, -1]
    loss = nn.functional.cross_entropy(logits, answer)
    (0.25 * loss).backward()
    kernel = model.model.layers[0].rnn
    expected = {
        "W": kernel.weight_ih_l0.grad.T,
        "V": kernel.weight_hh_l0.grad,
        "b": kernel.bias_ih_l0.grad,
        "O": model.lm_head.weight.grad,
        "e": model.lm_head.bias.grad,
    }
    assert found["loss"] == pytest.approx(loss.item(), abs=1e-12)
    np.testing.assert_allclose(found["logProbs"], logits.log_softmax(-1)[0].detach(), atol=1e-10)
    assert found["gradients"].keys() == expected.keys()
    for name, gradient in expected.items():
        assert gradient.abs().max() > 1e-6
        np.testing.assert_allclose(found["gradients"][name], gradient.reshape(-1), atol=1e-10, rtol=0, err_msg=name)


@pytest.mark.parametrize("cell", ["elman", "lstm"])
def test_gradients_of_states_equal_torch(read, cell):
    """∂L/∂h_t and ∂L/∂c_t at each word, by the cells written out."""
    found = read[cell]
    model = package_model(cell, found["weights"])
    q = cell_from_kernel(model.model.layers[0].rnn)
    states = [tuple(torch.zeros(1, size, dtype=torch.float64, requires_grad=True) for size in q.state_sizes)]
    for word in found["example"]["text"]:
        states.append(q(model.model.embed_tokens(torch.tensor([word])), states[-1]))
    answer = torch.tensor([found["example"]["answer"]])
    loss = 0.25 * nn.functional.cross_entropy(model.lm_head(states[-1][0]), answer)
    for number, name in enumerate(found["back"]):
        gradients = torch.autograd.grad(loss, [state[number] for state in states], retain_graph=True)
        np.testing.assert_allclose(found["back"][name], torch.cat(gradients), atol=1e-10, rtol=0, err_msg=name)


@pytest.mark.parametrize("cell", ["elman", "lstm"])
def test_gradients_equal_differences(read, cell):
    assert read[cell]["difference"] < 1e-8


def test_adam_and_clipping_equal_torch(tmp_path):
    draw = np.random.default_rng(0)
    weights = {"W": draw.normal(size=12), "b": draw.normal(size=3)}
    gradients = [{name: draw.normal(size=one.shape) * 2 ** (k / 4) for name, one in weights.items()} for k in range(20)]
    gradients[3] = {name: np.zeros_like(one) for name, one in weights.items()}
    as_lists = [{name: one.tolist() for name, one in step.items()} for step in (weights, *gradients)]
    given = {"weights": as_lists[0], "gradients": as_lists[1:], "rate": 0.02, "clip": 6.0}
    found = run_node(tmp_path, ["numbers.js", "optimiser.js"], OPTIMISE, given)
    model = nn.ParameterList([nn.Parameter(torch.tensor(one)) for one in weights.values()])
    adam = torch.optim.Adam(model.parameters(), lr=0.02)
    for step, result in zip(gradients, found, strict=True):
        for theta, g in zip(model, step.values(), strict=True):
            theta.grad = torch.tensor(g)
        assert result["norm"] == pytest.approx(clip_gradients(model, 6.0).item(), rel=1e-12)
        for theta, clipped in zip(model, result["clipped"], strict=True):
            # torch divides by |g| + 1e-6; Adam goes on with the same numbers.
            np.testing.assert_allclose(clipped, theta.grad, rtol=1e-6, atol=0)
            theta.grad = torch.tensor(clipped, dtype=torch.float64)
        adam.step()
        for theta, values in zip(model, result["weights"], strict=True):
            np.testing.assert_allclose(values, theta.detach(), rtol=0, atol=1e-12)
    assert 0 < sum(result["norm"] > 6 for result in found) < 20


@pytest.mark.slow
def test_what_the_page_says_about_training(tmp_path):
    """The sentences of docs/live/gradients.md, for five random starts."""
    cases = {
        "elman": ("elman", {}),
        "lstm": ("lstm", {}),
        "elman 5": ("elman", {"length": 5}),
        "lstm 5": ("lstm", {"length": 5}),
        "forgetful": ("lstm", {"forgetBias": 0}),
        "large": ("elman", {"scale": 3}),
        "large, not clipped": ("elman", {"scale": 3, "clip": "none"}),
    }
    runs = run_node(tmp_path, SCRIPTS, TRAIN, {"cases": list(cases.values()), "seeds": SEEDS})
    found = dict(zip(cases, runs, strict=True))
    right = {name: [run["right"] for run in runs] for name, runs in found.items()}
    assert max(right["elman"]) < 0.6
    assert min(right["lstm"]) > 0.99
    assert min(right["elman 5"] + right["lstm 5"]) > 0.99
    assert max(right["forgetful"]) < 0.3
    assert sum(one > 0.99 for one in right["large"]) == 4
    assert sum(one > 0.99 for one in right["large, not clipped"]) == 1
    assert max(run["largest"] for run in found["large"]) > 50
    shares = {name: [run["shares"] for run in runs] for name, runs in found.items()}
    assert all(1e-6 < one["h"] < 1e-4 for one in shares["elman"])
    assert all(one["c"] > 1 for one in shares["lstm"])
    assert all(one["c"] < 1e-3 for one in shares["forgetful"])


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return page_file(tmp_path_factory.mktemp("live"), "gradients")


def wait_for_end(view):
    view.wait_for_function("document.querySelector('[role=status]').textContent.startsWith('After 200 steps')")
    return view.locator("[role=status]").inner_text()


@pytest.mark.slow
def test_the_page_trains_by_keyboard_alone(browser, file):
    with opened(browser, file) as view:
        assert "Elman 21 %, LSTM 100 %" in wait_for_end(view)
        names = tab_stops(view)
        wanted = ("20 words", "5 words", "Train again", "Words in a text, T", "Clip |g| to", "Size of V", "Another")
        assert [one for one in wanted if not any(name.startswith(one) for name in names)] == []
        view.get_by_role("button", name="5 words", exact=True).focus()
        view.keyboard.press("Enter")
        assert "Elman 100 %, LSTM 100 %" in wait_for_end(view)
        view.get_by_label("Words in a text, T").focus()
        view.keyboard.press("ArrowRight")
        assert "new texts of 6 words" in wait_for_end(view)
        assert view.evaluate("document.activeElement.type") == "range"


@pytest.mark.slow
def test_a_training_stops_and_starts(browser, file):
    with opened(browser, file) as view:
        view.evaluate("RECALL_DEFAULTS.steps = 100000")
        view.get_by_role("button", name="20 words", exact=True).click()
        view.get_by_role("button", name="Stop", exact=True).click()
        assert "right answers for 200 new texts" in view.locator("[role=status]").inner_text()
        view.get_by_role("button", name="Train again", exact=True).click()
        assert view.locator("[role=status]").inner_text() == "Training ..."


@pytest.mark.slow
def test_gradients_that_grow_are_drawn_whole(browser, file):
    with opened(browser, file) as view:
        view.evaluate("RECALL_DEFAULTS.steps = 100000")
        view.get_by_role("button", name="20 words", exact=True).click()
        view.get_by_label("Words in a text, T").fill("40")
        view.get_by_label("Size of V at the start").fill("4")
        view.get_by_role("button", name="Stop", exact=True).click()
        plot = view.locator("figure > svg").first  # the gradients before training
        assert "10⁴" in plot.locator("text").all_text_contents()
        drawn = [line.get_attribute("d") for line in plot.locator("path[stroke]").all()]
        heights = [float(point.split()[1]) for line in drawn for point in line[1:].split("L")]
        assert min(heights) > 10.5  # 10 is the upper edge, where a line would be cut
