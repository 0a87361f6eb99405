# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""docs/old_weights.md: each kind of old weights, by the commands of its section, beside the program that wrote it.

The options "--prompt", "--max-new-tokens", "--train_files" and "--from_pretrained" are those of the page.
"""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.testing import assert_close
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    BertConfig,
    BertForMaskedLM,
    BertLMHeadModel,
    OpenAIGPTConfig,
    OpenAIGPTLMHeadModel,
    set_seed,
)

from hf_lecture_models.loading import load_model
from hf_lecture_models.models.transformer_xl import TransfoXLConfig, TransfoXLLMHeadModel
from tests.model_tests import perturb
from tests.models.ngram.arpa_ngram import SMALL
from tests.models.ngram.kenlm_ngram import grams_of, trie_file
from tests.models.transformer_xl.test_conversion_transformer_xl import PUBLISHED, VOCABULARY, their_weights
from tests.printed_commands import ROOT, run_printed

PAGE = (ROOT / "docs" / "old_weights.md").read_text(encoding="utf-8")
SENTENCES = ["the cat sat", "sat the zebra"]
CHARACTERS = [chr(code) + end for code in range(97, 123) for end in ("", "</w>")]


def section(heading: str) -> str:
    return PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def follow(heading: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Run the commands of a section one after the other in `place`; return what each printed."""
    (place / "sentences.txt").write_text("".join(f"{line}\n" for line in SENTENCES), encoding="utf-8")
    printed = []
    for line in re.findall(r"(?m)^ {4}((?:hf-lecture|echo) .*)$", section(heading)):
        status, out, err = run_printed(line, place)
        assert status == 0, f"{line}: {err}"
        printed.append(out)
    assert printed
    monkeypatch.chdir(place)
    return printed


@pytest.mark.slow
@pytest.mark.parametrize(("heading", "name"), [("ARPA", "lm.arpa.gz"), ("KenLM's binary files", "lm.klm")])
def test_ngrams(heading: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kenlm = pytest.importorskip("kenlm")
    content = trie_file(grams_of()) if name == "lm.klm" else SMALL.encode()
    (tmp_path / name.removesuffix(".gz")).write_bytes(content)
    theirs = kenlm.Model(str(tmp_path / name.removesuffix(".gz")))
    if name.endswith(".gz"):
        (tmp_path / name).write_bytes(gzip.compress(content))
    (table,) = follow(heading, tmp_path, monkeypatch)
    for line, text in zip(table.splitlines(), SENTENCES, strict=True):
        assert float(line.split()[0]) == pytest.approx(theirs.score(text) * np.log(10), abs=2e-4)


@pytest.mark.parametrize(
    ("heading", "name"), [("word2vec and fastText", "GoogleNews-vectors.bin"), ("GloVe", "glove.6B.50d.txt")]
)
def test_word_vectors(heading: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keyed = pytest.importorskip("gensim.models").KeyedVectors(50)
    words = ["the", "king", "queen", "cat", "dog", *(f"w{number}" for number in range(20))]
    keyed.add_vectors(words, np.random.default_rng(0).normal(size=(25, 50)).astype(np.float32))
    keyed.save_word2vec_format(tmp_path / name, binary=name.endswith("bin"), write_header=name.endswith("bin"))
    lines, told = follow(heading, tmp_path, monkeypatch)
    for line in lines.splitlines():
        word, near = line.split("\t")
        expected = [part for other, value in keyed.most_similar(word) for part in (other, f"{value:.3f}")]
        assert near.split() == expected
    assert told.endswith(": 25 words of width 50\n")
    model, tokenizer = load_model(told.partition(":")[0])
    vectors = model.embed_tokens.weight[tokenizer.convert_tokens_to_ids(words)].detach().numpy()
    assert vectors.tobytes() == keyed.vectors.tobytes()
    saved = json.loads(Path(told.partition(":")[0], "tokenizer_config.json").read_text(encoding="utf-8"))
    assert saved["clean_up_tokenization_spaces"] is False


def test_elmo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Any) -> None:
    pytest.importorskip("h5py")
    from tests.models.elmo.test_conversion_elmo import numpy_elmo, random_arrays, write

    arrays = random_arrays()
    for name, file in zip(("options.json", "elmo_weights.hdf5"), write(tmp_path, arrays), strict=True):
        file.rename(tmp_path / name)
    assert follow("ELMo", tmp_path, monkeypatch) == ["elmo: ElmoModel with 2,225 parameters\n"]
    code = re.findall(r"(?m)^ {4}((?:from|import|model|vectors)\b.*)$", section("ELMo"))
    names: dict[str, Any] = {}
    exec("\n".join(code), names)
    ids = names["tokenizer"]("the light sleeps", return_tensors="pt").input_ids[0].numpy()
    assert_close(names["vectors"][0].double(), torch.from_numpy(numpy_elmo(arrays, ids)[-1]), rtol=0, atol=1e-5)
    (tmp_path / "options.json").rename(tmp_path / "elmo_options.json")
    (tmp_path / "elmo").rename(tmp_path / "first")
    assert run("convert", tmp_path, "second")[::2] == (0, "")
    assert Path("second/model.safetensors").read_bytes() == Path("first/model.safetensors").read_bytes()
    (tmp_path / "elmo_options.json").unlink()
    assert "has no elmo_options.json or options.json beside it" in run("convert", "elmo_weights.hdf5", "third")[2]
    Path("other_weights.h5").touch()
    assert "has 2 files of weights; name one of them" in run("convert", tmp_path, "third")[2]
    assert not Path("third").exists()


def save_transfo_xl(folder: Path) -> None:
    set_seed(0)
    model = TransfoXLLMHeadModel(TransfoXLConfig.from_dict(PUBLISHED))
    perturb(model, 0.4)
    model.tie_weights()
    folder.mkdir()
    torch.save(their_weights(model.state_dict()), folder / "pytorch_model.bin")
    torch.save(VOCABULARY, folder / "vocab.bin")
    (folder / "config.json").write_text(json.dumps(PUBLISHED), encoding="utf-8")


def save_gpt1(folder: Path) -> None:
    """As transformers 4 did: weights of torch's first format, and a vocabulary without tokenizer.json."""
    set_seed(0)
    words = [*CHARACTERS, "ca", "cat</w>", "<unk>"]
    model = OpenAIGPTLMHeadModel(OpenAIGPTConfig(vocab_size=len(words), n_positions=32, n_embd=8, n_layer=1, n_head=2))
    perturb(model, 0.4)
    model.config.save_pretrained(folder)
    torch.save(model.state_dict(), folder / "pytorch_model.bin", _use_new_zipfile_serialization=False)
    (folder / "vocab.json").write_text(json.dumps({word: number for number, word in enumerate(words)}), "utf-8")
    (folder / "merges.txt").write_text("#version: 0.2\nc a\nca t</w>\n", "utf-8")


def save_bert(folder: Path, model_class: type = BertForMaskedLM, **fields: Any) -> None:
    set_seed(0)
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    model = model_class(BertConfig(vocab_size=10, **sizes, **fields))
    perturb(model, 0.4)
    model.save_pretrained(folder)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "dog", "sat", "mat"]
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in words), encoding="utf-8")


@pytest.mark.slow
def test_transformer_xl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Any) -> None:
    """test_conversion_transformer_xl.py compares with what transformers 4.36.2 answered."""
    save_transfo_xl(tmp_path / "transfo-xl-wt103")
    table, told = follow("Transformer-XL", tmp_path, monkeypatch)
    assert told == "transformer_xl: TransfoXLLMHeadModel with 2,949 parameters\n"
    assert run("score", "transformer_xl", "sentences.txt")[:2] == (0, table)
    assert "clean_up_tokenization_spaces" in Path("transformer_xl/tokenizer_config.json").read_text(encoding="utf-8")


@pytest.mark.slow
def test_gpt1_and_bert(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Any) -> None:
    save_gpt1(tmp_path / "openai-gpt")
    save_bert(tmp_path / "bert-base")
    told, filled, *converted = follow("GPT-1 and BERT", tmp_path, monkeypatch)
    assert [line.split()[1] for line in converted] == ["Gpt1ForCausalLM", "LectureBertForMaskedLM"]
    assert run("generate", "gpt1", "--prompt", "the cat", "--max-new-tokens", 8)[1] == told
    assert run("predict", "bert", stdin="the [MASK] sat\n")[1] == filled
    for auto, old, new in ((AutoModelForCausalLM, "openai-gpt", "gpt1"), (AutoModelForMaskedLM, "bert-base", "bert")):
        (theirs, tokenizer), (ours, _) = (load_model(name, auto) for name in (old, new))
        inputs = tokenizer("the cat sat", return_tensors="pt")
        with torch.no_grad():
            assert_close(ours(**inputs).logits, theirs(**inputs).logits, rtol=0, atol=1e-5)


@pytest.mark.slow
def test_checkpoints_that_cannot_be_converted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Any) -> None:
    monkeypatch.chdir(tmp_path)
    save_gpt1(Path("gpt"))
    save_transfo_xl(Path("xl"))
    save_bert(Path("decoder"), BertLMHeadModel, is_decoder=True)
    for folder in ("gpt", "xl"):
        file = Path(folder, "pytorch_model.bin")
        whole = file.read_bytes()
        for size in (0, 150, len(whole) // 2, len(whole) - 1):
            file.write_bytes(whole[:size])
            status, out, err = run("convert", folder, "out")
            assert (status, out) == (1, "")
            assert f"{file} cannot be read as weights (" in err
        file.write_bytes(whole)
    Path("gpt/vocab.json").unlink()
    Path("gpt/merges.txt").unlink()
    for source, target, message in (
        ("gpt", "out", "the folder gpt has no tokenizer"),
        ("decoder", "out", "decoder holds BertLMHeadModel, and this package has no such head"),
        ("xl", "out.json", "would be a folder, but .json is the suffix of a file"),
        ("xl", "decoder", "decoder is there already"),
        ("xl", "out.vec", "only word vectors of word2vec are written as its files"),
    ):
        status, out, err = run("convert", source, target)
        assert (status, out) == (1, "")
        assert message in err
    assert not Path("out").exists()
