# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""UnigramTokenizer: training against plain counting, segmentations against all there are, sampling, files."""

import copy
import math
import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer, TokenizersBackend, set_seed

from hf_lecture_models.tokenization import UnigramTokenizer, encode_corpus
from hf_lecture_models.tokenization import unigram_training as training
from hf_lecture_models.tokenization.byte import byte_names
from hf_lecture_models.tokenization.lattices import Lattices
from tests.tokenization.test_lattices import cuts

TEXTS = ["the cat saw the dog", "", "a dog <unk> né", "the  <s> then\n</w> </w>x", "then the cats saw the dogs"]
ANY_TEXT = st.text() | st.text(st.sampled_from("ab t'sé \n\u3000\x1f\x85\0👩\u200d語\u05d0<s>/unk19"))
SCORES = {"a": -1.5, "b": -2.0, " ": -3.0, "ab": -2.5, " a": -2.2, "ba": -4.0, "bab": -5.5}


def train(texts=TEXTS, size=50, **options):
    form = {"form": "bytes", "vocab_size": 280} if options.get("form") == "bytes" else {"vocab_size": size}
    return UnigramTokenizer.train(texts, progress=False, **form | options)


@pytest.fixture(scope="module")
def words():
    return train()


@pytest.fixture(scope="module")
def in_bytes():
    return train(form="bytes")


@pytest.fixture
def small():
    return UnigramTokenizer.from_scores(SCORES)


def all_segmentations(text, words):
    """Every segmentation of a text whose words these are, by its tokens, with ln P."""
    found = {(): 0.0}
    for word in words:
        rows = [parts for parts in cuts(word) if all(part in SCORES for part in parts)]
        found = {
            (*before, *row): score + sum(SCORES[part] for part in row)
            for before, score in found.items()
            for row in rows
        }
    return found


# Training


def test_the_seeds_are_the_frequent_strings():
    counts = Counter({"abab": 3, "ba": 2, " abc": 1})
    plain = Counter()
    for word, count in counts.items():
        for begin in range(len(word)):
            for end in range(begin + 1, min(begin + 3, len(word)) + 1):
                plain[word[begin:end]] += count
    words = sorted(counts)
    seeds = training._seed(words, np.array([counts[w] for w in words], float), {"ba"}, 3, 100, 2)
    expected = {x: n for x, n in plain.items() if len(x) == 1 or (n >= 2 and x != "ba")}
    assert dict(zip(seeds.pieces, seeds.counts.tolist(), strict=True)) == expected
    again = Lattices.of(words, {piece: number for number, piece in enumerate(seeds.pieces)})
    for name in ("first", "last"):
        assert getattr(seeds.lattices, name).tolist() == getattr(again, name).tolist()
    edges = [
        sorted(zip(x.begin.tolist(), x.end.tolist(), x.piece.tolist(), strict=True)) for x in (again, seeds.lattices)
    ]
    assert edges[0] == edges[1]


def test_few_seeds_are_those_of_the_greatest_count_times_length():
    """4 * 3 for "abc", 5 * 2 for the more frequent "ab"."""
    seeds = training._seed(["ab", "abc"], np.array([1.0, 4.0]), (), 3, 1, 2)
    assert sorted(seeds.pieces) == ["a", "abc", "b", "c"]


def test_a_symbol_that_no_word_has_is_as_probable_as_the_rarest_one():
    assert training.learn_pieces(Counter({"aab": 9}), "abz", 3) == pytest.approx({"a": 0.5, "b": 0.25, "z": 0.25})


def test_a_step_counts_each_segmentation_by_its_probability():
    counts, pieces = {"abc": 4.0, "cab": 3.0, "aba": 1.0}, ["a", "b", "c", "ab", "bc", "abc"]
    numbers = {piece: number for number, piece in enumerate(pieces)}
    p = np.array([0.2, 0.2, 0.2, 0.15, 0.15, 0.1])

    def log_sums(without=None):
        rows = {
            word: {
                tuple(parts): math.prod(p[numbers[x]] for x in parts) for parts in cuts(word) if usable(parts, without)
            }
            for word in counts
        }
        return rows, sum(n * math.log(sum(rows[word].values())) for word, n in counts.items())

    def usable(parts, without):
        return all(part in numbers and part != without for part in parts)

    rows, likelihood = log_sums()
    expected = np.zeros(len(pieces))
    for word, n in counts.items():
        for parts, probability in rows[word].items():
            for part in parts:
                expected[numbers[part]] += n * probability / sum(rows[word].values())
    lattices, weights = Lattices.of(list(counts), numbers), np.array(list(counts.values()))
    found, losses = training._iterate(lattices, weights, p, np.array([True] * 3 + [False] * 3))
    assert found == pytest.approx(expected / expected.sum())
    for piece in ("ab", "bc", "abc"):
        assert losses[numbers[piece]] == pytest.approx(likelihood - log_sums(without=piece)[1])


def test_symbols_stay_and_the_rest_is_what_is_worth_most(words, in_bytes):
    scores = words.scores
    characters = sorted(set("".join(TEXTS)))
    assert list(scores)[: len(characters) + 1] == ["<unk>", *characters]
    assert len(words) == 50
    assert len(in_bytes) == 280
    assert [*in_bytes.scores][:256] == byte_names()
    assert {" the", " saw"} <= scores.keys()
    assert {"Ġthe", "Ġsaw"} <= in_bytes.scores.keys()
    for tokenizer in (words, in_bytes):
        rest = [score for piece, score in tokenizer.scores.items() if len(piece) > 1 and piece != "<unk>"]
        assert rest == sorted(rest, reverse=True)
        assert sum(map(math.exp, tokenizer.scores.values())) == pytest.approx(1)
    # No piece is spelled like a special token, nor reaches from a word into the next one.
    assert not {"<s>", "</s>"} & scores.keys()
    assert not any(piece.rstrip() != piece and piece.strip() for piece in scores)


def test_rare_characters_are_unknown():
    rare = train(iter(TEXTS), min_count=3)
    frequent = {x for x in "".join(TEXTS) if "".join(TEXTS).count(x) >= 3}
    assert set("".join(rare.scores)) - set("<unk>") <= frequent
    assert rare("z").input_ids[1:] == [0]
    assert len(train(size=1000)) < 1000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vocab_size": 20}, r"vocab_size 20 is less than the \d+ symbols .* 4 special tokens; .* or min_count"),
        (
            {"vocab_size": 258, "form": "bytes"},
            "vocab_size 258 is less than the 256 symbols .* 3 special tokens; raise it$",
        ),
        ({"form": "runes"}, "form is 'runes'"),
        ({"shrinking_factor": 1.0}, "shrinking_factor must be between 0 and 1"),
        ({"vocab_size": -4}, "vocab_size must be at least 1, not -4"),
        ({"max_piece_length": 0}, "max_piece_length must be at least 1"),
        ({"unk_token": None}, "needs an unk_token"),
        ({"form": "bytes", "unk_token": "<unk>"}, "has no unk_token"),
    ],
)
def test_what_cannot_be_trained(options, message):
    with pytest.raises(ValueError, match=message):
        train(**options)


def test_what_are_no_scores():
    for scores in ({"": -1.0}, {"a": 0.5}, {"a": -math.inf}, {"<s>": -1.0}):
        with pytest.raises(ValueError, match="is no piece"):
            UnigramTokenizer.from_scores(scores)
    with pytest.raises(ValueError, match="lacks the bytes"):
        UnigramTokenizer.from_scores({"a": -1.0}, form="bytes")
    with pytest.raises(ValueError, match="must be the first"):
        UnigramTokenizer.from_scores({"a": -1.0, "<unk>": -9.0})


def test_a_character_within_a_piece_alone_is_refused():
    """Else the segmentation that `tokenize` takes is not among those of `nbest`."""
    scores = {"xyz": -3.0, "x": -5.0, "z": -5.0}
    with pytest.raises(ValueError, match="the piece 'xyz' has the character 'y', which has no score; give it one"):
        UnigramTokenizer.from_scores(scores)
    tokenizer = UnigramTokenizer.from_scores({"<unk>": -1000.0, **scores, "y": -7.0})
    for text in ("xyz", "xy", "yxyzq", "qqy q"):
        assert list(tokenizer.nbest(text, 1)[0].tokens) == [
            token if token in tokenizer.scores else "<unk>" for token in tokenizer.tokenize(text)
        ]


# Encoding


@given(text=ANY_TEXT)
def test_every_text_comes_back(words, in_bytes, text):
    known = "".join(x for x in text if x in words.scores)
    for tokenizer, one in ((words, known), (in_bytes, text)):
        ids = tokenizer(one, split_special_tokens=True).input_ids
        assert tokenizer.decode(ids, skip_special_tokens=True) == one
        assert encode_corpus(tokenizer, [one]).ids.tolist() == ids[1:]
    assert encode_corpus(words, [text]).ids.tolist() == words(text, split_special_tokens=True).input_ids[1:]


def test_unknown_characters(words):
    assert words.convert_ids_to_tokens(words("a zyz").input_ids) == ["<s>", "a", " ", "<unk>"]
    assert words.convert_ids_to_tokens(encode_corpus(words, ["<unk>"]).ids) != ["<unk>"]


@given(text=st.text("ab ", max_size=12))
def test_the_segmentation_is_the_best_of_all(text):
    tokenizer = UnigramTokenizer.from_scores(SCORES)
    words = [word for word, _ in tokenizer.backend_tokenizer.pre_tokenizer.pre_tokenize_str(text)]
    expected = all_segmentations(text, words)
    best = tokenizer.nbest(text, 5)
    assert [one.log_prob for one in best] == pytest.approx(sorted(expected.values(), reverse=True)[:5])
    assert expected[tuple(tokenizer.tokenize(text))] == pytest.approx(best[0].log_prob)
    for one in best:
        assert expected[one.tokens] == pytest.approx(one.log_prob)
        assert tokenizer.convert_ids_to_tokens(one.ids) == list(one.tokens)
    total = np.logaddexp.reduce(list(expected.values()))
    assert tokenizer.lattice(text).log_sum(np.array(list(tokenizer.scores.values())))[0] == pytest.approx(total)


# Sampling


@pytest.mark.parametrize("nbest", [None, 4])
def test_samples_are_as_frequent_as_they_are_probable(small, nbest):
    expected = all_segmentations("bab ab", ["bab", " ab"])
    kept = sorted(expected, key=expected.get, reverse=True)[:nbest]
    weights = {tokens: math.exp(0.3 * expected[tokens]) for tokens in kept}
    found = small.sample("bab ab", alpha=0.3, n=20_000, nbest=nbest, seed=1)
    drawn = Counter(one.tokens for one in found)
    assert drawn.keys() <= weights.keys()
    for tokens, weight in weights.items():
        share = weight / sum(weights.values())
        assert drawn[tokens] / 20_000 == pytest.approx(share, abs=4 * (share / 20_000) ** 0.5)
    assert found[0].log_prob == pytest.approx(expected[found[0].tokens])
    assert small.sample("bab ab", n=5, seed=3) == small.sample("bab ab", n=5, seed=3)


def test_texts_are_encoded_by_samples(small):
    """The two ways of encoding a text draw by the same probabilities; the second takes the vectorised one."""
    expected = {tokens: math.exp(0.4 * score) for tokens, score in all_segmentations("", ["bab"]).items()}
    text = "bab" + "\nbab" * 8_000
    names = UnigramTokenizer.from_scores(SCORES | {"\n": -3.0})
    with names.sampling(0.4, seed=5):
        rows = [names.tokenize(text), names.convert_ids_to_tokens(encode_corpus(names, [text]).ids)]
    for tokens in rows:
        drawn = Counter(tuple(part.split("|")) for part in "|".join(tokens).split("|\n|"))
        assert drawn.total() == 8_001
        for row, weight in expected.items():
            share = weight / sum(expected.values())
            assert drawn[row] / 8_001 == pytest.approx(share, abs=4 * (share / 8_001) ** 0.5)
    assert rows[0] != rows[1]


@settings(max_examples=40, deadline=None)
@given(texts=st.lists(ANY_TEXT, min_size=1, max_size=3), alpha=st.sampled_from([0.0, 0.2, 1.0]))
def test_samples_come_back_too(words, in_bytes, texts, alpha):
    for tokenizer in (words, in_bytes):
        known = texts if tokenizer is in_bytes else ["".join(x for x in text if x in words.scores) for text in texts]
        with tokenizer.sampling(alpha, seed=1):
            rows = tokenizer(known, split_special_tokens=True).input_ids
            corpus = encode_corpus(tokenizer, known)
        for one, row, ids in zip(known, rows, corpus, strict=True):
            assert tokenizer.decode(row, skip_special_tokens=True) == one
            assert tokenizer.decode(ids) == one


def test_what_is_drawn_follows_from_seed_and_call(words):
    texts = [f"the cats saw {word} dogs" for word in ("the", "then", "a", "saw")] * 30

    def drawn(seed, calls=2):
        with words.sampling(0.1, seed=seed):
            return [words(texts).input_ids for _ in range(calls)] + [encode_corpus(words, texts).ids.tolist()]

    first = drawn(1)
    assert first == drawn(1)
    assert first[0] != first[1]
    assert drawn(2) != first
    assert drawn((1, 0)) != first
    set_seed(3)
    free = drawn(None)
    set_seed(3)
    assert free == drawn(None)
    with words.sampling(200.0):
        assert words(texts).input_ids == [words.encode(text) for text in texts]


def test_a_sampling_tokenizer_reads_pairs_offsets_and_limits(words):
    plain = words("the cats", "saw dogs", return_offsets_mapping=True)
    with words.sampling(0.0, seed=2):
        found = words("the cats", "saw dogs", return_offsets_mapping=True)
        cut = words("the cats saw dogs", truncation=True, max_length=4)
    assert len(found.input_ids) > len(plain.input_ids)
    assert len(cut.input_ids) == 4
    texts = {0: "the cats", 1: "saw dogs"}
    for token, (begin, end), text in zip(found.tokens(), found.offset_mapping, found.sequence_ids(), strict=True):
        assert token == "<s>" if text is None else token == texts[text][begin:end]


def test_sampling_ends_with_its_block(words):
    whole = words.tokenize("the cats saw")
    with pytest.raises(KeyError), words.sampling(0.0), words.sampling(0.1):
        assert words.is_sampling
        raise KeyError
    assert not words.is_sampling
    assert words.is_unmodified()
    assert words.tokenize("the cats saw") == whole
    for wrong in (-0.1, math.inf, math.nan):
        with pytest.raises(ValueError, match="alpha must be a finite number"):
            words.sampling(wrong).__enter__()
        with pytest.raises(ValueError, match="alpha must be a finite number"):
            words.sample("the", wrong)
    for call in (lambda: words.sample("the", n=0), lambda: words.nbest("the", 0)):
        with pytest.raises(ValueError, match="n must be at least 1"):
            call()
    with pytest.raises(ValueError, match="lone surrogate"):
        words.sample("\ud800")


def test_sampling_is_never_saved_and_copies_keep_it(words, tmp_path):
    plain = words.backend_tokenizer.to_str()
    with words.sampling(0.0, seed=1):
        words("the cats")
        words.save_pretrained(tmp_path)
        others = [copy.deepcopy(words), pickle.loads(pickle.dumps(words))]
        expected = words.tokenize("the cats saw the dogs")
        assert [other.tokenize("the cats saw the dogs") for other in others] == [expected, expected]
    for loaded in (AutoTokenizer.from_pretrained(tmp_path), UnigramTokenizer.from_pretrained(tmp_path)):
        assert loaded.backend_tokenizer.to_str() == plain == words.backend_tokenizer.to_str()
        assert type(loaded) is UnigramTokenizer
        assert not loaded.is_sampling
        assert loaded.is_unmodified()
        assert loaded.nbest("the cats", 3) == words.nbest("the cats", 3)
    generic = TokenizersBackend.from_pretrained(tmp_path)
    assert generic("the né  dog ?").input_ids == words("the né  dog ?").input_ids
