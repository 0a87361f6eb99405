# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Gradients by distance and Jacobians of a step, in every kind of model that has them."""

import pytest
import torch
from torch.testing import assert_close
from transformers import AutoModelForCausalLM, BertConfig, BertModel, GPT2Config, GPT2LMHeadModel
from transformers.modeling_outputs import BaseModelOutput

from hf_lecture_models.analysis.gradient_flow import (
    input_jacobians,
    measure_gradient_flow,
    save_gradient_flow,
    step_jacobians,
    untrained,
)
from hf_lecture_models.layers.recurrent_cells import ElmanCell
from hf_lecture_models.models.elmo import ElmoConfig, ElmoModel
from hf_lecture_models.models.feed_forward import FeedForwardConfig
from hf_lecture_models.models.gpt1 import Gpt1Config
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.models.recurrent import RecurrentConfig
from hf_lecture_models.models.self_attention import SelfAttentionConfig
from hf_lecture_models.tokenization.elmo import ElmoTokenizer
from hf_lecture_models.tokenization.word import WordTokenizer

TEXT = "the cat saw the dog"
TOKENIZER = WordTokenizer.train([TEXT], progress=False)
IDS = {"vocab_size": len(TOKENIZER)} | {
    name: getattr(TOKENIZER, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")
}
HEADS = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2}
CONFIGS = {
    "elman": lambda: RecurrentConfig(cell_type="elman", hidden_size=6, num_hidden_layers=2, **IDS),
    "gru": lambda: RecurrentConfig(cell_type="gru", hidden_size=6, **IDS),
    "lstm": lambda: RecurrentConfig(
        cell_type="lstm", hidden_size=6, projection_size=3, output_projection_size=5, **IDS
    ),
    "feed-forward": lambda: FeedForwardConfig(hidden_size=6, order=3, **IDS),
    "self-attention": lambda: SelfAttentionConfig(**HEADS, **IDS),
    "gpt1": lambda: Gpt1Config(**HEADS, **IDS),
}


def network(kind):
    torch.manual_seed(0)
    return AutoModelForCausalLM.from_config(CONFIGS[kind]())


@pytest.mark.parametrize("kind", CONFIGS)
def test_jacobians_are_those_of_the_vectors_that_go_in(kind, monkeypatch):
    monkeypatch.setattr("hf_lecture_models.analysis.gradient_flow._ROWS", 4)  # so that several batches are needed
    model = network(kind).eval()
    inputs = dict(TOKENIZER(TEXT, return_tensors="pt"))
    found = input_jacobians(model, inputs)
    vectors = model.get_input_embeddings()(inputs["input_ids"]).detach()

    def last_state(given):
        return model.base_model(inputs_embeds=given, attention_mask=inputs["attention_mask"]).last_hidden_state[0, -1]

    expected = torch.autograd.functional.jacobian(last_state, vectors)[:, 0].transpose(0, 1)  # (seq, hidden, input)
    assert_close(found.float(), expected, rtol=1e-4, atol=1e-7)
    flow = measure_gradient_flow(model, TOKENIZER, TEXT)
    assert_close(flow.norms, found.flatten(1).norm(dim=1))
    assert flow.text.tokens == ("<s>", *TEXT.split())
    if kind == "feed-forward":
        assert (flow.norms > 0).tolist() == [False] * 4 + [True] * 2, "it reads two words"
    assert (flow.step_singular_values is None) == (kind not in ("elman", "gru", "lstm"))


def test_stock_models_and_untrained_ones():
    config = GPT2Config(vocab_size=len(TOKENIZER), n_embd=8, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0)
    bert = BertModel(BertConfig(**HEADS, intermediate_size=8, vocab_size=len(TOKENIZER)))
    for model in (GPT2LMHeadModel(config), bert):
        norms = measure_gradient_flow(model, TOKENIZER, TEXT).norms
        assert (norms > 0).all()
        assert model.training
    model, before = network("elman"), torch.random.get_rng_state()
    fresh = untrained(model, seed=1)
    assert_close(torch.random.get_rng_state(), before)
    assert not torch.equal(fresh.lm_head.weight, model.lm_head.weight)
    assert torch.equal(fresh.lm_head.weight, untrained(model, seed=1).lm_head.weight)


def test_the_jacobian_of_a_step_and_their_product():
    """h = tanh(W [h; u] + b) has diag(1 - h²) W_h; from h_0 on their product is ∂h_L/∂h_0."""
    torch.manual_seed(0)
    cell, inputs = ElmanCell(3, 4).double(), torch.randn(5, 3, dtype=torch.float64)
    steps = step_jacobians(cell, inputs)
    h = torch.zeros(1, 4, dtype=torch.float64)
    for u, found in zip(inputs, steps, strict=True):
        (h,) = cell(u[None], (h,))
        assert_close(found, torch.diag(1 - h[0] ** 2) @ cell.W.weight[:, :4].detach())

    def last(h_0):
        h = h_0
        for u in inputs:
            (h,) = cell(u[None], (h,))
        return h

    product = steps[4] @ steps[3] @ steps[2] @ steps[1] @ steps[0]
    expected = torch.autograd.functional.jacobian(last, torch.zeros(1, 4, dtype=torch.float64))[0, :, 0]
    assert_close(product, expected)


def test_recurrence_loses_what_self_attention_keeps():
    """Fresh ones: over 29 words the gradient falls by orders of magnitude, in self-attention it does not."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, **IDS}
    text = " ".join([TEXT] * 6)
    falls = {}
    for name, config in {
        "elman": RecurrentConfig(cell_type="elman", **sizes),
        "lstm": RecurrentConfig(cell_type="lstm", **sizes),
        "attention": SelfAttentionConfig(num_attention_heads=2, **sizes),
    }.items():
        norms = measure_gradient_flow(AutoModelForCausalLM.from_config(config), TOKENIZER, text).norms
        falls[name] = (norms[1] / norms[-2]).item()
    assert max(falls["elman"], falls["lstm"]) < 1e-3 < 0.01 < falls["attention"]


def test_what_has_no_gradients_says_so():
    bigram = NGramForCausalLM.fit([TEXT], TOKENIZER, order=2, smoothing="add_alpha", progress=False)
    with pytest.raises(ValueError, match="NGramForCausalLM has no word vectors"):
        measure_gradient_flow(bigram, TOKENIZER, TEXT)
    pooled = network("elman").base_model
    pooled.forward = lambda input_ids, **_: BaseModelOutput(last_hidden_state=pooled.embed_tokens(input_ids).mean(1))
    characters = {"char_embedding_size": 4, "char_filters": [[1, 4]], "num_highway_layers": 1, "projection_size": 4}
    elmo = ElmoModel(ElmoConfig(hidden_size=8, num_hidden_layers=1, **characters))
    with pytest.raises(ValueError, match="ElmoModel does not read one vector for each token"):
        measure_gradient_flow(elmo, ElmoTokenizer(), TEXT)
    with pytest.raises(ValueError, match="RecurrentModel has no state for each position"):
        measure_gradient_flow(pooled, TOKENIZER, TEXT)
    model = network("elman")
    model.get_input_embeddings().weight.data.fill_(float("nan"))
    with pytest.raises(ValueError, match="NaN"):
        measure_gradient_flow(model, TOKENIZER, TEXT)


def test_the_picture(tmp_path):
    pytest.importorskip("matplotlib")
    flows = {name: measure_gradient_flow(network(name), TOKENIZER, TEXT) for name in ("elman", "gpt1", "feed-forward")}
    flows["elman, untrained"] = flows["elman"]
    save_gradient_flow(flows, tmp_path / "both.svg", TEXT)
    picture = (tmp_path / "both.svg").read_text(encoding="utf-8")
    for text in (*flows, TEXT, "rank"):
        assert f"<!-- {text} -->" in picture
    save_gradient_flow({"gpt1": flows["gpt1"]}, tmp_path / "one.svg", TEXT)
    assert "<!-- rank -->" not in (tmp_path / "one.svg").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="nothing to draw"):
        save_gradient_flow({}, tmp_path / "none.svg", TEXT)
