# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The page `attention`: its numbers, and the next word with heads switched off, equal Python's; use by keyboard."""

import re
from copy import deepcopy

import numpy as np
import pytest
import torch

from hf_lecture_models import SelfAttentionConfig, SelfAttentionForCausalLM
from hf_lecture_models.lab.live.pages import PAGES, standalone_page
from hf_lecture_models.lab.live.weights import LiveModel, weights_script
from tests.live.running import opened, run_node, tab_stops

SCRIPTS = PAGES["attention"].scripts[:-1]
TEXT = "the old cat saw the mouse in the"
OFF = [[True, False, False, True], [False, True, False, False]]
READ = """
const arrays = (numbers) => ({ ...numbers, q: [...numbers.q], o: [...numbers.o],
  rows: numbers.rows.map((row) => ({ ...row, k: [...row.k], v: [...row.v], av: [...row.av] })) });
function main({ text, off }) {
  const { config, tensors, tokenizer } = LIVE.models[0];
  const model = new SelfAttention(readSafetensors(fromBase64(tensors)), config);
  const ids = new WordTokenizer(LIVE.tokenizers[tokenizer]).encode(text);
  const state = new KeptReading(model, []).read(ids).at(-1);
  const kept = new KeptReading(model, off);
  kept.read(ids.slice(0, 4).concat(ids[0]));                     // another text, of which a part is used again
  const numbers = model.layers.map((_, layer) => HEADS.map((head) => attentionNumbers(model, state, layer, head)));
  const words = ids.map(String);
  const place = { kind: config.position_encoding, layer: 2, head: 3, heads: 4, slope: model.slopes[2] };
  const explained = ["q", "k", "dot", "bias", "score", "a", "av", "sum", "o"].map((column) =>
    [column, ids.map((_, s) => explainAttention(column, s, numbers[1][2], words, place))]);
  return { numbers: numbers.map((heads) => heads.map(arrays)), explained: Object.fromEntries(explained),
    logProbs: [...model.logProbs(state)], without: [...model.logProbs(kept.read(ids).at(-1))],
    alone: readingsWithoutEach(model).map((heads) => heads.map((one) => [...model.logProbs(one.read(ids).at(-1))])) };
}
const HEADS = [0, 1, 2, 3];
"""


def log_probs_without(model, ids, off):
    """ln P of the next word after `ids`, with the part of these heads in o_proj's input set to zero."""
    size = model.config.hidden_size // model.config.num_attention_heads
    hooks = []
    for layer, heads in zip(model.model.layers, off, strict=True):
        on = torch.tensor([not one for one in heads]).repeat_interleave(size)
        hook = layer.self_attn.o_proj.register_forward_pre_hook(lambda _, given, on=on: (given[0] * on,))
        hooks.append(hook)
    try:
        return model(ids).logits[0, -1].log_softmax(-1)
    finally:
        for hook in hooks:
            hook.remove()


def seen_inside(model, ids):
    """q, k, v and the heads' o of each layer, (seq, hidden) each."""
    seen = []
    hooks = []
    for layer in model.model.layers:
        attention = layer.self_attn
        hooks.append(attention.qkv_proj.register_forward_hook(lambda _, __, out: seen.append(out[0].chunk(3, -1))))
        hooks.append(attention.o_proj.register_forward_pre_hook(lambda _, given: seen.append(given[0][0])))
    model(ids)
    for hook in hooks:
        hook.remove()
    return [(*qkv, o) for qkv, o in zip(seen[::2], seen[1::2], strict=True)]


@pytest.fixture(scope="module", params=["alibi", "learned"])
def pair(request, tmp_path_factory, live_models):
    """A model in float64, the ids of the text, and what the page's script makes of both."""
    tokenizer = live_models[2].tokenizer
    model = live_models[2].model
    if request.param != "alibi":
        torch.manual_seed(1)
        config = SelfAttentionConfig(**{**model.config.to_dict(), "position_encoding": request.param})
        model = SelfAttentionForCausalLM(config).eval()
    script = weights_script([LiveModel("Self-attention", "four sentences", model, tokenizer)])
    ids = tokenizer(TEXT, return_tensors="pt").input_ids
    folder = tmp_path_factory.mktemp("node")
    found = run_node(folder, SCRIPTS, script + READ, {"text": TEXT, "off": OFF})
    with torch.no_grad():
        yield deepcopy(model).double(), ids, found


def test_numbers_of_each_head_equal_python(pair):
    model, ids, found = pair
    size = 4
    for layer, (q, k, v, o) in enumerate(seen_inside(model, ids)):
        for head, numbers in enumerate(found["numbers"][layer]):
            part = slice(head * size, (head + 1) * size)
            rows = numbers["rows"]
            for name, expected in {"q": q[-1, part], "o": o[-1, part]}.items():
                np.testing.assert_allclose(numbers[name], expected, atol=1e-10, rtol=0)
            np.testing.assert_allclose([row["k"] for row in rows], k[:, part], atol=1e-10, rtol=0)
            np.testing.assert_allclose([row["v"] for row in rows], v[:, part], atol=1e-10, rtol=0)
            distances = torch.arange(len(rows) - 1, -1, -1)
            slope = 2.0 ** (-2 * (head + 1)) if model.config.position_encoding == "alibi" else 0.0
            scores = k[:, part] @ q[-1, part] / 2 - slope * distances
            np.testing.assert_allclose([row["score"] for row in rows], scores, atol=1e-10, rtol=0)
            np.testing.assert_allclose([row["bias"] for row in rows], -slope * distances, atol=1e-10, rtol=0)
            np.testing.assert_allclose([row["a"] for row in rows], scores.softmax(-1), atol=1e-10, rtol=0)


def test_heads_that_are_off_equal_python(pair):
    model, ids, found = pair
    np.testing.assert_allclose(found["without"], log_probs_without(model, ids, OFF), atol=1e-10, rtol=0)
    assert np.abs(np.subtract(found["without"], found["logProbs"])).max() > 1e-4
    for layer in range(2):
        for head in range(4):
            off = [[(layer, head) == (k, i) for i in range(4)] for k in range(2)]
            expected = log_probs_without(model, ids, off)
            np.testing.assert_allclose(found["alone"][layer][head], expected, atol=1e-10, rtol=0)


def test_explanations_end_with_the_number(pair):
    """What is shown for a cell has the cell's number at its end."""
    numbers = pair[2]["numbers"][1][2]
    explained = pair[2]["explained"]
    last = lambda lines: float(re.findall(r"-?\d+\.?\d*", lines[1].replace("−", "-"))[-1])  # noqa: E731
    for s, row in enumerate(numbers["rows"]):
        cells = {"dot": row["dot"] / 2, "score": row["score"], "a": row["a"], "av": row["av"][-1], "k": row["k"][-1]}
        for column, value in cells.items():
            assert last(explained[column][s]) == pytest.approx(value, abs=6e-3), (column, s)
    assert last(explained["sum"][0]) == 1
    assert last(explained["o"][0]) == pytest.approx(numbers["o"][0], abs=6e-4)
    assert last(explained["q"][0]) == pytest.approx(numbers["q"][-1], abs=6e-3)


@pytest.fixture(scope="module")
def file(tmp_path_factory, live_models):
    path = tmp_path_factory.mktemp("live") / "attention.html"
    model = deepcopy(live_models[2].model)
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(8 if weight.dim() == 2 else 1)  # random ones are too small for a change that is shown
    live = LiveModel("Self-attention", "four sentences", model, live_models[2].tokenizer)
    script = weights_script([live], half=True, examples=[TEXT, "a mouse ran to the"])
    path.write_text(standalone_page(PAGES["attention"], script), encoding="utf-8")
    return path


@pytest.mark.slow
def test_the_page_is_used_by_keyboard_alone(browser, file):
    with opened(browser, file) as view:
        status = view.locator("p[role=status]")
        names = tab_stops(view)
        wanted = ["Your text", TEXT, "Layer", "Head", "mouse", "q = [", "Σ a = 1.000", "o = Σ", "head 4"]
        assert [one for one in wanted if not any(name.startswith(one) for name in names)] == []
        view.get_by_label(re.compile("head 2")).first.focus()
        view.keyboard.press("Space")
        assert "without head 1.2" in status.inner_text()
        changes = view.locator(".live-next td:last-child").all_inner_texts()
        assert any(one != "0" for one in changes)
        view.locator(".live-numbers button[tabindex='0']").focus()
        before = view.locator(".live-explained").inner_text()
        view.keyboard.press("ArrowLeft")
        assert view.locator(".live-explained").inner_text() != before
        assert view.evaluate("document.activeElement.dataset.column") == "score"
        view.get_by_label("Your text").focus()
        view.keyboard.press("Control+End")
        view.keyboard.type(" house")
        assert "“house” looks most at" in status.inner_text()
        assert view.evaluate("document.activeElement.tagName") == "TEXTAREA"
        view.get_by_role("button", name="old", exact=True).focus()
        view.keyboard.press("Enter")
        assert "“old” looks most at" in status.inner_text()
        assert view.evaluate("document.activeElement.textContent") == "old"
        view.get_by_label("Your text").fill("the zebra " + "x" * 30)
        assert view.locator(".live-buttons .live-unknown").all_inner_texts() == ["zebra", "x" * 20 + "…"]
        assert "“xxx" in status.inner_text()
