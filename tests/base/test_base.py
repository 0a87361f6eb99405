# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Configuration, saving, loading and scoring, on a model of two matrices."""

import errno
import json
import os
from pathlib import Path

import pytest
import safetensors.torch
import torch
from huggingface_hub.dataclasses import strict
from torch import nn
from transformers import GenerationMixin, GPT2Config, GPT2LMHeadModel
from transformers import initialization as init
from transformers.modeling_outputs import CausalLMOutput

from hf_lecture_models.base.configuration import LectureConfig
from hf_lecture_models.base.limits import check_tokenizer
from hf_lecture_models.base.modeling import LecturePreTrainedModel
from hf_lecture_models.base.scoring import score_from_logits
from hf_lecture_models.io.files import staged_file, staged_folder


@strict
class PairConfig(LectureConfig):
    model_type = "lecture_pair"
    foreign_model_types = ("pair-original",)
    allowed_values = {"kind": ("plain", "fancy")}
    positive_fields = ("hidden_size",)
    attribute_map = {"n_embd": "hidden_size"}

    vocab_size: int = 11
    hidden_size: int = 4
    num_hidden_layers: int = 1
    kind: str = "plain"
    bos_token_id: int | None = 9
    pad_token_id: int | None = 10

    def check_fields(self):
        if self.kind == "fancy" and self.hidden_size < 2:
            raise ValueError("a fancy pair needs hidden_size of at least 2")


class PairForCausalLM(LecturePreTrainedModel, GenerationMixin):
    """A bigram model as a product of two matrices."""

    config: PairConfig
    base_model_prefix = "model"

    def __init__(self, config):
        super().__init__(config)
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.cell = nn.GRUCell(config.hidden_size, config.hidden_size)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size)
        self.post_init()

    @torch.no_grad()
    def _init_weights(self, module):
        super()._init_weights(module)
        if isinstance(module, nn.GRUCell):  # transformers has no rule for it: the memory's old values would remain
            for parameter in module.parameters():
                init.normal_(parameter)

    def forward(self, input_ids, attention_mask=None, **kwargs):
        hidden = self.embed_tokens(input_ids)
        return CausalLMOutput(logits=self.lm_head(self.cell(hidden.flatten(0, 1)).view_as(hidden)))

    @torch.no_grad()
    def score(self, input_ids, attention_mask=None):
        return score_from_logits(self, input_ids, attention_mask)


@pytest.fixture
def model():
    torch.manual_seed(0)
    return PairForCausalLM(PairConfig()).eval()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "odd"}, "'odd'; it must be one of 'plain', 'fancy'"),
        ({"hidden_size": 0}, "hidden_size is 0; it must be at least 1"),
        ({"n_embd": 0}, "hidden_size is 0"),
        ({"num_hidden_layers": 10**6}, "num_hidden_layers is 1000000; at most 256"),
        ({"hiden_size": 8}, "'hiden_size'; did you mean 'hidden_size'"),
        ({"bos_token_id": 11}, "outside the vocabulary of 11"),
        ({"kind": "fancy", "hidden_size": 1}, "at least 2"),
        ({"model_type": "bert"}, "cannot read a checkpoint of model_type 'bert'; it reads lecture_pair, pair-original"),
    ],
)
def test_config_refuses(fields, message):
    with pytest.raises(ValueError, match=message):
        PairConfig(**fields)


def test_config_checks_types_and_assignments():
    config = PairConfig()
    with pytest.raises(ValueError, match="must be one of"):
        config.kind = "odd"
    with pytest.raises(ValueError, match="outside the vocabulary"):
        config.bos_token_id = 11
    with pytest.raises(Exception, match="expected int"):
        PairConfig(hidden_size="4")


def test_config_keeps_unknown_fields_of_its_own_type_and_drops_foreign_ones():
    assert PairConfig(my_note="kept").to_dict()["my_note"] == "kept"
    foreign = PairConfig(model_type="pair-original", afn="gelu", n_embd=8, hiden_size=3)
    assert (foreign.hidden_size, foreign.model_type) == (8, "lecture_pair")
    assert not {"afn", "hiden_size"} & foreign.to_dict().keys()


def test_config_refuses_to_save_contradictions(tmp_path):
    config = PairConfig(kind="fancy")
    config.hidden_size = 1
    with pytest.raises(ValueError, match="at least 2"):
        config.save_pretrained(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_flattened_copy_keeps_its_auto_map():
    config = PairConfig()
    config.auto_map = {"AutoConfig": "x.PairConfig"}
    # This class is not of the package, as a flattened copy is not; the package's own drop the map (tests/hub).
    assert "auto_map" in config.to_dict()


def test_save_and_reload_is_bit_equal(model, tmp_path):
    model.save_pretrained(tmp_path / "new" / "folder")
    loaded = PairForCausalLM.from_pretrained(tmp_path / "new" / "folder")
    for (name, ours), (_, theirs) in zip(model.state_dict().items(), loaded.state_dict().items(), strict=True):
        assert torch.equal(ours, theirs), name
    assert list((tmp_path / "new").iterdir()) == [tmp_path / "new" / "folder"]


def test_full_disk_leaves_the_old_model(model, tmp_path, monkeypatch):
    folder = tmp_path / "model"
    model.save_pretrained(folder)
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    model.lm_head.bias.data += 1
    model.config.my_note = "changed"

    def no_space(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("transformers.modeling_utils.safe_save_file", no_space)
    with pytest.raises(OSError, match="No space left"):
        model.save_pretrained(folder)
    with pytest.raises(OSError, match="No space left"):
        model.save_pretrained(tmp_path / "fresh")
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before
    assert list(tmp_path.iterdir()) == [folder]


def test_others_may_read_what_the_umask_lets_them(model, tmp_path):
    """safetensors by itself leaves weights that their owner alone may read."""
    before = os.umask(0o027)
    try:
        model.save_pretrained(tmp_path / "saved")
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "saved").iterdir()} == {0o640}
    assert (tmp_path / "saved").stat().st_mode & 0o777 == 0o750


def test_a_file_in_the_folders_place(model, tmp_path):
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(NotADirectoryError, match="it is a file; name a folder"):
        model.save_pretrained(tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "mine"


def test_staged_file_is_all_or_nothing(tmp_path):
    target = tmp_path / "x.arpa"
    with staged_file(target) as stage:
        stage.write_text("one")
    with pytest.raises(RuntimeError, match="boom"), staged_file(target) as stage:
        stage.write_text("half")
        raise RuntimeError("boom")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("x.arpa", "one")]
    with pytest.raises(IsADirectoryError, match="name a file"), staged_file(tmp_path):
        pass


def test_staged_folder_keeps_the_target_when_the_block_fails(tmp_path):
    with pytest.raises(RuntimeError, match="boom"), staged_folder(tmp_path / "f") as stage:
        (stage / "a").write_text("half")
        raise RuntimeError("boom")
    assert list(tmp_path.iterdir()) == []


def _rewrite(folder: Path, change) -> None:
    file = folder / "model.safetensors"
    tensors = safetensors.torch.load_file(file)
    change(tensors)
    safetensors.torch.save_file(tensors, file, metadata={"format": "pt"})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop("lm_head.bias"), "lacks tensors: lm_head.bias"),
        (lambda t: t.update(other=torch.ones(2)), "holds unknown tensors: other"),
        (lambda t: t["lm_head.bias"].fill_(float("nan")), "NaN or infinite values in lm_head.bias"),
        (lambda t: t["lm_head.bias"][0].fill_(float("inf")), "NaN or infinite values in lm_head.bias"),
    ],
)
def test_load_refuses_damaged_weights(model, tmp_path, change, message):
    model.save_pretrained(tmp_path)
    _rewrite(tmp_path, change)
    with pytest.raises(ValueError, match=message):
        PairForCausalLM.from_pretrained(tmp_path)


def test_load_names_a_file_that_is_cut_off(model, tmp_path):
    model.save_pretrained(tmp_path)
    weights = tmp_path / "model.safetensors"
    for length in (4, weights.stat().st_size // 2):
        weights.write_bytes(weights.read_bytes()[:length])
        with pytest.raises(ValueError, match=r"test_load_names.*damaged or cut off"):
            PairForCausalLM.from_pretrained(tmp_path)
        model.save_pretrained(tmp_path)


def test_load_refuses_a_file_of_another_model_though_the_class_differs(model, tmp_path):
    model.config.architectures = None
    model.save_pretrained(tmp_path)
    safetensors.torch.save_file({"foreign": torch.ones(2)}, tmp_path / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"architectures": ["PairModel"]}))
    with pytest.raises(ValueError, match="lacks tensors"):
        PairForCausalLM.from_pretrained(tmp_path)


def test_load_refuses_another_model_type(tmp_path):
    GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=1, n_embd=4, vocab_size=11)).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="cannot read a checkpoint of model_type 'gpt2'"):
        PairForCausalLM.from_pretrained(tmp_path)


def test_load_names_a_missing_file(model, tmp_path):
    model.save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(OSError, match="model.safetensors"):
        PairForCausalLM.from_pretrained(tmp_path)


def test_score_looks_over_holes_in_the_mask(model):
    ids = torch.tensor([[1, 2, 3, 4]])
    holed = model.score(ids, attention_mask=torch.tensor([[1, 0, 1, 1]]))
    compact = model.score(torch.tensor([[1, 3, 4]]))
    torch.testing.assert_close(holed[:, [0, 2, 3]], compact)
    assert holed[0, 1] == 0


def test_score_of_transformers_own_model_does_not_depend_on_padding():
    torch.manual_seed(0)
    gpt2 = GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=2, n_embd=8, vocab_size=11, bos_token_id=9, pad_token_id=10))
    gpt2.eval()
    with torch.no_grad():
        single = score_from_logits(gpt2, torch.tensor([[9, 1, 2]]))
        padded = score_from_logits(gpt2, torch.tensor([[10, 10, 9, 1, 2], [9, 1, 2, 10, 10]]))
    torch.testing.assert_close(padded[0, 2:], single[0])
    torch.testing.assert_close(padded[1, :3], single[0])


def test_a_token_that_begins_and_ends_texts_has_a_probability(model):
    model.config.eos_token_id = 9
    assert (model.score(torch.tensor([[9, 1, 9]]))[0, 1:] < 0).all()


class _Tokens:
    bos_token_id, eos_token_id = 9, None

    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size


def test_a_tokenizer_of_another_vocabulary_is_refused(model):
    check_tokenizer(model, _Tokens(11))
    with pytest.raises(ValueError, match="12 tokens but the model's vocab_size is 11"):
        check_tokenizer(model, _Tokens(12))
    other = _Tokens(11)
    other.bos_token_id = 3
    with pytest.raises(ValueError, match="bos_token_id is 3 but the model's is 9"):
        check_tokenizer(model, other)
