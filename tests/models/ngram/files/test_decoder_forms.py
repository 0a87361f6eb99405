# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""ARPA files for one decoder: what it cannot read is refused, and what it needs is there.

`tests/interop/test_decoders.py` runs the decoders.
"""

import re

import pytest

from hf_lecture_models import NGramForCausalLM, WordTokenizer
from tests.models.ngram.tools.slow_model import arpa_text, drop_ngrams, slow_model
from tests.models.ngram.tools.test_suffixes import TEXTS, lacking


@pytest.fixture(scope="module")
def tokenizer():
    return WordTokenizer.train(TEXTS)


def fitted(tokenizer, order):
    return NGramForCausalLM.fit([*TEXTS, "a e"], tokenizer, order, "absolute_discounting")  # e is unknown


@pytest.mark.parametrize(
    ("decoder", "order", "name", "message"),
    [
        ("flashlight", 1, "lm.arpa", "order 1, and flashlight reads orders 2 to 6"),
        ("flashlight", 7, "lm.arpa", "order 7, and flashlight reads orders 2 to 6"),
        ("flashlight", 2, "lm.arpa.xz", "does not unpack .xz: name the file .arpa or .arpa.gz"),
        ("pocketsphinx", 6, "lm.arpa", "order 6, and pocketsphinx reads orders 1 to 5"),
        ("pocketsphinx", 2, "lm.arpa.xz", "name the file .arpa or .arpa.gz or .arpa.bz2"),
        ("pyctcdecode", 1, "lm.arpa", "order 1, and pyctcdecode reads orders 2 to 6"),
        ("pyctcdecode", 2, "lm.arpa.gz", "ends in .arpa, and from no other; name .*lm.arpa.gz so"),
        ("pyctcdecode", 2, "lm.lm", "name .*lm.lm so"),
        ("pyctcdecode", 2, "LM.ARPA", "name .*LM.ARPA so"),
        ("sphinx", 2, "lm.arpa", "`decoder` is 'sphinx'; known are flashlight, kaldi, pocketsphinx, pyctcdecode"),
    ],
)
def test_what_a_decoder_does_not_read_is_refused(tokenizer, tmp_path, decoder, order, name, message):
    with pytest.raises(ValueError, match=message):
        fitted(tokenizer, order).save_arpa(tmp_path / name, tokenizer, decoder=decoder)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("word", ["<eps>", "#0"])
def test_words_with_another_meaning_are_refused(tmp_path, word):
    tokenizer = WordTokenizer.from_words(["a", "b", "c", "d", word])
    model = fitted(tokenizer, 2)
    with pytest.raises(ValueError, match=f"the word '{word}' has another meaning for kaldi; rename the token"):
        model.save_arpa(tmp_path / "lm.arpa", tokenizer, decoder="kaldi")
    model.save_arpa(tmp_path / "lm.arpa", tokenizer, decoder="flashlight")


@pytest.mark.parametrize(
    ("decoder", "unknown_word", "written"),
    [
        (None, None, "<unk>"),
        ("pyctcdecode", None, "<unk>"),
        ("kaldi", "<SPOKEN_NOISE>", "<SPOKEN_NOISE>"),
        (None, "<UNK>", "<UNK>"),
        ("pocketsphinx", None, "<UNK>"),
        ("pocketsphinx", "<UNK>", "<UNK>"),
    ],
)
def test_the_unknown_word_is_spelled_as_wanted(tokenizer, tmp_path, decoder, unknown_word, written):
    model = fitted(tokenizer, 2)
    model.save_arpa(tmp_path / "lm.arpa", tokenizer, decoder=decoder, unknown_word=unknown_word)
    model.save_arpa(tmp_path / "plain.arpa", tokenizer)
    text, plain = ((tmp_path / name).read_text("utf-8") for name in ("lm.arpa", "plain.arpa"))
    assert "a <unk>" in plain
    assert text == plain.replace("<unk>", written)


@pytest.mark.parametrize(
    ("decoder", "unknown_word", "message"),
    [
        ("pocketsphinx", "<oov>", "`unknown_word` is '<oov>', but pocketsphinx knows only <UNK>"),
        (None, "a", "cannot be spelled 'a', which is another word"),
        (None, "<s>", "cannot be spelled '<s>', which is another word"),
        (None, "no space", "holds white space"),
        (None, "", "is empty"),
    ],
)
def test_other_spellings_of_the_unknown_word_are_refused(tokenizer, tmp_path, decoder, unknown_word, message):
    with pytest.raises(ValueError, match=message):
        fitted(tokenizer, 2).save_arpa(tmp_path / "lm.arpa", tokenizer, decoder=decoder, unknown_word=unknown_word)
    assert not list(tmp_path.iterdir())


def test_a_spelling_needs_an_unknown_word(tokenizer, tmp_path):
    fitted(tokenizer, 2).save_arpa(tmp_path / "lm.arpa", tokenizer)
    lines = [line for line in (tmp_path / "lm.arpa").read_text("utf-8").split("\n") if "<unk>" not in line]
    text = "\n".join(lines)
    for n in (1, 2):
        count = sum(len(line.split("\t")) > 1 and len(line.split("\t")[1].split()) == n for line in lines)
        text = re.sub(f"ngram {n}=.*", f"ngram {n}={count}", text)
    (tmp_path / "without.arpa").write_text(text, "utf-8")
    model, own = NGramForCausalLM.from_arpa(tmp_path / "without.arpa")
    with pytest.raises(ValueError, match="`unknown_word` is '<oov>', but the model gives unknown words no probability"):
        model.save_arpa(tmp_path / "new.arpa", own, unknown_word="<oov>")
    model.save_arpa(tmp_path / "new.arpa", own, decoder="pocketsphinx")
    assert "<UNK>" not in (tmp_path / "new.arpa").read_text("utf-8")


def test_pocketsphinx_gets_the_last_words_of_each_ngram(tokenizer, tmp_path):
    slow = drop_ngrams(slow_model(fitted(tokenizer, 4), tokenizer), 0.6, seed=0)
    (tmp_path / "lm.arpa").write_text(arpa_text(slow), "utf-8")
    model, own = NGramForCausalLM.from_arpa(tmp_path / "lm.arpa")
    for decoder, is_lacking in (("pocketsphinx", False), ("kaldi", True)):
        model.save_arpa(tmp_path / "new.arpa", own, decoder=decoder)
        assert bool(lacking(slow_model(*NGramForCausalLM.from_arpa(tmp_path / "new.arpa")))) is is_lacking


def test_classes_of_words_are_refused(tokenizer, tmp_path):
    model = NGramForCausalLM.fit(TEXTS, tokenizer, 2, "absolute_discounting", classes=2)
    with pytest.raises(ValueError, match="the model is of classes of words, which kaldi does not know"):
        model.save_arpa(tmp_path / "lm.arpa", tokenizer, tmp_path / "lm.classes", decoder="kaldi")


def test_pocketsphinx_binary_files_are_refused_by_name(tmp_path):
    (tmp_path / "en-us.lm.bin").write_bytes(b"Trie Language Model\x03\x63\x1b\x01\x00" + bytes(99))
    with pytest.raises(ValueError, match="en-us.lm.bin: this is pocketsphinx's binary format .*; take the ARPA file"):
        NGramForCausalLM.from_arpa(tmp_path / "en-us.lm.bin")
