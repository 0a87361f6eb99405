# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""BpeTokenizer: the slide's example, merges and segmentations as a naive implementation has them, dropout, files."""

import json
from collections import Counter
from itertools import chain, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

from hf_lecture_models.tokenization.bpe import BpeTokenizer
from hf_lecture_models.tokenization.byte import byte_names
from hf_lecture_models.tokenization.corpus import encode_corpus
from hf_lecture_models.tokenization.splitting import split_words

SLIDE = ["lower", "lowest", "newer", "wider", "wide"]
TEXTS = ["the cat saw the dog", "", "a dog <unk> né", "the  <s> then\n</w> </w>x"]
BOTH_FORMS = pytest.mark.parametrize("form", ["words", "bytes"])
# Few letters make many ties, overlapping pairs and symbols that can be spelled by several merges.
CORPORA = st.lists(st.text(st.sampled_from("aab ")) | st.text(st.sampled_from("ab</w> é#")), min_size=1, max_size=4)
ANY_TEXT = st.text() | st.text(st.sampled_from("ab t'sé \n\u3000\x1f\x85\0👩\u200d語\u05d0<s>/unk19"))


def tokens(tokenizer):
    return tokenizer.convert_ids_to_tokens(range(len(tokenizer)))


def plain(tokenizer, text):
    """The tokens of `text` as data."""
    return tokenizer.tokenize(text, split_special_tokens=True)


def train(texts, **options):
    return BpeTokenizer.train(texts, **options)


def naive_merges(words, limit, tie_break, allowed):
    """Count all pairs anew for each merge. `words`: the symbols of each word of the corpus."""
    merges = []
    while len(merges) < limit:
        counts = Counter(pair for word in words for pair in pairwise(word))
        counts = {pair: count for pair, count in counts.items() if allowed(*pair)}
        if not counts:
            break
        most = max(counts.values())
        ties = [pair for pair in counts if counts[pair] == most]
        merges.append(min(ties) if tie_break == "lexicographic" else max(ties))
        words = [apply_merge(word, merges[-1]) for word in words]
    return merges, words


def apply_merge(word, pair):
    merged, place = [], 0
    while place < len(word):
        size = 2 if tuple(word[place : place + 2]) == pair else 1
        merged.append("".join(word[place : place + size]))
        place += size
    return merged


def naive_segmentation(word, merges):
    """Merge the pair that was learned first, the leftmost one of it, until none is left."""
    word = list(word)
    while places := [(merges.index(pair), place) for place, pair in enumerate(pairwise(word)) if pair in merges]:
        place = min(places)[1]
        word[place : place + 2] = [word[place] + word[place + 1]]
    return word


def marked(word, mark="</w>"):
    return [*word[:-1], word[-1] + mark]


# Training


@pytest.fixture(scope="module")
def slide():
    return train(SLIDE, merges=5, end_of_word="#")


def test_the_example_of_the_slide(slide):
    assert slide.merges == [("e", "r#"), ("i", "d"), ("l", "o"), ("lo", "w"), ("w", "id")]
    assert [slide.tokenize(word) for word in SLIDE] == [
        ["low", "er#"],
        ["low", "e", "s", "t#"],
        ["n", "e", "w", "er#"],
        ["wid", "er#"],
        ["wid", "e#"],
    ]
    letters = sorted(set("".join(SLIDE)))
    symbols = [symbol for letter in letters for symbol in (letter, letter + "#")]
    assert tokens(slide) == ["<unk>", *symbols, "er#", "id", "lo", "low", "wid", "<s>", "</s>", "<pad>"]
    assert slide.decode(slide("lower  newer").input_ids, skip_special_tokens=True) == "lower newer"


def test_the_other_tie_rule_takes_the_largest_pair():
    merges = train(SLIDE, merges=5, end_of_word="#", tie_break="reverse_lexicographic").merges
    assert merges == [("w", "e"), ("we", "r#"), ("w", "i"), ("wi", "d"), ("l", "o")]


TIE_BREAKS = ["lexicographic", pytest.param("reverse_lexicographic", marks=pytest.mark.slow)]


@pytest.mark.parametrize("tie_break", TIE_BREAKS)
@settings(max_examples=200)
@given(texts=CORPORA, limit=st.integers(0, 12))
def test_merges_of_words_are_those_of_a_naive_trainer(tie_break, texts, limit):
    texts = [*texts, "a"]
    tokenizer = train(texts, merges=limit, tie_break=tie_break)
    words = [marked(word) for text in texts for word in split_words(text)]

    def allowed(left, right):
        both = left + right
        inside = both[:-1] if right.endswith("</w>") else both
        return "</w>" not in inside and both not in ("<unk>", "<s>", "</s>", "<pad>")

    merges, merged_words = naive_merges(words, limit, tie_break, allowed)
    assert tokenizer.merges == merges
    for word, merged in zip(words, merged_words, strict=True):
        assert plain(tokenizer, "".join(word)[:-4]) == merged == naive_segmentation(word, merges)
    # No symbol is made in two ways.
    assert len({left + right for left, right in merges}) == len(merges)


@pytest.mark.parametrize("tie_break", TIE_BREAKS)
@given(texts=CORPORA, limit=st.integers(0, 12))
def test_merges_of_bytes_are_those_of_a_naive_trainer(tie_break, texts, limit):
    texts = [*texts, "a"]
    tokenizer = train(texts, merges=limit, tie_break=tie_break, form="bytes")
    split = tokenizer.backend_tokenizer.pre_tokenizer.pre_tokenize_str
    words = [list(piece) for text in texts for piece, _ in split(text)]
    special = {"<s>", "</s>", "<pad>"}
    merges, merged_words = naive_merges(words, limit, tie_break, lambda *pair: "".join(pair) not in special)
    assert tokenizer.merges == merges
    assert [symbol for text in texts for symbol in plain(tokenizer, text)] == list(chain(*merged_words))
    assert merged_words == [naive_segmentation(word, merges) for word in words]


@BOTH_FORMS
def test_largest_vocabulary_and_number_of_merges(form):
    start = len(train(TEXTS, form=form, merges=0))
    for more in range(5):
        tokenizer = train(TEXTS, form=form, vocab_size=start + more)
        assert len(tokenizer) == start + more
        assert tokenizer.merges == train(TEXTS, form=form, merges=more).merges
    assert len(train(TEXTS, form=form, vocab_size=start + 9, merges=2)) == start + 2
    with pytest.raises(ValueError, match=f"vocab_size {start - 1} is less than the .* symbols before any merge"):
        train(TEXTS, form=form, vocab_size=start - 1)


def test_minimum_count():
    tokenizer = train(["aab aab", "ax"], min_count=2)
    assert tokenizer.merges == [("a", "a"), ("aa", "b</w>")]
    assert tokens(tokenizer)[:5] == ["<unk>", "a", "a</w>", "b", "b</w>"]
    assert tokenizer.tokenize("xab ax") == ["<unk>", "a", "b</w>", "a", "<unk>"]
    assert train(["aab aab", "ax"], min_count=2, form="bytes").merges == [("a", "a"), ("aa", "b")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"form": "letters"}, "form is 'letters'; it must be 'words' or 'bytes'"),
        ({"tie_break": "first"}, "tie_break is 'first'; it must be one of 'lexicographic', 'reverse_lexicographic'"),
        ({"merges": -1}, "merges must be at least 0"),
        ({"end_of_word": ""}, "end_of_word '' is empty or part of a special token"),
        ({"end_of_word": ">"}, "end_of_word '>' is empty or part of a special token"),
        ({"unk_token": None}, "needs an unk_token"),
        ({"form": "bytes", "unk_token": "<unk>"}, "no end_of_word and no unk_token"),
        ({"form": "bytes", "end_of_word": "#"}, "no end_of_word and no unk_token"),
        ({"form": "bytes", "vocab_size": 258}, "less than the 256 symbols before any merge and the 3 special tokens"),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        train(TEXTS, **options)


# Encoding and decoding

WORDS = train(TEXTS, merges=12)
BYTES = train(TEXTS, merges=12, form="bytes")
FORMS = {"words": WORDS, "bytes": BYTES}


@settings(max_examples=300)
@given(ANY_TEXT)
def test_bytes_come_back_exactly(text):
    ids = BYTES(text, split_special_tokens=True).input_ids
    assert ids[0] == BYTES.bos_token_id
    assert max(ids[1:], default=0) < BYTES.bos_token_id
    assert BYTES.decode(ids, skip_special_tokens=True) == text


@settings(max_examples=300)
@given(
    st.lists(st.text(st.sampled_from("abcdefghnostuw</w>né>k"), min_size=1)), st.sampled_from([" ", "\n", " \u3000"])
)
def test_known_words_come_back_joined_by_one_space(words, space):
    known = ["".join(letter for letter in word if letter in "".join(TEXTS)) for word in words]
    known = [word for word in known if word]
    ids = WORDS(space.join(known), split_special_tokens=True).input_ids
    assert WORDS.unk_token_id not in ids
    assert WORDS.decode(ids, skip_special_tokens=True) == " ".join(known)


@given(ANY_TEXT)
def test_any_text_can_be_encoded(text):
    encoding = WORDS(text, split_special_tokens=True, add_special_tokens=False, return_offsets_mapping=True)
    covered = [text[start:end] for start, end in encoding.offset_mapping]
    assert "".join(covered) == "".join(split_words(text))
    for token, characters in zip(encoding.tokens(), covered, strict=True):
        assert token.removesuffix("</w>") == characters or (token == "<unk>" and len(characters) == 1)


def test_a_mark_of_one_character_is_unknown_in_texts(slide):
    tokenizer = train(["a#b #c a#"], end_of_word="#")
    assert tokenizer.tokenize("a#b #c ac#") == ["a", "<unk>", "b#", "<unk>", "c#", "a", "c", "<unk>"]
    assert not [token for token in tokens(tokenizer) if "#" in token[:-1]]


def test_unknown_characters():
    tokenizer = train(["dog"], merges=0)
    assert tokenizer.tokenize("dög do?? ?") == ["d", "<unk>", "g</w>", "d", "o", "<unk>", "<unk>", "<unk>"]
    # An unknown last character has no mark.
    assert tokenizer.decode(tokenizer("god do? dog", add_special_tokens=False).input_ids) == "god do<unk>dog"


def test_special_spellings_in_user_text():
    both = train(["a <s>b <s>b </s>b </s>b <pad>b <pad>b <unk>b <unk>b <unk> <unk>"])
    assert both("<s>b").input_ids[:2] == [both.bos_token_id] * 2
    assert both("a <unk>").input_ids[2] == both.unk_token_id
    for text in ("<s>b", "</s>b", "<pad>b", "<unk>b", "<unk>"):
        ids = both(text, split_special_tokens=True).input_ids[1:]
        assert not set(ids) & set(both.all_special_ids)
        assert both.decode(ids) == text
    assert plain(both, "<unk>") == ["<unk></w>"]
    assert BYTES("a<s>").input_ids[-1] == BYTES.bos_token_id
    assert plain(BYTES, "<s>")[:1] == ["<"]


def test_the_ids_of_bytes():
    assert tokens(BYTES)[:256] == byte_names()
    assert BYTES.unk_token_id is None
    assert WORDS.unk_token_id == 0
    assert (WORDS.form, BYTES.form) == ("words", "bytes")


@BOTH_FORMS
def test_a_corpus_of_one_long_word_is_trained(form):
    tokenizer = train(["ab" * 50_000], form=form)
    assert len(tokenizer.tokenize("ab" * 50_000)) == 1


# Whole corpora


@pytest.mark.parametrize("tokenizer", FORMS.values(), ids=FORMS)
def test_all_characters_split_alike(tokenizer):
    texts = [f"a {chr(code)} a{chr(code)}a" for code in (*range(0x3100), *range(0xFE00, 0x10000), 0x1F469, 0xE0020)]
    ids = encode_corpus(tokenizer, texts).ids.tolist()
    rows = tokenizer(texts, add_special_tokens=False, split_special_tokens=True).input_ids
    assert ids == [token for row in rows for token in row]


# Dropout


@pytest.fixture(params=["words", "bytes"])
def one_token(request):
    """A tokenizer to which `dropout` is one token."""
    return train(["dropout dropout out rop op opo po pout dr"], form=request.param)


def segmentations(tokenizer, number=100):
    return {" ".join(tokenizer.tokenize("dropout")) for _ in range(number)}


def test_dropout_gives_other_segmentations_of_the_same_text(one_token):
    whole = segmentations(one_token)
    assert len(whole) == 1
    with one_token.dropout(0.5):
        found = segmentations(one_token)
        assert len(found) > 10
        for _ in range(20):
            assert one_token.decode(one_token("dropout").input_ids, skip_special_tokens=True) == "dropout"
    assert segmentations(one_token) == whole
    with one_token.dropout(1.0):
        assert len(one_token.tokenize("dropout")) == 7
    with one_token.dropout(0.0):
        assert segmentations(one_token) == whole


def test_dropout_ends_with_its_block(one_token):
    whole = segmentations(one_token)
    with pytest.raises(KeyError), one_token.dropout(0.5), one_token.dropout(0.9):
        raise KeyError
    assert segmentations(one_token) == whole
    for wrong in (-0.1, 1.1):
        with pytest.raises(ValueError, match="a probability between 0 and 1"):
            one_token.dropout(wrong).__enter__()


def test_each_merge_is_left_out_with_the_given_probability():
    tokenizer = train(["ab"])
    text = " ".join(["ab"] * 20_000)
    with tokenizer.dropout(0.25):
        ids = tokenizer(text, add_special_tokens=False).input_ids
    assert (len(ids) - 20_000) / 20_000 == pytest.approx(0.25, abs=0.02)


def test_dropout_is_never_saved_switched_on(one_token, tmp_path):
    with one_token.dropout(0.5):
        one_token.save_pretrained(tmp_path)
        assert len(segmentations(one_token)) > 10
    file = tmp_path / "tokenizer.json"
    saved = json.loads(file.read_text(encoding="utf-8"))
    assert saved["model"]["dropout"] is None
    assert len(segmentations(AutoTokenizer.from_pretrained(tmp_path))) == 1
    saved["model"]["dropout"] = 0.5
    file.write_text(json.dumps(saved), encoding="utf-8")
    assert len(segmentations(BpeTokenizer.from_pretrained(tmp_path))) == 1


def test_a_corpus_is_not_encoded_with_dropout(one_token):
    with one_token.dropout(0.5), pytest.raises(ValueError, match=r"leave the block of tokenizer\.dropout"):
        encode_corpus(one_token, ["dropout"])
    assert len(encode_corpus(one_token, ["dropout"]).ids) == 1


# Saving and loading


def test_options_are_saved(tmp_path):
    train(TEXTS, add_eos_token=True, unk_token="[U]", bos_token="[B]", model_max_length=9).save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    assert loaded.tokenize("dog ?") == ["dog</w>", "[U]"]
    assert loaded.convert_ids_to_tokens(loaded("dog").input_ids) == ["[B]", "dog</w>", "</s>"]
    assert loaded.model_max_length == 9
