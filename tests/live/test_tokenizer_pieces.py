# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The live pages' reader of tokenizer.json: its ids are those of the package's tokenizers on 1,000 odd strings each."""

import json
import random
import unicodedata

import pytest

from hf_lecture_models import (
    BpeTokenizer,
    ByteTokenizer,
    CharTokenizer,
    UnigramTokenizer,
    WordPieceTokenizer,
    WordTokenizer,
)
from tests.live.running import run_node

TEXTS = [
    "the old cat saw the older dog , and the oldest mouse ran .",
    "Naïve cafés don't open at 12 o'clock; the naïve wait outside, waiting and waiting.",
    "Ελληνικά λόγια και λογική, 東京 と 京都 , 서울 서울역 , привет мир",
    "fine 🙂 fine 👩‍👩‍👧 lower lowest newer wider wide",
]
_SPACES = "\t\n\v\f\r \x1c\x1f\x85\xa0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000\u200b\ufeff"
# What a random character seldom is.
_PARTS = (
    *("the", "old", "older", "ΑΣΣ Σ", "İstanbul", "don't'll 's", "12½", "e\u0301\u0323", "\u0344", "한국", "각"),
    *(
        "👩‍👩‍👧",
        "\ufffd\0\x7f",
        "\u2028\u2029",
        "ﬁ",
        "中文字",
        "[UNK]",
        "[CLS]x[SEP]",
        "<unk>",
        "<s>",
        "</s><pad>",
        "#",
        "##a",
    ),
    *("</w>", "<0x41>", "▁", "Ġthe", "-–—", "__proto__", "constructor", "x" * 120, "ab" * 700),
)


def _assigned(code_point: int) -> bool:
    return unicodedata.category(chr(code_point)) not in ("Cn", "Cs")


def _odd_strings(number: int) -> list[str]:
    draw = random.Random(0)
    assigned = [code_point for code_point in range(0x20000) if _assigned(code_point)]
    letters = sorted(set("".join(TEXTS)))

    def part() -> str:
        kind = draw.randrange(6)
        if kind == 0:
            return draw.choice(_SPACES) * draw.randint(1, 3)
        if kind == 1:
            return draw.choice(_PARTS) if draw.random() < 0.8 else draw.choice(_PARTS[:5])
        if kind == 2:
            return "".join(chr(draw.choice(assigned)) for _ in range(draw.randint(1, 4)))
        if kind == 3:
            return "".join(chr(draw.randint(0, 0x17F)) for _ in range(draw.randint(1, 4)))
        return "".join(draw.choice(letters) for _ in range(draw.randint(1, 9)))

    return ["", " ", *("".join(part() for _ in range(draw.randint(1, 8))) for _ in range(number - 2))]


def _tokenizers() -> dict:
    added = BpeTokenizer.train(TEXTS, merges=40, progress=False, template="bert")
    added.add_tokens(["older dog", "old", "aa", "a"])
    return {
        "word, small letters": WordTokenizer.train(TEXTS, lower_case=True, split_punctuation=True, progress=False),
        "word, spelled": WordTokenizer.train(TEXTS, unknown_words="spelled", progress=False),
        "char": CharTokenizer.train(TEXTS, progress=False),
        "byte": ByteTokenizer(add_eos_token=True),
        "bpe": BpeTokenizer.train(TEXTS, merges=60, progress=False),
        "bpe, added tokens": added,
        "bpe, bytes": BpeTokenizer.train(TEXTS, merges=60, form="bytes", progress=False),
        "wordpiece": WordPieceTokenizer.train(TEXTS, vocab_size=200, progress=False),
        "wordpiece, cased": WordPieceTokenizer.train(
            TEXTS,
            vocab_size=200,
            do_lower_case=False,
            strip_accents=False,
            tokenize_chinese_chars=False,
            progress=False,
        ),
        "unigram": UnigramTokenizer.train(TEXTS, vocab_size=150, progress=False),
        "unigram, bytes": UnigramTokenizer.train(TEXTS, vocab_size=330, form="bytes", progress=False),
    }


@pytest.fixture(scope="module")
def tokenizers():
    return _tokenizers()


def _json(tokenizer) -> dict:
    return json.loads(tokenizer.backend_tokenizer.to_str())


_ENCODE = """
const main = ({files, texts}) => Object.fromEntries(Object.entries(files).map(
  ([name, file]) => { const read = new PieceTokenizer(file); return [name, texts.map((text) => read.encode(text))]; }));
"""


def test_ids_are_those_of_python(tmp_path, tokenizers):
    texts = _odd_strings(1_000)
    files = {name: _json(tokenizer) for name, tokenizer in tokenizers.items()}
    found = run_node(tmp_path, ["tokenizer.js"], _ENCODE, {"files": files, "texts": texts})
    for name, tokenizer in tokenizers.items():
        wrong = [
            text for text, ids, ours in zip(texts, tokenizer(texts).input_ids, found[name], strict=True) if ids != ours
        ]
        assert wrong == [], (name, len(wrong))


@pytest.mark.slow
@pytest.mark.nightly
def test_each_character_is_treated_as_in_python(tmp_path, tokenizers):
    """The characters of the first two planes, between letters: as marks, signs of control, punctuation, spaces."""
    texts = [f"o{chr(point)}l {chr(point)}\u0301d{chr(point)}1" for point in range(0x20000) if _assigned(point)]
    texts = ["\n".join(texts[start : start + 100]) for start in range(0, len(texts), 100)]
    chosen = {name: tokenizers[name] for name in ("bpe, bytes", "wordpiece", "unigram")}
    files = {name: _json(tokenizer) for name, tokenizer in chosen.items()}
    found = run_node(tmp_path, ["tokenizer.js"], _ENCODE, {"files": files, "texts": texts})
    for name, tokenizer in chosen.items():
        wrong = [
            n for n, (ids, ours) in enumerate(zip(tokenizer(texts).input_ids, found[name], strict=True)) if ids != ours
        ]
        assert wrong == [], (name, len(wrong), texts[wrong[0]])


_REFUSE = """
const main = (files) => files.map((file) => {
  try { new PieceTokenizer(file); return null; } catch (error) { return error.message; } });
"""


def test_other_files_are_refused(tmp_path, tokenizers):
    def changed(name: str, **fields):
        file = _json(tokenizers[name])
        for path, value in fields.items():
            *parents, last = path.split("__")
            part = file
            for parent in parents:
                part = part[int(parent) if parent.isdigit() else parent]
            part[last] = value
        return file

    changes = [
        changed("bpe", model__dropout=0.1),
        changed("bpe", model__continuing_subword_prefix="##"),
        changed("bpe", model__fuse_unk=True),
        changed("bpe", model__a_new_field=1),
        changed("bpe", normalizer={"type": "NFC"}),
        changed("bpe", pre_tokenizer={"type": "Whitespace"}),
        changed("bpe, bytes", pre_tokenizer__add_prefix_space=True),
        changed("bpe", post_processor={"type": "BertProcessing", "sep": ["</s>", 1], "cls": ["<s>", 0]}),
        changed("bpe", added_tokens__0__lstrip=True),
        changed("unigram", model__byte_fallback=True),
        changed("unigram", pre_tokenizer__pattern={"Regex": "a"}),
        changed("wordpiece", added_tokens__0__normalized=True),
        changed("wordpiece", truncation={"max_length": 3}),
        _json(WordTokenizer.train(TEXTS, unknown_words="classes", progress=False)),
    ]
    messages = run_node(tmp_path, ["tokenizer.js"], _REFUSE, changes)
    assert [message for message in messages if message is None or "not read here" not in message] == []
