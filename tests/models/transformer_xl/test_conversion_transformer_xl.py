# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Published Transformer-XL folders: their weights, configurations and vocabularies."""

from __future__ import annotations

import json
import pickle
import re
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch.testing import assert_close
from transformers import AutoConfig, AutoModel, AutoModelForCausalLM, AutoTokenizer

from hf_lecture_models.evaluation.scoring import score_texts
from hf_lecture_models.models.transformer_xl import TransfoXLConfig, TransfoXLLMHeadModel, TransfoXLModel
from hf_lecture_models.models.transformer_xl.tokenization_transformer_xl import read_vocabulary
from hf_lecture_models.tokenization.word import WordTokenizer
from tests.model_tests import Tensors, perturb
from tests.models.official_checkpoints import listen_to_transformers

# A published configuration, with all that older versions of transformers wrote.
PUBLISHED: dict[str, Any] = {
    "adaptive": True,
    "architectures": ["TransfoXLLMHeadModel"],
    "attn_type": 0,
    "clamp_len": 6,
    "cutoffs": [8, 14],
    "d_embed": 16,
    "d_head": 4,
    "d_inner": 20,
    "d_model": 12,
    "div_val": 2,
    "dropatt": 0.0,
    "dropout": 0.1,
    "eos_token_id": 0,
    "ext_len": 0,
    "init": "normal",
    "init_range": 0.01,
    "init_std": 0.02,
    "layer_norm_epsilon": 1e-05,
    "mem_len": 5,
    "model_type": "transfo-xl",
    "n_head": 2,
    "n_layer": 2,
    "n_token": 31,
    "pre_lnorm": False,
    "proj_init_std": 0.01,
    "same_length": True,
    "sample_softmax": -1,
    "tgt_len": 7,
    "tie_projs": [False, True, True],
    "tie_weight": True,
    "untie_r": True,
}
VOCABULARY: dict[str, Any] = {
    "counter": Counter({"<eos>": 9, "the": 7, "<unk>": 3, "cat": 2}),
    "special": ["<eos>"],
    "min_freq": 0,
    "max_size": None,
    "lower_case": False,
    "delimiter": None,
    "idx2sym": ["<eos>", "the", "<unk>", "cat", *(f"w{number}" for number in range(27))],
    "sym2idx": OrderedDict([("<eos>", 0), ("the", 1)]),
}
NAMES = (
    (r"^model\.embed_tokens\.vectors\.", "transformer.word_emb.emb_layers."),
    (r"^model\.embed_tokens\.projections\.(\d)\.weight", r"transformer.word_emb.emb_projs.\1"),
    (r"^model\.score_biases\.(\d)\.content", r"transformer.layers.\1.dec_attn.r_w_bias"),
    (r"^model\.score_biases\.(\d)\.position", r"transformer.layers.\1.dec_attn.r_r_bias"),
    (r"^model\.", "transformer."),
    (r"self_attn\.([ro])_proj", r"dec_attn.\1_net"),
    (r"attention_norm", "dec_attn.layer_norm"),
    (r"ffn_norm", "pos_ff.layer_norm"),
    (r"ffn\.up_proj", "pos_ff.CoreNet.0"),
    (r"ffn\.down_proj", "pos_ff.CoreNet.3"),
    (r"^lm_head\.words\.", "crit.out_layers."),
    (r"^lm_head\.projections\.(\d)\.weight", r"crit.out_projs.\1"),
    (r"^lm_head\.clusters\.", "crit.cluster_"),
)


def their_name(name: str) -> str:
    for ours, theirs in NAMES:
        name = re.sub(ours, theirs, name)
    return name


def their_weights(tensors: Tensors) -> Tensors:
    """Our weights, or gradients, under their names."""
    found = {}
    for name, tensor in tensors.items():
        if (match := re.fullmatch(r"(.*\.)self_attn\.q_proj\.weight", name)) is not None:
            parts = [tensors[f"{match[1]}self_attn.{letter}_proj.weight"] for letter in "qkv"]
            found[f"{their_name(match[1])}dec_attn.qkv_net.weight"] = torch.cat(parts)
        elif not re.search(r"\.[kv]_proj", name):
            found[their_name(name)] = tensor
    return found


@pytest.fixture
def published(tmp_path: Path) -> tuple[TransfoXLLMHeadModel, Path]:
    """A model, and a folder with it as the old library wrote it."""
    torch.default_generator.manual_seed(0)
    model = TransfoXLLMHeadModel(TransfoXLConfig.from_dict(PUBLISHED))
    perturb(model, 0.4)
    model.tie_weights()
    weights = their_weights(model.state_dict()) | {"transformer.pos_emb.inv_freq": torch.rand(6)}
    torch.save(weights, tmp_path / "pytorch_model.bin")
    (tmp_path / "config.json").write_text(json.dumps(PUBLISHED), encoding="utf-8")
    torch.save(VOCABULARY, tmp_path / "vocab.bin")
    return model.eval(), tmp_path


# Weights


@pytest.fixture
def references(shared_data: Path) -> Path:
    """What transformers 4.36.2 answered, with its weights."""
    folder = shared_data.parent / "reference" / "transfo_xl"
    if not folder.is_dir():
        pytest.skip(f"no reference at {folder}")
    return folder


@pytest.mark.parametrize("kind", ["plain", "adaptive", "tied_biases"])
@pytest.mark.parametrize("memory_start", ["zeros", "empty"])
@torch.no_grad()
def test_it_computes_what_the_old_library_did(references: Path, kind: str, memory_start: str) -> None:
    """Log-probabilities over three segments and the memory after them, from transformers 4.36.2."""
    folder = references / kind
    expected = load_file(folder / "outputs.safetensors")
    model, info = TransfoXLLMHeadModel.from_pretrained(folder, output_loading_info=True)
    assert not any(info.values()), info
    assert model.config.memory_start == "zeros"
    model.config.memory_start = memory_start
    cache, found = None, []
    for segment in expected["ids"].split(8, 1):
        outputs = model(segment, past_key_values=cache)
        cache = outputs.past_key_values
        found.append(outputs.logits)
    assert_close(torch.cat(found, 1), expected[f"log_probs_{memory_start}"], rtol=0, atol=1e-5)
    for number, state in enumerate(cache.states):
        assert_close(state[0], expected[f"memory_{memory_start}_{number}"], rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", ["plain", "adaptive", "tied_biases"])
def test_its_gradients_are_those_of_the_old_library(references: Path, kind: str) -> None:
    folder = references / kind
    expected = load_file(folder / "outputs.safetensors")
    model = TransfoXLLMHeadModel.from_pretrained(folder)
    model.config.memory_start = "empty"
    ids = expected["ids"][:, :8]
    loss = model(ids, labels=ids).loss
    assert_close(loss, expected["loss_empty_first_8"], rtol=0, atol=1e-5)
    loss.backward()
    gradients = their_weights({name: parameter.grad for name, parameter in model.named_parameters()})
    shared = "layers.0.dec_attn.r_" if kind == "tied_biases" else "nothing"
    found = {re.sub(rf"{shared}(?=[rw]_bias)", "r_", name): gradient for name, gradient in gradients.items()}
    theirs = {name.removeprefix("gradient."): g for name, g in expected.items() if name.startswith("gradient.")}
    assert theirs.keys() == found.keys()
    for name, gradient in theirs.items():
        assert_close(found[name], gradient, rtol=1e-4, atol=1e-6, msg=lambda m, name=name: f"{name}: {m}")


def test_a_published_folder_loads_as_it_is(
    published: tuple[TransfoXLLMHeadModel, Path],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, folder = published
    listen_to_transformers(caplog, monkeypatch)
    ours, info = AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True)
    assert [record.getMessage() for record in caplog.records] == []
    assert isinstance(ours, TransfoXLLMHeadModel)
    assert not any(info.values()), info
    ids = torch.arange(31)[None]
    expected = model(ids)
    assert_close(ours(ids).logits, expected.logits, rtol=0, atol=1e-6)
    base = AutoModel.from_pretrained(folder)
    assert isinstance(base, TransfoXLModel)
    assert_close(base(ids).last_hidden_state, model.model(ids).last_hidden_state, rtol=0, atol=1e-6)
    # What we save has our names only, and goes on from the zeros that the weights were trained with.
    ours.save_pretrained(tmp_path / "ours")
    names = load_file(tmp_path / "ours" / "model.safetensors").keys()
    assert names <= model.state_dict().keys()
    again = TransfoXLLMHeadModel.from_pretrained(tmp_path / "ours")
    assert again.config.memory_start == "zeros"
    assert_close(again(ids).logits, expected.logits, rtol=0, atol=1e-6)


def test_a_folder_that_lacks_weights_is_refused(published: tuple[TransfoXLLMHeadModel, Path]) -> None:
    _, folder = published
    weights = torch.load(folder / "pytorch_model.bin", weights_only=True)
    del weights["transformer.layers.1.dec_attn.qkv_net.weight"]
    torch.save(weights, folder / "pytorch_model.bin")
    with pytest.raises(ValueError, match=r"lacks tensors: .*layers\.1\.self_attn\.k_proj"):
        TransfoXLLMHeadModel.from_pretrained(folder)


# Configuration


def test_the_fields_of_a_published_configuration(published: tuple[TransfoXLLMHeadModel, Path]) -> None:
    _, folder = published
    found = AutoConfig.from_pretrained(folder)
    fields = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 2, "head_dim": 4, "embedding_size": 16}
    fields |= {"intermediate_size": 20, "segment_length": 7, "vocab_size": 31, "eos_token_id": 0, "mem_len": 5}
    fields |= {"cutoffs": [8, 14], "div_val": 2, "same_length": True, "clamp_len": 6, "memory_start": "zeros"}
    expected = TransfoXLConfig(**fields, architectures=found.architectures)
    assert json.loads(found.to_json_string()) == json.loads(expected.to_json_string())
    assert TransfoXLConfig.from_dict(PUBLISHED | {"clamp_len": -1}).clamp_len is None


@pytest.mark.parametrize("field", [{"pre_lnorm": True}, {"attn_type": 2}, {"sample_softmax": 9}, {"ext_len": 3}])
def test_other_formulas_are_refused(field: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(field))} is"):
        TransfoXLConfig.from_dict(PUBLISHED | field)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"cutoffs": [14, 8]}, r"cutoffs is \[14, 8\]; it must ascend"),
        ({"cutoffs": [8, 31]}, r"at most vocab_size - 1 = 30"),
        ({"div_val": 5}, r"width embedding_size / div_val\^2 = 16 / 25"),
        ({"tie_projs": [True]}, r"tie_projs has 1 entries; it must have 3"),
        ({"mem_len": 0}, r"same_length is True with mem_len=0"),
        ({"d_model": 13}, r"hidden_size is 13; it must be even"),
    ],
)
def test_fields_that_do_not_fit_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TransfoXLConfig.from_dict(PUBLISHED | fields)


# Vocabulary


def as_pickle(folder: Path, vocabulary: Any, protocol: int = 2) -> None:
    (folder / "vocab.bin").unlink()
    (folder / "vocab.pkl").write_bytes(pickle.dumps(vocabulary, protocol))


@pytest.mark.parametrize("kind", ["vocab.bin", "vocab.bin of old torch", "vocab.pkl", "vocab.pkl 4"])
@pytest.mark.parametrize("named", [False, True])
def test_its_tokenizer_is_found(published: tuple[TransfoXLLMHeadModel, Path], kind: str, named: bool) -> None:
    """Ids in the order of the file, an end and no beginning; saved and loaded again, the same."""
    model, folder = published
    if "old" in kind:
        torch.save(VOCABULARY, folder / "vocab.bin", _use_new_zipfile_serialization=False)
    if "pkl" in kind:
        as_pickle(folder, VOCABULARY, 4 if "4" in kind else 2)
    if named:
        (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "TransfoXLTokenizer"}', encoding="utf-8")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.save_pretrained(folder / "saved")
    for each in (tokenizer, AutoTokenizer.from_pretrained(folder / "saved")):
        assert type(each) is WordTokenizer
        assert each("the cat sleeps w26").input_ids == [1, 3, 2, 30]
        assert (each.eos_token_id, each.unk_token_id, len(each)) == (0, 2, 31)
        assert each.bos_token is None
        assert each.pad_token is None
    scores = score_texts(model, tokenizer, ["the cat", "cat the"])
    ids = torch.tensor([[0, 1, 3, 0]])
    expected = model(ids).logits[0, :-1].gather(1, ids[0, 1:, None]).sum()
    assert scores[0].log_prob == pytest.approx(expected.item(), abs=1e-4)


def test_lower_case(published: tuple[TransfoXLLMHeadModel, Path]) -> None:
    _, folder = published
    torch.save(VOCABULARY | {"lower_case": True}, folder / "vocab.bin")
    assert AutoTokenizer.from_pretrained(folder)("The CAT").input_ids == [1, 3]


class Calls:
    """A pickle that would call something."""

    def __reduce__(self) -> Any:
        return (Path.touch, (Path("called"),))


def named(module: str, name: str, monkeypatch: pytest.MonkeyPatch, **fields: Any) -> Any:
    """An object of a class that only the pickle's writer could import."""
    made = type(name, (), {"__module__": module})
    parent, *rest = module.split(".")
    for place in (parent, module) if rest else (parent,):
        if place not in sys.modules:
            monkeypatch.setitem(sys.modules, place, ModuleType(place))
    monkeypatch.setattr(sys.modules[module], name, made, raising=False)
    thing = made()
    thing.__dict__.update(fields)
    return thing


@pytest.fixture
def all_fields(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Every field of the tokenizer of transformers 4.35.2 whose value is an object, under the same names."""
    space = re.compile(r"(?=[^\s])")
    moses = {"DEDUPLICATE_SPACE": (r"\s+", r" "), "pattern": space, "IS_N": set("ab"), "lang": "en"}
    tokenize, normalize = "their_sacremoses.tokenize", "their_sacremoses.normalize"
    fields = {
        "punction_without_space_before_pattern": re.compile(r"[^\s][!]"),
        "punctuation_with_space_around_pattern": space,
        "moses_punct_normalizer": named(normalize, "MosesPunctNormalizer", monkeypatch, substitutions=[("\r", r"")]),
        "moses_tokenizer": named(tokenize, "MosesTokenizer", monkeypatch, **moses),
        "moses_detokenizer": named(tokenize, "MosesDetokenizer", monkeypatch, lang="en"),
        "tokens_trie": named("their_transformers.tokenization_utils", "Trie", monkeypatch, data={"<": {"": 1}}),
        "_added_tokens_decoder": {31: named("their_tokenizers", "AddedToken", monkeypatch, content="<formula>")},
        "_added_tokens_encoder": defaultdict(int, {"<formula>": 31}),
        "kept": {frozenset("ab"), bytes(3), 1j, range(3)},
        "deque": deque([1]),
        "path": Path("vocab.txt"),
        "random": Random(3),
    }
    return VOCABULARY | fields


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_a_vocabulary_with_all_fields_of_its_tokenizer(
    published: tuple[TransfoXLLMHeadModel, Path], all_fields: Any, protocol: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As transformers 4.35 pickles it: the words are read, and no class of the file is looked for."""
    _, folder = published
    as_pickle(folder, all_fields, protocol)
    for name in [name for name in sys.modules if name.startswith("their_")]:
        monkeypatch.delitem(sys.modules, name)
    assert AutoTokenizer.from_pretrained(folder)("the cat sleeps w26").input_ids == [1, 3, 2, 30]
    found = read_vocabulary(folder / "vocab.pkl")
    for name in VOCABULARY:
        assert found[name] == VOCABULARY[name]


@pytest.mark.parametrize("saved", ["vocab.bin", "vocab.bin of old torch", "vocab.pkl", "vocab.pkl of torch"])
@pytest.mark.parametrize("whole", ["fields", "Vocab", "Corpus"])
def test_what_torch_saved_with_objects(
    published: tuple[TransfoXLLMHeadModel, Path],
    all_fields: Any,
    saved: str,
    whole: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same fields saved by torch, also under the other name, and the objects of the authors' code."""
    _, folder = published
    thing = all_fields
    if whole != "fields":
        thing = named("their_vocabulary", "Vocab", monkeypatch, **all_fields)
    if whole == "Corpus":
        thing = named("their_data_utils", "Corpus", monkeypatch, vocab=thing, train=torch.arange(9))
    name = saved.split()[0]
    if saved == "vocab.pkl":
        as_pickle(folder, thing)
    else:
        (folder / "vocab.bin").unlink()
        torch.save(thing, folder / name, _use_new_zipfile_serialization=not saved.endswith("old torch"))
    assert AutoTokenizer.from_pretrained(folder)("the cat sleeps w26").input_ids == [1, 3, 2, 30]


def test_words_that_python_2_pickled(published: tuple[TransfoXLLMHeadModel, Path]) -> None:
    """A `str` of Python 2 is bytes, here those of UTF-8."""
    _, folder = published
    as_pickle(folder, None)
    word = "schön".encode()
    (folder / "vocab.pkl").write_bytes(b"(dU\x07idx2sym(lU" + bytes([len(word)]) + word + b"as.")
    assert read_vocabulary(folder / "vocab.pkl") == {"idx2sym": ["schön"]}


def test_nothing_of_a_pickle_is_run(
    published: tuple[TransfoXLLMHeadModel, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a call that the file asks for, nor a change of a class that it names."""
    _, folder = published
    monkeypatch.chdir(folder)
    as_pickle(folder, VOCABULARY | {"special": Calls()})
    assert read_vocabulary(folder / "vocab.pkl")["idx2sym"] == VOCABULARY["idx2sym"]
    assert not (folder / "called").exists()
    before = Counter.most_common
    # BUILD with (None, {"most_common": 3}) would set an attribute of the class itself.
    (folder / "vocab.pkl").write_bytes(b"ccollections\nCounter\n(N(dVmost_common\nI3\nstb.")
    with pytest.raises(ValueError, match="no list of words"):
        read_vocabulary(folder / "vocab.pkl")
    assert Counter.most_common is before


@pytest.mark.cases(6, 6)
@pytest.mark.parametrize(
    ("vocabulary", "message"),
    [
        (VOCABULARY | {"idx2sym": Calls()}, "no list of words"),
        (VOCABULARY | {"idx2sym": ["a", Calls()]}, "no list of words"),
        ({"idx2sym": ["a", "b", "a"]}, "the word 'a' twice"),
        ({"idx2sym": ["a", 3]}, "no list of words"),
        (["a"], "no list of words"),
        (VOCABULARY | {"delimiter": ""}, "splits texts at '', not at white space"),
    ],
)
@pytest.mark.parametrize("pickled", [False, True])
def test_other_files_are_refused(
    published: tuple[TransfoXLLMHeadModel, Path],
    monkeypatch: pytest.MonkeyPatch,
    vocabulary: Any,
    message: str,
    pickled: bool,
) -> None:
    """And nothing that they name is run."""
    _, folder = published
    monkeypatch.chdir(folder)
    torch.save(vocabulary, folder / "vocab.bin")
    if pickled:
        as_pickle(folder, vocabulary)
    with pytest.raises(ValueError, match=rf"{'vocab.pkl' if pickled else 'vocab.bin'}.*{message}"):
        AutoTokenizer.from_pretrained(folder)
    assert not (folder / "called").exists()


@pytest.mark.slow
def test_a_damaged_vocabulary_and_none(published: tuple[TransfoXLLMHeadModel, Path]) -> None:
    _, folder = published
    whole = (folder / "vocab.bin").read_bytes()
    (folder / "vocab.bin").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"vocab\.bin cannot be read as a vocabulary: it is damaged"):
        AutoTokenizer.from_pretrained(folder)
    (folder / "vocab.bin").unlink()
    with pytest.raises(FileNotFoundError, match=r"has no tokenizer\.json, vocab\.bin or vocab\.pkl"):
        AutoTokenizer.from_pretrained(folder)
