# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Models from and to ARPA files: with their tokenizers, and scoring as kenlm does."""

from __future__ import annotations

import math
import random
import warnings

import pytest
import torch

from hf_lecture_models.loading import load_model
from hf_lecture_models.models.ngram.conversion_ngram import save_fst
from hf_lecture_models.models.ngram.files.arpa_reader import read_arpa
from hf_lecture_models.models.ngram.files.arpa_writer import write_arpa
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from hf_lecture_models.models.ngram.saving_ngram import save_ngrams
from hf_lecture_models.tokenization.byte import ByteTokenizer
from hf_lecture_models.tokenization.word import WordTokenizer
from tests.models.ngram.arpa_ngram import (
    SENTENCES,
    assert_same_as_kenlm,
    assert_same_log10,
    assert_same_tables,
    changed,
    kenlm_model,
    log10_of,
    random_tables,
)


def test_model_and_tokenizer_belong_together(arpa):
    model, tokenizer = NGramForCausalLM.from_arpa(arpa)
    assert isinstance(tokenizer, WordTokenizer)
    assert tokenizer.convert_ids_to_tokens(range(len(tokenizer))) == read_arpa(arpa)[0]
    config = model.config
    assert (config.order, config.vocab_size, config.table_sizes) == (3, 8, [8, 8, 5])
    assert config.smoothing is None
    for name in ("bos_token_id", "eos_token_id", "pad_token_id", "unk_token_id"):
        assert getattr(config, name) == getattr(tokenizer, name) is not None


def test_scores_are_those_of_the_equations(arpa):
    model, tokenizer = NGramForCausalLM.from_arpa(arpa)
    assert log10_of(model, tokenizer, "the cat sat") == pytest.approx(-0.30103 - 0.25 - 0.35 - 0.125, abs=1e-5)
    # <s> sat: weight of <s>; sat dog: weight of sat (0), then <unk>; <unk> </s>: weight of <unk> (0)
    assert log10_of(model, tokenizer, "sat dog") == pytest.approx(-0.30103 - 0.90309 - 1.1461281 - 0.90309, abs=1e-5)
    assert log10_of(model, tokenizer, "dog the sat") == -math.inf  # the weight of "<unk> the" is 0
    assert log10_of(model, tokenizer, "Senjō") == -math.inf


def test_scores_equal_kenlm(arpa):
    assert_same_as_kenlm(arpa, SENTENCES)


def test_random_models_score_as_in_kenlm(tmp_path):
    path = tmp_path / "random.arpa"
    compared = 0
    for seed in range(60):
        rng = random.Random(seed)
        words = ["<unk>", *"abcd"[: rng.randint(1, 4)], "<s>", "</s>", "<pad>"]
        numbers = [-2.25, -0.5, -1e-3, -3 * rng.random(), 0]
        tables = random_tables(rng, words, rng.randint(2, 5), numbers, numbers, share=0.7)
        write_arpa(tables, words, path)
        try:
            reference = kenlm_model(path)
        except OSError:  # where many n-grams lack the n-gram of their last words, kenlm's table runs full
            continue
        model, tokenizer = NGramForCausalLM.from_arpa(path)
        for length in range(8):
            sentence = " ".join(rng.choices([*words[1:-3], "other"], k=length))
            assert_same_log10(log10_of(model, tokenizer, sentence), reference.score(sentence), sentence)
            compared += 1
    assert compared > 100


def test_a_unigram_model_and_an_order_without_ngrams(tmp_path):
    path = tmp_path / "one.arpa"
    path.write_text("\\data\\\nngram 1=3\n\n\\1-grams:\n-0.5\ta\n-0.25\t</s>\n0\t<s>\n\n\\end\\\n")
    model, tokenizer = NGramForCausalLM.from_arpa(path)
    assert log10_of(model, tokenizer, "a a") == pytest.approx(-1.25)
    path.write_text(
        "\\data\\\nngram 1=3\nngram 2=0\n\n\\1-grams:\n-0.5\ta\n-0.25\t</s>\n0\t<s>\n\n\\2-grams:\n\n\\end\\\n"
    )
    model, tokenizer = NGramForCausalLM.from_arpa(path)
    assert (model.config.order, log10_of(model, tokenizer, "a a")) == (2, pytest.approx(-1.25))
    model.save_arpa(tmp_path / "again.arpa", tokenizer)
    assert_same_tables(read_arpa(path)[1], read_arpa(tmp_path / "again.arpa")[1])


def test_words_that_the_tokenizer_never_finds_are_announced(tmp_path):
    path = changed(tmp_path, ("\tsat", "\tsat\u00a0down"), ("the sat", "the sat\u00a0down"))
    path.write_text(
        path.read_text(encoding="utf-8")
        .replace("cat sat", "cat sat\u00a0down")
        .replace("-2.5e-7\tsat", "-2.5e-7\tsat\u00a0down"),
        encoding="utf-8",
    )
    with pytest.warns(UserWarning, match="1 words hold white space such as 'sat\\\\xa0down'"):
        model, tokenizer = NGramForCausalLM.from_arpa(path)
    model.save_arpa(tmp_path / "again.arpa", tokenizer)
    assert_same_tables(read_arpa(path)[1], read_arpa(tmp_path / "again.arpa")[1])


@pytest.mark.parametrize("separator", ["\x1c", "\x1d", "\x1e", "\x1f"])
def test_words_with_separators_are_found_and_not_announced(tmp_path, separator):
    """Python's `str.split` splits at U+001C to U+001F; the tokenizer does not, as Unicode calls them controls."""
    word = f"sat{separator}down"
    path = changed(tmp_path, ("\tsat", f"\t{word}"), ("the sat", f"the {word}"))
    text = (
        path.read_text(encoding="utf-8").replace("cat sat", f"cat {word}").replace("-2.5e-7\tsat", f"-2.5e-7\t{word}")
    )
    path.write_text(text, encoding="utf-8", newline="")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model, tokenizer = NGramForCausalLM.from_arpa(path)
    assert tokenizer.tokenize(f"the {word}") == ["the", word]
    save_fst(model, tmp_path / "lm.fst.txt", tokenizer)
    assert f"{word}\t" in (tmp_path / "lm.syms").read_text(encoding="utf-8")


def test_byte_tokenizer_and_foreign_spellings_are_written(tmp_path):
    tokenizer = ByteTokenizer()
    model = NGramForCausalLM.fit(["ab a\tb", "b"], tokenizer, order=2, smoothing="maximum_likelihood", progress=False)
    model.save_arpa(tmp_path / "bytes.arpa", tokenizer)
    words, tables = read_arpa(tmp_path / "bytes.arpa")
    assert len(words) == len(tokenizer)
    model_again, tokenizer_again = NGramForCausalLM.from_arpa(tmp_path / "bytes.arpa")
    ids = tokenizer("ab a\tb").input_ids
    spelled = tokenizer_again.convert_tokens_to_ids(tokenizer.convert_ids_to_tokens(ids))
    assert torch.equal(model.score(torch.tensor([ids])), model_again.score(torch.tensor([spelled])))
    assert tables.sizes[1] == model.config.table_sizes[1]


def test_maximum_likelihood_zeros_survive(tmp_path):
    texts = ["a b c", "a c", "b b a"]
    tokenizer = WordTokenizer.train(texts, progress=False)
    model = NGramForCausalLM.fit(texts, tokenizer, order=3, smoothing="maximum_likelihood", progress=False)
    model.save_arpa(tmp_path / "ml.arpa", tokenizer)
    again, tokenizer_again = NGramForCausalLM.from_arpa(tmp_path / "ml.arpa")
    assert tokenizer_again.get_vocab() == tokenizer.get_vocab()
    assert_same_tables(model.tables(), again.tables())
    assert (model.tables().log10_backoffs[0] == -math.inf).any()
    assert_same_as_kenlm(tmp_path / "ml.arpa", ["a b c", "a", "c c", "b b a b"])


class Spelled:
    """The least of a tokenizer that saving needs."""

    bos_token_id, eos_token_id, pad_token_id, unk_token_id = 5, 6, 7, 0

    def __init__(self, *words: str) -> None:
        self.words = list(words)

    def __len__(self) -> int:
        return len(self.words)

    def convert_ids_to_tokens(self, ids):
        return [self.words[i] for i in ids]


def test_a_tokenizer_that_does_not_fit_is_refused(arpa, tmp_path):
    model, _ = NGramForCausalLM.from_arpa(arpa)
    target = tmp_path / "out.arpa"
    target.write_text("old")
    for words, rule in [
        (("[UNK]", "the", "cat", "x", "sat", "[B]", "[E]"), "7 tokens but the model's vocab_size is 8"),
        (("[UNK]", "the", "cat", "x", "sat", "[B]", "[E]", "[P]", "y"), "9 tokens but the model's vocab_size is 8"),
        (("[UNK]", "the", "cat", "x y", "sat", "[B]", "[E]", "[P]"), "'x y' is empty or holds white space"),
        (("[UNK]", "the", "cat", "", "sat", "[B]", "[E]", "[P]"), "'' is empty or holds white space"),
        (("[UNK]", "the", "cat", "<s>", "sat", "[B]", "[E]", "[P]"), "both be written as '<s>'"),
        (("[UNK]", "the", "cat", "<UNK>", "sat", "[B]", "[E]", "[P]"), "<UNK> for the unknown word"),
    ]:
        with pytest.raises(ValueError, match=rule):
            model.save_arpa(target, Spelled(*words))
    assert target.read_text() == "old"
    model.save_arpa(target, Spelled("[UNK]", "the", "cat", "x", "sat", "[B]", "[E]", "[P]"))
    assert read_arpa(target)[0] == ["<unk>", "the", "cat", "x", "sat", "<s>", "</s>", "<pad>"]
    assert sorted(tmp_path.iterdir()) == sorted([arpa, target])


def test_one_token_for_both_ends_is_refused(arpa, tmp_path):
    model, _ = NGramForCausalLM.from_arpa(arpa)
    model.config.bos_token_id = model.config.eos_token_id
    tokenizer = Spelled(*"abcdefgh")
    tokenizer.bos_token_id = tokenizer.eos_token_id
    with pytest.raises(ValueError, match="both begins and ends texts"):
        model.save_arpa(tmp_path / "out.arpa", tokenizer)


def test_folders_and_files_are_converted(arpa, tmp_path):
    assert save_ngrams(*load_model(arpa), tmp_path / "model") == [7, 8, 5]
    assert (tmp_path / "model" / "config.json").is_file()
    assert (tmp_path / "model" / "tokenizer.json").is_file()
    assert save_ngrams(*load_model(tmp_path / "model"), tmp_path / "again.arpa.gz") == [7, 8, 5]
    assert read_arpa(tmp_path / "again.arpa.gz")[0] == read_arpa(arpa)[0]
    assert_same_tables(read_arpa(arpa)[1], read_arpa(tmp_path / "again.arpa.gz")[1])


@pytest.mark.parametrize("classes", [None, 2])
def test_counts_are_those_of_the_arpa_file(tmp_path, classes):
    """`<pad>` is in the tables, and is not counted."""
    texts = ["the cat sat", "the dog sat", "a dog ran"]
    for tokenizer in (WordTokenizer.train(texts), WordTokenizer.train(texts, pad_token=None)):
        model = NGramForCausalLM.fit(texts, tokenizer, order=2, smoothing="add_alpha", classes=classes, progress=False)
        model.save_pretrained(tmp_path / "folder")
        tokenizer.save_pretrained(tmp_path / "folder")
        counts = save_ngrams(*load_model(tmp_path / "folder"), tmp_path / "lm.arpa")
        lines = (tmp_path / "lm.arpa").read_text(encoding="utf-8").splitlines()
        assert lines[1:3] == [f"ngram {n}={count}" for n, count in enumerate(counts, 1)]
        assert save_ngrams(*load_model(tmp_path / "lm.arpa"), tmp_path / "again") == counts
