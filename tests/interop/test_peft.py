# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Adapters by peft: they train, generate, merge, and reload, alone onto the base or merged into it."""

from __future__ import annotations

import copy
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from packaging.version import Version
from torch import nn
from torch.testing import assert_close
from transformers import AutoModelForCausalLM
from transformers.integrations.peft import MIN_PEFT_VERSION

import hf_lecture_models as ours
from hf_lecture_models import (
    Gpt1Config,
    Gpt1ForSequenceClassification,
    LectureBertConfig,
    LectureBertForSequenceClassification,
    LectureTransformerConfig,
    LectureTransformerForConditionalGeneration,
    NGramConfig,
    NGramForCausalLM,
)
from tests.interop.small_models import small_model, small_tokenizer
from tests.model_tests import token_inputs
from tests.printed_commands import ROOT

peft = pytest.importorskip("peft")
pytestmark = pytest.mark.slow

UNTIED = {"tie_word_embeddings": False}

ATTENTION = {"qkv_proj", "o_proj", "up_proj", "down_proj"}

WIDE = {"output_projection_size": 9, **UNTIED}
# Names of the model, its fields, what is adapted: the choices that the models' pages offer.
CASES = {
    "gpt1, all linear": ("gpt1", {}, {"target_modules": "all-linear"}),
    "gpt1, attention": ("gpt1", {}, {"target_modules": ["qkv_proj", "o_proj"]}),
    "gpt1, words too": ("gpt1", UNTIED, {"target_modules": ["qkv_proj", "embed_tokens", "lm_head"]}),
    "gpt1, words in full": ("gpt1", UNTIED, {"target_modules": "all-linear", "modules_to_save": ["lm_head"]}),
    "self_attention, all linear": ("self_attention", {}, {"target_modules": "all-linear"}),
    "self_attention, a mix": (
        "self_attention",
        {"layer_mix": True, "hidden_act": "swish", "position_encoding": "relative", **UNTIED},
        {"target_modules": ["qkv_proj"], "modules_to_save": ["embed_tokens", "lm_head"]},
    ),
    "efficient_transformer, all linear": ("efficient_transformer", {}, {"target_modules": "all-linear"}),
    "efficient_transformer, by default": ("efficient_transformer", {"attention_kind": "performer"}, {}),
    "efficient_transformer, shared": (
        "efficient_transformer",
        {"attention_kind": "random", "share_layers": True},
        {"target_modules": ["qkv_proj", "o_proj"]},
    ),
    "recurrent, modules": ("recurrent", WIDE, {"target_modules": ["embed_tokens", "output_projection", "lm_head"]}),
    "recurrent, kernels": (
        "recurrent",
        WIDE,
        {"target_modules": ["lm_head"], "target_parameters": ["rnn.weight_ih_l0", "rnn.weight_hh_l0"]},
    ),
    "recurrent, words in full": (
        "recurrent",
        UNTIED,
        {"target_parameters": ["rnn.weight_ih_l0"], "modules_to_save": ["lm_head"]},
    ),
    "recurrent, adaptive": (
        "recurrent",
        {"output_layer": "adaptive", **WIDE},
        {"target_modules": ["lm_head.head", "projection", "words"]},
    ),
    "recurrent, noise contrastive": (
        "recurrent",
        {"output_layer": "noise_contrastive", **WIDE},
        {"target_modules": ["embed_tokens", "lm_head"]},
    ),
}


def base_model(name: str, fields: dict[str, Any], folder: Path) -> Any:
    model = small_model(name, small_tokenizer(), **fields)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    model.save_pretrained(folder)
    return AutoModelForCausalLM.from_pretrained(folder)


def train(model: Any, batch: dict[str, Any], steps: int = 30, learning_rate: float = 0.02) -> list[float]:
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer, losses = torch.optim.Adam(trained, lr=learning_rate), []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def as_labels(tokens: torch.Tensor) -> dict[str, Any]:
    return {"input_ids": tokens, "labels": tokens, "logits_to_keep": 1}


@pytest.mark.cases(0, 5)
@pytest.mark.parametrize(("name", "fields", "targets"), CASES.values(), ids=CASES)
def test_adapters_train_merge_and_reload(
    name: str, fields: dict[str, Any], targets: dict[str, Any], tmp_path: Path
) -> None:
    base = base_model(name, fields, tmp_path / "base")
    before = {key: value.clone() for key, value in base.state_dict().items()}
    tokens = torch.randint(base.config.vocab_size - 3, (2, 6))
    adapted = peft.get_peft_model(base, peft.LoraConfig(task_type="CAUSAL_LM", r=2, **targets))
    losses = train(adapted, as_labels(tokens))
    assert losses[-1] < 0.8 * losses[0]
    adapted.eval()
    with torch.no_grad():
        expected = adapted(input_ids=tokens).logits
    options = {"max_new_tokens": 4, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    generated = [adapted.generate(input_ids=tokens, use_cache=use_cache, **options) for use_cache in (True, False)]
    assert torch.equal(*generated)

    adapted.save_pretrained(tmp_path / "adapter")
    small = sum(path.stat().st_size for path in (tmp_path / "adapter").glob("*.safetensors"))
    assert 0 < small < (tmp_path / "base" / "model.safetensors").stat().st_size
    fresh = AutoModelForCausalLM.from_pretrained(tmp_path / "base")
    onto_base = peft.PeftModel.from_pretrained(fresh, tmp_path / "adapter").eval()
    found = peft.AutoPeftModelForCausalLM.from_pretrained(tmp_path / "adapter").eval()  # it knows its base
    with torch.no_grad():
        assert_close(onto_base(input_ids=tokens).logits, expected, rtol=0, atol=1e-6)
        assert_close(found(input_ids=tokens).logits, expected, rtol=0, atol=1e-6)
        with onto_base.disable_adapter():
            unadapted = onto_base(input_ids=tokens).logits
        assert_close(unadapted, AutoModelForCausalLM.from_pretrained(tmp_path / "base")(tokens).logits)

    merged = adapted.merge_and_unload()
    merged.save_pretrained(tmp_path / "merged")
    reloaded = AutoModelForCausalLM.from_pretrained(tmp_path / "merged")
    with torch.no_grad():
        assert_close(merged(input_ids=tokens).logits, expected, rtol=0, atol=1e-4)
        assert_close(reloaded(tokens).logits, expected, rtol=0, atol=1e-4)
    assert reloaded.state_dict().keys() == before.keys()


WORDS, LAYERS = {"target_modules": ["embed_tokens"]}, {"target_modules": "all-linear"}
KERNELS: dict[str, Any] = {"target_parameters": ["rnn.weight_ih_l0", "rnn.weight_hh_l0"]}
SIZES = {"embedding_size": 6, "max_position_embeddings": 8}
ADDITIVE = {"hidden_size": 8, "attention_type": "additive", "bidirectional_encoder": True, "decoder_start_token_id": 16}
PAIRS = {"pooling": "max", "bidirectional": True, "pair_combination": "infersent"}
# Names of the head and of its configuration, its fields, what is adapted; a classifier is trained in full beside it.
HEADS: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "linear": ("BagOfWordsForSequenceClassification", "BagOfWords", {}, WORDS),
    "deep": ("BagOfWordsForSequenceClassification", "BagOfWords", {"hidden_sizes": [6, 5]}, WORDS),
    "padded": ("PaddedMlpForSequenceClassification", "PaddedMlp", {"hidden_sizes": [8, 6], **SIZES}, LAYERS),
    "padded, words": ("PaddedMlpForSequenceClassification", "PaddedMlp", {"hidden_sizes": [8, 6], **SIZES}, WORDS),
    "layers": ("LayerPerInputForSequenceClassification", "LayerPerInput", {"hidden_size": 8, **SIZES}, LAYERS),
    "layers, words": ("LayerPerInputForSequenceClassification", "LayerPerInput", {"hidden_size": 8, **SIZES}, WORDS),
    "recurrent": ("RecurrentForSequenceClassification", "Recurrent", {"hidden_size": 12}, KERNELS | WORDS),
    "pairs": ("RecurrentForSequenceClassification", "Recurrent", {"hidden_size": 12, **PAIRS}, KERNELS | WORDS),
    "cbow": (
        "Word2VecForPreTraining",
        "Word2Vec",
        {"hidden_size": 6, "architecture": "cbow", "unk_token_id": 0},
        {**WORDS, "modules_to_save": ["output"]},
    ),
    "translator": ("RecurrentSeq2SeqForConditionalGeneration", "RecurrentSeq2Seq", ADDITIVE, LAYERS),
    "translator, kernels": (
        "RecurrentSeq2SeqForConditionalGeneration",
        "RecurrentSeq2Seq",
        ADDITIVE,
        {"target_modules": ["embed_tokens", "lm_head"], **KERNELS},
    ),
}


@pytest.mark.cases(0, 4)
@pytest.mark.parametrize("kind", HEADS)
def test_adapters_of_other_models(kind: str, tmp_path: Path) -> None:
    model_class, config_class, fields, targets = HEADS[kind]
    special = {"bos_token_id": 17, "eos_token_id": 18, "pad_token_id": 19}
    config = getattr(ours, f"{config_class}Config")(vocab_size=20, num_labels=3, **special, **fields)
    base = getattr(ours, model_class)(config)
    for parameter in base.parameters():
        nn.init.normal_(parameter, std=0.5)
    base.save_pretrained(tmp_path / "base")
    load, is_classifier = type(base).from_pretrained, hasattr(base, "classifier")
    batch: dict[str, Any] = token_inputs(config, (6, 4, 5))
    if kind == "pairs":
        batch["token_type_ids"] = (torch.arange(6) > 2).long().expand(3, -1)
    labels = torch.tensor([2, 0, 1]) if is_classifier else batch["input_ids"]
    task = "SEQ_CLS" if is_classifier else "SEQ_2_SEQ_LM" if config.is_encoder_decoder else None
    adapted = peft.get_peft_model(load(tmp_path / "base"), peft.LoraConfig(r=2, task_type=task, **targets))
    losses = train(adapted, {**batch, "labels": labels}, 60, 0.05)
    assert losses[-1] < (0.5 if is_classifier else 0.8) * losses[0]
    adapted.eval().save_pretrained(tmp_path / "adapter")
    if is_classifier:  # which knows its base
        auto = peft.AutoPeftModelForSequenceClassification
        again = auto.from_pretrained(tmp_path / "adapter", num_labels=3).eval()
    else:
        again = peft.PeftModel.from_pretrained(load(tmp_path / "base"), tmp_path / "adapter").eval()
    output = "last_hidden_state" if kind == "cbow" else "logits"
    given = {**batch, "labels": labels} if config.is_encoder_decoder else batch
    with torch.no_grad():
        expected = adapted(**given)[output]
        assert_close(again(**given)[output], expected, rtol=0, atol=1e-6)
        adapted.merge_and_unload().save_pretrained(tmp_path / "merged")
        merged = load(tmp_path / "merged").eval()
        assert_close(merged(**given)[output], expected, rtol=0, atol=1e-4)
        if config.is_encoder_decoder:
            options = {"input_ids": batch["input_ids"], "max_new_tokens": 4, "num_beams": 2}
            assert torch.equal(merged.generate(**options), again.generate(**options))


def test_an_adapter_without_a_task_is_loaded_as_the_page_says(tmp_path: Path) -> None:
    """peft imports the class of its base from packages on a list alone, and ours is not on it."""
    base = base_model("gpt1", {}, tmp_path / "base")
    adapted = peft.get_peft_model(base, peft.LoraConfig(r=2, init_lora_weights=False)).eval()
    adapted.save_pretrained(tmp_path / "adapter")
    with pytest.raises(ValueError, match="not in the import allowlist"):
        peft.AutoPeftModel.from_pretrained(tmp_path / "adapter")
    page = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r'`AutoPeftModel.from_pretrained\(FOLDER, import_allowlist=\["(\w+)"\]\)`', page)
    tokens = torch.randint(base.config.vocab_size - 3, (2, 6))
    fresh = AutoModelForCausalLM.from_pretrained(tmp_path / "base")
    for found in (
        peft.AutoPeftModel.from_pretrained(tmp_path / "adapter", import_allowlist=[listed]),
        peft.PeftModel.from_pretrained(fresh, tmp_path / "adapter"),
    ):
        assert_close(found.eval()(input_ids=tokens).logits, adapted(input_ids=tokens).logits)


@pytest.mark.parametrize("name", ["gpt1", "self_attention"])
def test_all_linear_finds_the_blocks_and_leaves_the_output_alone(name: str) -> None:
    """Queries, keys and values share one matrix, so one adapter of rank r serves the three."""
    model = small_model(name, small_tokenizer(), num_hidden_layers=2)
    adapted = peft.get_peft_model(model, peft.LoraConfig(task_type="CAUSAL_LM", r=2, target_modules="all-linear"))
    layers = {path for path, module in adapted.named_modules() if isinstance(module, peft.tuners.lora.LoraLayer)}
    assert {path.rsplit(".", 1)[1] for path in layers} == ATTENTION
    assert len(layers) == 2 * len(ATTENTION)
    query_key_value = next(module for path, module in adapted.named_modules() if path.endswith("0.self_attn.qkv_proj"))
    assert query_key_value.lora_A["default"].weight.shape == (2, 32)
    assert query_key_value.lora_B["default"].weight.shape == (96, 2)


@pytest.mark.cases(0, 3)
@pytest.mark.parametrize("name", ["gpt1", "self_attention", "recurrent"])
@pytest.mark.parametrize("kept", [["embed_tokens"], ["lm_head"], ["embed_tokens", "lm_head"]], ids=str)
@pytest.mark.filterwarnings("ignore:Model has `tie_word_embeddings=True`", "ignore:Input and output embeddings")
def test_tied_words_come_apart_where_one_end_is_trained(kept: list[str], name: str, tmp_path: Path) -> None:
    """The output layer keeps its bias, and the merged model has the adapted one's logits."""
    base = base_model(name, {"tie_word_embeddings": True}, tmp_path / "base")
    tokens = torch.randint(base.config.vocab_size - 3, (2, 6))
    targets = {"target_parameters": ["rnn.weight_ih_l0"]} if name == "recurrent" else {"target_modules": ["qkv_proj"]}
    adapted = peft.get_peft_model(base, peft.LoraConfig(task_type="CAUSAL_LM", r=2, modules_to_save=kept, **targets))
    losses = train(adapted, as_labels(tokens))
    assert losses[-1] < 0.8 * losses[0]
    merged, logits = reloaded_after_merging(adapted, tokens, tmp_path)
    assert not merged.config.tie_word_embeddings
    assert not torch.equal(merged.lm_head.weight, merged.get_input_embeddings().weight)
    assert ("lm_head.bias" in merged.state_dict()) == (name != "gpt1")
    assert_close(*logits, rtol=0, atol=1e-4)


@pytest.mark.filterwarnings("ignore:Model has `tie_word_embeddings=True`", "ignore:Input and output embeddings")
def test_a_bias_that_peft_loses_is_missed_on_saving(tmp_path: Path) -> None:
    """With `ensure_weight_tying`, peft 0.21 puts an output layer without a bias in the place of the model's."""
    base = base_model("self_attention", {"tie_word_embeddings": True}, tmp_path / "base")
    kept = {"modules_to_save": ["embed_tokens"], "ensure_weight_tying": True}
    adapted = peft.get_peft_model(base, peft.LoraConfig(task_type="CAUSAL_LM", target_modules="all-linear", **kept))
    merged = adapted.merge_and_unload()
    with pytest.raises(ValueError, match=r"weight lm_head.bias, which the model lacks"):
        merged.save_pretrained(tmp_path / "merged")


def test_tied_words_stay_tied_on_demand(tmp_path: Path) -> None:
    """With `ensure_weight_tying`; on gpt1, for peft 0.21 forgets a bias that the tied output layer has."""
    base = base_model("gpt1", {"tie_word_embeddings": True}, tmp_path / "base")
    tokens = torch.randint(base.config.vocab_size - 3, (2, 6))
    kept = {"modules_to_save": ["embed_tokens"], "ensure_weight_tying": True}
    adapted = peft.get_peft_model(
        base, peft.LoraConfig(task_type="CAUSAL_LM", r=2, target_modules="all-linear", **kept)
    )
    losses = train(adapted, as_labels(tokens))
    assert losses[-1] < 0.8 * losses[0]
    merged, logits = reloaded_after_merging(adapted, tokens, tmp_path)
    assert torch.equal(merged.lm_head.weight, merged.get_input_embeddings().weight)
    assert_close(*logits, rtol=0, atol=1e-4)


@pytest.mark.cases(0, 3)
@pytest.mark.parametrize(
    "settings",
    [
        peft.LoraConfig(target_modules=["embed_tokens"], init_lora_weights=False),
        peft.LoraConfig(target_modules=["lm_head"], init_lora_weights=False),
        peft.LoraConfig(target_modules=["embed_tokens", "lm_head"], init_lora_weights=False),
        peft.LoHaConfig(target_modules=["lm_head"], init_weights=False),
    ],
    ids=["vectors", "output", "both", "LoHa"],
)
@pytest.mark.parametrize("name", ["gpt1", "self_attention"])
@pytest.mark.filterwarnings("ignore:Model has `tie_word_embeddings=True`")
def test_adapters_on_tied_words_are_refused(name: str, settings: Any, tmp_path: Path) -> None:
    """One matrix W would become W + D for both layers, or W + D_1 + D_2: the merged model's logits moved by up to 38.

    Untied as docs/clients.md says, the merged model has the adapted one's logits.
    """
    base = base_model(name, {"tie_word_embeddings": True}, tmp_path / "base")
    with pytest.raises(ValueError, match=r"an adapter .* on (embed_tokens|lm_head), whose matrix is also .*both; .*"):
        peft.get_peft_model(copy.deepcopy(base), settings)
    base.config.tie_word_embeddings = False
    base.lm_head.weight = torch.nn.Parameter(base.lm_head.weight.detach().clone())
    base.save_pretrained(tmp_path / "untied")
    untied = AutoModelForCausalLM.from_pretrained(tmp_path / "untied")
    tokens = torch.randint(base.config.vocab_size - 3, (2, 6))
    for each in (untied, base):
        _, logits = reloaded_after_merging(peft.get_peft_model(each, settings), tokens, tmp_path)
        assert_close(*logits, rtol=0, atol=1e-4)


@pytest.mark.filterwarnings("ignore:Model has `tie_word_embeddings=True`")
def test_tied_adapters_are_refused_too(tmp_path: Path) -> None:
    """With `ensure_weight_tying` the one D of both layers is merged twice, W + 2 D."""
    base = base_model("gpt1", {"tie_word_embeddings": True}, tmp_path / "base")
    tied = {"target_modules": ["embed_tokens"], "ensure_weight_tying": True}
    with pytest.raises(ValueError, match="whose matrix is also lm_head.weight"):
        peft.get_peft_model(base, peft.LoraConfig(task_type="CAUSAL_LM", **tied))


@torch.no_grad()
def test_trained_rows_of_tied_words_are_merged_once(tmp_path: Path) -> None:
    """They take the place of the rows that were there."""
    base = base_model("gpt1", {"tie_word_embeddings": True}, tmp_path / "base")
    tokens = torch.randint(base.config.vocab_size - 3, (2, 6))
    adapted = peft.get_peft_model(
        base, peft.TrainableTokensConfig(target_modules=["embed_tokens"], token_indices=[1, 2])
    )
    for name, parameter in adapted.named_parameters():
        if "trainable_tokens" in name:
            parameter.normal_()
    _, logits = reloaded_after_merging(adapted, tokens, tmp_path)
    assert_close(*logits, rtol=0, atol=1e-5)


@torch.no_grad()
def reloaded_after_merging(adapted: Any, tokens: torch.Tensor, folder: Path) -> tuple[Any, list[torch.Tensor]]:
    """The merged model, reloaded; its logits, and those with the adapter still apart."""
    expected = adapted.eval()(input_ids=tokens).logits
    adapted.merge_and_unload().save_pretrained(folder / "merged")
    reloaded = AutoModelForCausalLM.from_pretrained(folder / "merged")
    return reloaded, [reloaded(tokens).logits, expected]


# Without naming modules


@pytest.mark.cases(0, 6)
@pytest.mark.parametrize("method", ["Lora", "IA3", "LoHa", "Vera", "LNTuning", "OFT"])
@pytest.mark.parametrize("name", ["gpt1", "self_attention", "self_attention, post", "feed_forward"])
def test_default_targets(name: str, method: str) -> None:
    """As in GPT-2: queries, keys and values; Bengio's network has one layer. It learns, and has no layer norm."""
    name, _, norm = name.partition(", ")
    base = small_model(name, small_tokenizer(), **({"norm_position": norm} if norm else {}))
    config = getattr(peft, f"{method}Config")(task_type="CAUSAL_LM")
    if (name, method) == ("feed_forward", "LNTuning"):
        with pytest.raises(ValueError, match="Please specify `target_modules`"):
            peft.get_peft_model(base, config)
        return
    adapted = peft.get_peft_model(base, config)
    if method == "Lora":
        assert adapted.peft_config["default"].target_modules == {
            "hidden_layer" if name == "feed_forward" else "qkv_proj"
        }
    losses = train(adapted.eval(), as_labels(torch.randint(base.config.vocab_size - 3, (2, 6))))
    assert losses[-1] < losses[0]


@pytest.mark.parametrize(("name", "targets"), [("recurrent", None), ("ngram", None), ("recurrent", "all-linear")])
def test_no_default_targets(name: str, targets: str | None) -> None:
    """peft's tables name modules, and a recurrent kernel is reached by its parameters; an n-gram has none."""
    ngram = NGramForCausalLM(NGramConfig(vocab_size=20, order=2))
    model = ngram if name == "ngram" else small_model(name, small_tokenizer())
    with pytest.raises(
        ValueError, match="Please specify `target_modules` or|No `target_modules` passed|No modules were"
    ):
        peft.get_peft_model(model, peft.LoraConfig(task_type="CAUSAL_LM", target_modules=targets))


@pytest.mark.parametrize("first", ["peft", "hf_lecture_models"])
def test_default_targets_whichever_is_imported_first(first: str) -> None:
    """And peft is imported by nobody but who wants it."""
    second = {"peft": "hf_lecture_models", "hf_lecture_models": "peft"}[first]
    code = f"import sys, {first}; alone = 'peft' in sys.modules; import {second}, peft.utils as utils"
    code += "; print(alone, utils.TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING['lecture_gpt1'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split(maxsplit=1) == [str(first == "peft"), "['qkv_proj']\n"]


# Prompts


PROMPTS = {
    "prompt tuning": peft.PromptTuningConfig,
    "p-tuning": peft.PromptEncoderConfig,
    "prefix tuning": peft.PrefixTuningConfig,
}


def prompt_learner(method: str, model: Any, **fields: Any) -> Any:
    if method == "p-tuning":
        fields["encoder_hidden_size"] = 16
    return peft.get_peft_model(model, PROMPTS[method](task_type="CAUSAL_LM", num_virtual_tokens=4, **fields))


@pytest.mark.cases(0, 5)
@pytest.mark.filterwarnings(
    "ignore:Position ids are not supported"
)  # it drops what generate() gives it, and counts anew
@pytest.mark.parametrize("method", PROMPTS)
@pytest.mark.parametrize("kind", ["gpt1", "sinusoidal", "learned", "relative", "alibi", "recurrent", "feed_forward"])
def test_prompts_train_and_generate(kind: str, method: str, tmp_path: Path) -> None:
    """Cached generation is the choice of the likeliest token, one forward pass each, in a batch with padding."""
    own = kind in ("gpt1", "recurrent", "feed_forward")
    name, fields = (kind, {}) if own else ("self_attention", {"position_encoding": kind})
    # What peft asks of every model, and a prompt does not depend on.
    shape = {} if name in ("gpt1", "self_attention") else {"num_layers": 1, "num_attention_heads": 1}
    base = base_model(name, fields, tmp_path / "base")
    adapted = prompt_learner(method, base, **shape)
    ids, mask = torch.randint(base.config.vocab_size - 3, (2, 6)), torch.tensor([[1] * 6, [0, 0, 1, 1, 1, 1]])
    batch = {"input_ids": ids, "attention_mask": mask}
    if shape and method == "prefix tuning":
        with pytest.raises(TypeError, match="past_key_values is a DynamicCache, but this model's state is a Recurrent"):
            adapted(**batch)
        return
    losses = train(adapted, {**batch, "labels": ids.masked_fill(mask == 0, -100)}, 20, 0.05)
    assert losses[-1] < losses[0]
    adapted.eval().save_pretrained(tmp_path / "prompt")
    again = peft.PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(tmp_path / "base"), tmp_path / "prompt")
    options = {"max_new_tokens": 5, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    if Version(peft.__version__) < Version(MIN_PEFT_VERSION):
        # It does not find the state under its new name, and would put the prompt in front of each token.
        with pytest.raises((TypeError, ValueError), match="attention_mask has shape|at position|two names of one"):
            again.generate(**batch, **options)
        return
    found = [again.generate(**batch, use_cache=cache, **options) for cache in (True, False)]
    tokens, real = ids, mask
    for _ in range(5):
        with torch.no_grad():
            likeliest = adapted(input_ids=tokens, attention_mask=real).logits[:, -1].argmax(-1, keepdim=True)
        tokens, real = torch.cat((tokens, likeliest), 1), torch.cat((real, torch.ones_like(likeliest)), 1)
    for generated in found:
        assert torch.equal(generated, tokens)


@pytest.mark.parametrize("extract_token_id", [3, None])
def test_prefixes_train_gpt1s_classifier(extract_token_id: int | None) -> None:
    """Its mask covers the prefix too; a text's state is that of its own Extract, or of its last token."""
    sizes = {"vocab_size": 20, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "num_labels": 2}
    model = Gpt1ForSequenceClassification(Gpt1Config(**sizes, extract_token_id=extract_token_id, pad_token_id=0))
    adapted = peft.get_peft_model(model, peft.PrefixTuningConfig(task_type="SEQ_CLS", num_virtual_tokens=4))
    ids = torch.tensor([[9, 4, 5, 3], [9, 6, 3, 0]])
    batch = {"input_ids": ids, "attention_mask": (ids > 0).long()}
    losses = train(adapted.eval(), {**batch, "labels": torch.tensor([0, 1])}, 20, 0.05)
    assert losses[-1] < 0.5 * losses[0]
    with torch.no_grad():
        both = adapted(**batch).logits
        alone = adapted(input_ids=ids[1:, :3], attention_mask=torch.ones(1, 3, dtype=torch.long)).logits
    assert_close(both[1:], alone)


def test_nguyens_attention_takes_no_prefixes() -> None:
    """peft writes keys and values for one attention of each layer, and here two read the target's."""
    sizes = {"vocab_size": 20, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2}
    special = {"decoder_start_token_id": 1, "pad_token_id": 0, "cross_attention": "source_query_key"}
    config = LectureTransformerConfig(**sizes, **special, max_position_embeddings=16)
    prefixes = peft.PrefixTuningConfig(task_type="SEQ_2_SEQ_LM", num_virtual_tokens=4)
    adapted = peft.get_peft_model(LectureTransformerForConditionalGeneration(config), prefixes)
    ids = torch.tensor([[3, 4, 5]])
    with pytest.raises(ValueError, match=r"of 2 attentions; the model has 4, .* prefix tuning \(peft\) writes one"):
        adapted(input_ids=ids, attention_mask=torch.ones_like(ids), labels=ids)


def test_bert_has_no_prefixes() -> None:
    """It keeps no keys and values, and peft says so."""
    model = LectureBertForSequenceClassification(LectureBertConfig(vocab_size=20, hidden_size=12, num_hidden_layers=1))
    adapted = peft.get_peft_model(model, peft.PrefixTuningConfig(task_type="SEQ_CLS", num_virtual_tokens=4))
    with pytest.raises(ValueError, match="Model does not support past key values"):
        adapted(input_ids=torch.tensor([[1, 2]]), attention_mask=torch.tensor([[1, 1]]))


def test_peft_asks_models_without_attention_for_their_heads() -> None:
    """As it asks transformers' own of which it is true."""
    model = small_model("recurrent", small_tokenizer())
    with pytest.raises(ValueError, match="Please specify `num_attention_heads`"):
        prompt_learner("prompt tuning", model)
    assert prompt_learner("prompt tuning", model, num_attention_heads=1)
