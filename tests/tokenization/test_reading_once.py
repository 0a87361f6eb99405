# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A tokenizer's file is parsed once, and gives what transformers' own way of reading gives."""

import json
import shutil

import pytest

from hf_lecture_models.tokenization import backend
from hf_lecture_models.tokenization.backend import LectureTokenizer
from hf_lecture_models.tokenization.bpe import BpeTokenizer
from hf_lecture_models.tokenization.char import CharTokenizer
from hf_lecture_models.tokenization.unigram import UnigramTokenizer
from hf_lecture_models.tokenization.word import WordTokenizer
from hf_lecture_models.tokenization.wordpiece import WordPieceTokenizer

TEXTS = ["the cat sat", "a dog, a cat", "12 Cats ran"]
MAKERS = {
    "word": lambda: WordTokenizer.train(TEXTS, progress=False),
    "classes": lambda: WordTokenizer.train(TEXTS, unknown_words="classes", progress=False),
    "closed": lambda: WordTokenizer.train(TEXTS, unk_token=None, progress=False),
    "template": lambda: WordTokenizer.train(TEXTS, template="bert", progress=False),
    "char": lambda: CharTokenizer.train(TEXTS, progress=False),
    "bpe": lambda: BpeTokenizer.train(TEXTS, vocab_size=60, progress=False),
    "wordpiece": lambda: WordPieceTokenizer.train(TEXTS, vocab_size=60, progress=False),
    "unigram": lambda: UnigramTokenizer.train(TEXTS, vocab_size=30, progress=False),
}


def facts(tokenizer):
    options = {name: value for name, value in tokenizer.init_kwargs.items() if name != "name_or_path"}
    return (
        type(tokenizer),
        tokenizer.backend_tokenizer.to_str(),
        repr(tokenizer.added_tokens_decoder),
        tokenizer.special_tokens_map,
        repr(sorted(options.items())),
        [tokenizer(text).input_ids for text in [*TEXTS, "<s> the </s>", ""]],
        tokenizer.padding_side,
    )


@pytest.fixture(params=MAKERS)
def folder(request, tmp_path):
    tokenizer = MAKERS[request.param]()
    tokenizer.add_tokens(["<s2>"], special_tokens=True)
    tokenizer.save_pretrained(tmp_path / "saved")
    return type(tokenizer), tmp_path / "saved"


def test_the_tokenizer_is_the_one_that_transformers_reads(folder, monkeypatch, tmp_path):
    kind, path = folder
    once = kind.from_pretrained(path)
    found = facts(once)
    once.save_pretrained(tmp_path / "again")
    monkeypatch.setattr(LectureTokenizer, "_read_once", classmethod(lambda cls, folder: {}))
    twice = kind.from_pretrained(path)
    assert found == facts(twice) == facts(kind.from_pretrained(tmp_path / "again"))
    twice.save_pretrained(tmp_path / "twice")
    for file in sorted(tmp_path.glob("again/*")):
        assert file.read_bytes() == (tmp_path / "twice" / file.name).read_bytes(), file.name


def test_the_file_is_parsed_once(folder, monkeypatch):
    kind, path = folder
    parsed, load = [], json.load

    class Counting:
        @staticmethod
        def from_file(name):
            parsed.append(name)
            return tokenizer_class.from_file(name)

    def count(file, *args, **kwargs):
        parsed.extend([file.name] if str(file.name).endswith("tokenizer.json") else [])
        return load(file, *args, **kwargs)

    tokenizer_class = backend.Tokenizer
    monkeypatch.setattr(backend, "Tokenizer", Counting)
    monkeypatch.setattr(json, "load", count)
    kind.from_pretrained(path)
    assert parsed == [str(path / "tokenizer.json")]


def test_folders_of_other_releases_are_left_to_transformers(tmp_path):
    MAKERS["word"]().save_pretrained(tmp_path)
    assert WordTokenizer._read_once(tmp_path).keys() == {"tokenizer_object", "added_tokens_decoder"}
    for name, content in (("special_tokens_map.json", "{}"), ("added_tokens.json", "{}")):
        (tmp_path / name).write_text(content, "utf-8")
        assert WordTokenizer._read_once(tmp_path) == {}
        (tmp_path / name).unlink()
    settings = tmp_path / "tokenizer_config.json"
    saved = json.loads(settings.read_text("utf-8"))
    for field, value in (("added_tokens_decoder", {}), ("fast_tokenizer_files", ["tokenizer.json"])):
        settings.write_text(json.dumps({**saved, field: value}), "utf-8")
        assert WordTokenizer._read_once(tmp_path) == {}
    shutil.rmtree(tmp_path)
    assert WordTokenizer._read_once(tmp_path) == {}
