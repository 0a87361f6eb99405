# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Nearest neighbours: known answers, a naive loop, ties, bad input; the table and the pictures."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, GPT2Model, PreTrainedTokenizerFast

from hf_lecture_models.analysis import neighbours as neighbours_module
from hf_lecture_models.analysis.neighbours import nearest_neighbours, neighbour_rows, neighbour_table
from hf_lecture_models.lab.studies.neighbour_pictures import (
    _PLACES,
    _box,
    free_places,
    principal_components,
    save_neighbour_map,
    save_neighbours,
)
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.models.recurrent import RecurrentConfig, RecurrentForCausalLM
from hf_lecture_models.tokenization.byte import ByteTokenizer
from hf_lecture_models.tokenization.elmo import ElmoTokenizer
from hf_lecture_models.tokenization.word import WordTokenizer

WORDS = ["is", "was", "are", "cat", "dog"]
TOKENIZER = WordTokenizer.from_words(WORDS)  # <unk> 0, the words 1 to 5, <s> 6, </s> 7, <pad> 8
VECTORS = torch.tensor(
    [[9, 9, 9], [1, 0, 0], [4, 3, 0], [3, 4, 0], [0, 0, 2], [0, 3, 4], [1, 0, 0], [1, 0, 0], [0, 0, 0]],
    dtype=torch.float64,
)


def named(found):
    return [(near.word, round(near.similarity, 6)) for near in found.neighbours]


def test_known_cosines():
    is_, dog = nearest_neighbours(VECTORS, TOKENIZER, ["is", "dog"], k=3)
    assert named(is_) == [("was", 0.8), ("are", 0.6), ("cat", 0.0)]
    assert named(dog) == [("cat", 0.8), ("are", 0.48), ("was", 0.36)]
    assert (is_.word, is_.ids, is_.count) == ("is", (1,), None)


def test_special_tokens_and_the_word_itself_where_asked_for():
    [found] = nearest_neighbours(VECTORS, TOKENIZER, ["is"], k=3, include_special=True)
    assert named(found) == [("<s>", 1.0), ("</s>", 1.0), ("was", 0.8)]
    [found] = nearest_neighbours(VECTORS, TOKENIZER, ["is"], k=2, include_itself=True)
    assert named(found) == [("is", 1.0), ("was", 0.8)]
    [found] = nearest_neighbours(VECTORS, TOKENIZER, ["<unk>"], k=1)
    assert found.ids == (0,)


def test_counts_stand_beside_words_and_neighbours():
    counts = list(range(100, 109))
    for given_counts in (counts, torch.tensor(counts)):
        [found] = nearest_neighbours(VECTORS, TOKENIZER, ["is"], k=1, counts=given_counts)
        assert (found.count, found.neighbours[0].count) == (101, 102)
    with pytest.raises(ValueError, match="counts has 3 entries; one per token, 9, are needed"):
        nearest_neighbours(VECTORS, TOKENIZER, ["is"], k=1, counts=[1, 2, 3])


def naive(vectors, query, metric, leave_out):
    """Indices and similarities by one comparison at a time; of equal ones the lower index first."""
    pairs = []
    for index, vector in enumerate(vectors.double()):
        if index in leave_out or (metric == "cosine" and not vector.any()):
            continue
        cosine = (query @ vector / (query.norm() * vector.norm())).item() if metric == "cosine" else 0.0
        pairs.append((-round(cosine if metric == "cosine" else -(query - vector).norm().item(), 12), index))
    return [index for _, index in sorted(pairs)], [-value for value, _ in sorted(pairs)]


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("blocks", [(256, 2**22), (2, 21)], ids=["at once", "in blocks"])
@settings(max_examples=40)
@given(
    # Few values: many vectors are equal, parallel or zero.
    rows=st.lists(st.tuples(*[st.integers(-1, 2)] * 3), min_size=5, max_size=25),
    k=st.integers(1, 25),
)
def test_equals_a_naive_loop_ties_included(metric, blocks, rows, k):
    vectors = torch.tensor(rows, dtype=torch.float32)
    tokenizer = WordTokenizer.from_words([f"w{i}" for i in range(len(rows) - 3)], unk_token=None)
    special = {len(rows) - 3, len(rows) - 2, len(rows) - 1}
    asked = [i for i in range(len(rows) - 3) if metric == "euclidean" or vectors[i].any()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbours_module, "_WORDS", blocks[0])
        patch.setattr(neighbours_module, "_ELEMENTS", blocks[1])
        expected = [naive(vectors, vectors[i].double(), metric, special | {i}) for i in asked]
        if any(len(indices) < k for indices, _ in expected):
            with pytest.raises(ValueError, match=r"possible neighbours; lower k"):
                nearest_neighbours(vectors, tokenizer, [f"w{i}" for i in asked], k=k, metric=metric)
            return
        found = nearest_neighbours(vectors, tokenizer, [f"w{i}" for i in asked], k=k, metric=metric)
    assert len(found) == len(asked)
    for one, (indices, similarities) in zip(found, expected, strict=True):
        assert [near.id for near in one.neighbours] == indices[:k]
        assert [near.similarity for near in one.neighbours] == pytest.approx(similarities[:k], abs=2e-12)


@pytest.fixture
def byte_level_tokenizer():
    """As GPT-2's: a space before a word belongs to it."""
    vocabulary = {"Ġis": 0, "is": 1, "Ġ": 2, "n": 3, "o": 4, "Ġn": 5, "Ġno": 6, "</s>": 7}
    backend = Tokenizer(models.BPE(vocabulary, merges=[("Ġ", "n"), ("Ġn", "o")], ignore_merges=True))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="</s>")


def test_a_word_is_looked_up_as_it_stands_in_a_text(byte_level_tokenizer):
    found = nearest_neighbours(torch.randn(8, 4), byte_level_tokenizer, ["is", "no", "n"], k=2)
    assert [one.ids for one in found] == [(0,), (6,), (5,)]


def test_else_as_it_begins_a_text():
    vectors = torch.randn(259, 4)
    [found] = nearest_neighbours(vectors, ByteTokenizer(), ["a"], k=258 - 3)
    assert found.ids == (ord("a"),)
    assert {near.id for near in found.neighbours} == set(range(256)) - {ord("a")}


def test_a_word_of_several_tokens(byte_level_tokenizer):
    vectors = torch.randn(8, 4)
    with pytest.raises(ValueError, match=r"'on' is 3 tokens \(Ġ o n\); take their mean with mean_of_pieces=True"):
        nearest_neighbours(vectors, byte_level_tokenizer, ["is", "on"], k=2)
    [found] = nearest_neighbours(vectors, byte_level_tokenizer, ["on"], k=4, mean_of_pieces=True, counts=range(8))
    assert (found.ids, found.count) == ((2, 4, 3), None)
    indices, _ = naive(vectors, vectors[[2, 4, 3]].double().mean(0), "cosine", {2, 3, 4, 7})
    assert [near.id for near in found.neighbours] == indices


@pytest.mark.parametrize("which", ["input", "output"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_any_model_of_transformers(byte_level_tokenizer, which, dtype):
    config = GPT2Config(vocab_size=11, n_embd=8, n_layer=1, n_head=1, n_positions=8, tie_word_embeddings=False)
    model = GPT2LMHeadModel(config).to(dtype)
    table = (model.transformer.wte if which == "input" else model.lm_head).weight.detach()
    for source in (model, table):
        # The last rows have no token.
        [found] = nearest_neighbours(source, byte_level_tokenizer, ["is"], k=6, which=which)
        indices, _ = naive(table, table[0].double(), "cosine", {0, 7, 8, 9, 10})
        assert [near.id for near in found.neighbours] == indices


def test_models_of_this_package():
    config = RecurrentConfig(vocab_size=9, hidden_size=8, embedding_size=6, num_hidden_layers=1)
    model = RecurrentForCausalLM(config)
    for which, width in (("input", 6), ("output", 8)):
        assert neighbours_module.embedding_table(model, which).shape == (9, width)
        assert nearest_neighbours(model, TOKENIZER, ["is"], k=4, which=which)[0].ids == (1,)


def test_models_without_such_embeddings():
    ngram = NGramForCausalLM.fit(["is was are cat dog"], TOKENIZER, order=1, smoothing="add_alpha", alpha=1.0)
    with pytest.raises(ValueError, match="NGramForCausalLM has no input embeddings"):
        nearest_neighbours(ngram, TOKENIZER, ["is"])
    headless = GPT2Model(GPT2Config(vocab_size=9, n_embd=8, n_layer=1, n_head=1))
    with pytest.raises(ValueError, match="GPT2Model has no output embeddings.*ask for which='input'"):
        nearest_neighbours(headless, TOKENIZER, ["is"], which="output")


def test_elmo_has_no_vectors_of_words():
    tokenizer = ElmoTokenizer.train(["is was"])
    with pytest.raises(ValueError, match="ElmoTokenizer gives each word a row of letters"):
        nearest_neighbours(torch.randn(262, 3), tokenizer, ["is"])


def test_a_token_with_a_space_inside_is_found():
    """As in GloVe's `glove.840B.300d.txt`; of other words with spaces, the tokens are counted."""
    tokenizer = WordTokenizer.from_words(["is", ". . .", "was"])
    [dots] = nearest_neighbours(torch.eye(len(tokenizer)), tokenizer, [". . ."], k=1)
    assert tokenizer.convert_ids_to_tokens(dots.ids) == [". . ."]


def with_row(row, value):
    vectors = VECTORS.clone()
    vectors[row] = value
    return vectors


CLOSED = WordTokenizer.from_words([*WORDS, "bird"], unk_token=None)


@pytest.mark.parametrize(
    ("vectors", "words", "options", "message"),
    [
        (VECTORS, "is", {}, "words is the one str 'is'; give a list"),
        (VECTORS, [3], {}, "a word is a str, not int 3"),
        (VECTORS, ["lion"], {"tokenizer": CLOSED}, "the word 'lion' is not in the vocabulary"),
        (VECTORS, ["is", "bird"], {}, "the word 'bird' is not in the vocabulary"),
        (VECTORS, [""], {}, "the word '' has no token"),
        (VECTORS, ["is was"], {}, "'is was' is 2 tokens"),
        (VECTORS, ["is"], {"k": 5}, "'is' has only 4 possible neighbours; lower k from 5"),
        (VECTORS, ["is"], {"k": 0}, "k must be at least 1, not 0"),
        (VECTORS, ["is"], {"metric": "dot"}, "metric must be one of cosine, euclidean, not 'dot'"),
        (VECTORS, ["is"], {"which": "both"}, "which must be input or output, not 'both'"),
        (VECTORS[:8], ["is"], {}, "ids up to 8, but the embeddings only 8 rows"),
        (VECTORS[0], ["is"], {}, r"floating-point \(vocab, hidden\), not torch.float64 \[3\]"),
        (VECTORS.long(), ["is"], {}, "not torch.int64"),
        (with_row(4, math.nan), ["is"], {}, "NaN or infinity, first in row 4"),
        (with_row(1, math.inf), ["is"], {"metric": "euclidean"}, "NaN or infinity, first in row 1"),
        (with_row(1, 0.0), ["is"], {}, "the vector of 'is' is zero and has no direction"),
    ],
)
def test_bad_input_is_named(vectors, words, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        nearest_neighbours(vectors, words=words, **({"tokenizer": TOKENIZER, "k": 1} | options))


def test_no_words_have_no_neighbours():
    assert nearest_neighbours(VECTORS, TOKENIZER, []) == []


def test_words_of_an_unknown_class_are_unknown_and_spelled_ones_have_pieces():
    classes = WordTokenizer.train([" ".join(WORDS)], unknown_words="classes", progress=False)
    vectors = torch.randn(400, 3)
    for word in ("12", "bird"):
        with pytest.raises(ValueError, match=f"the word '{word}' is not in the vocabulary"):
            nearest_neighbours(vectors, classes, [word], k=1)
    assert nearest_neighbours(vectors, classes, ["<unk:number>"], k=1)[0].ids == (1,)
    spelled = WordTokenizer.train([" ".join(WORDS)], unknown_words="spelled", progress=False)
    [cat] = nearest_neighbours(vectors, spelled, ["cat"], k=1)
    assert spelled.convert_ids_to_tokens(cat.ids) == [" cat"]
    with pytest.raises(ValueError, match=r"'ca' is 3 tokens \(␣ c a\); take their mean"):
        nearest_neighbours(vectors, spelled, ["ca"], k=1)


def test_rows_of_zeros_are_no_neighbours_by_direction_but_by_distance():
    vectors = with_row(2, 0.0)
    assert "was" not in dict(named(nearest_neighbours(vectors, TOKENIZER, ["is"], k=3)[0]))
    [zero] = nearest_neighbours(vectors, TOKENIZER, ["was"], k=2, metric="euclidean")
    assert named(zero) == [("is", -1.0), ("cat", -2.0)]


def compared():
    counts = [10**i for i in range(9)]
    cosine = nearest_neighbours(VECTORS, TOKENIZER, ["is", "dog"], k=2, counts=counts)
    return {"free": cosine, "one vector": nearest_neighbours(-VECTORS, TOKENIZER, ["is", "dog"], k=2, counts=counts)}


def test_rows_stand_as_on_the_slide():
    columns, rows = neighbour_rows(compared())
    assert columns == ["word (freq.)", "model", "nearest neighbours"]
    assert rows == [
        ["is (10)", "free", "was are"],
        ["", "one vector", "was are"],
        ["dog (100,000)", "free", "cat are"],
        ["", "one vector", "cat are"],
    ]
    columns, rows = neighbour_rows(compared()["free"], similarities=True)
    assert columns == ["word (freq.)", "nearest neighbours"]
    assert rows[0] == ["is (10)", "was 0.80, are 0.60"]


def test_table_is_markdown_with_signs_escaped():
    tokenizer = WordTokenizer.from_words(["a|b", "*", "<x>", " "], unk_token=None)
    table = neighbour_table(nearest_neighbours(torch.eye(7) + 1, tokenizer, ["a|b"], k=3))
    assert table == "| word (freq.) | nearest neighbours |\n| --- | --- |\n| a\\|b | \\* \\<x\\> ␣ |"


@pytest.mark.parametrize(
    "results", [[], {}, {"a": []}, {"free": compared()["free"], "one vector": compared()["free"][:1]}]
)
def test_nothing_to_compare(results):
    with pytest.raises(ValueError, match="nothing to compare: give each model's neighbours of the same words"):
        neighbour_table(results)


def test_pictures_hold_every_word_and_no_formula(tmp_path):
    pytest.importorskip("matplotlib")
    words = ["$12", "a$b", "_{", "cat"]
    tokenizer = WordTokenizer.from_words(words, unk_token=None)
    vectors = torch.randn(7, 4)
    results = nearest_neighbours(vectors, tokenizer, ["$12", "cat"], k=3)
    save_neighbours(results, tmp_path / "table.svg")
    save_neighbours({"free": results, "one vector": results}, tmp_path / "compared.svg", similarities=True)
    save_neighbour_map(vectors, results, tmp_path / "map.svg", title="$x")
    for name, texts in {
        "table.svg": ["$12", "nearest neighbours"],
        "compared.svg": ["$12", "one vector"],
        "map.svg": [*words, "$x", "first principal component"],
    }.items():
        picture = (tmp_path / name).read_text(encoding="utf-8")
        assert all(f"<!-- {text}" in picture for text in texts)
    save_neighbour_map(vectors, results, tmp_path / "map.png", metric="euclidean")
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="nothing to draw"):
        save_neighbour_map(vectors, [], tmp_path / "none.png")


def test_principal_components_keep_distances_of_a_plane():
    plane = torch.randn(12, 2, dtype=torch.float64)
    turned = plane @ torch.linalg.qr(torch.randn(5, 5, dtype=torch.float64))[0][:2] + torch.randn(5)
    points, shares = principal_components(turned)
    torch.testing.assert_close(torch.cdist(points, points), torch.cdist(plane, plane))
    assert sum(shares) == pytest.approx(1)
    assert shares[0] >= shares[1]
    assert (points.max(0).values >= -points.min(0).values).all()


@pytest.mark.parametrize("shape", [(1, 3), (4, 1)])
def test_principal_components_of_little(shape):
    points, shares = principal_components(torch.randn(shape, dtype=torch.float64))
    assert points.shape == (shape[0], 2)
    assert all(math.isfinite(share) for share in shares)
    assert points[:, 1].abs().max() == 0


def test_labels_avoid_points_and_each_other():
    points = [(0.0, 0.0), (14.0, 0.0), (0.0, 14.0), (200.0, 0.0)]
    places = free_places(points, [32.0, 42.0, 34.0, 36.0])
    assert places[3] == _PLACES[0]  # a lonely one stands to the right
    assert places[0] != _PLACES[0]
    boxes = [_box(point, place, 42.0) for point, place in zip(points, places, strict=True)]
    for number, box in enumerate(boxes):
        for other in boxes[:number]:
            assert box[2] <= other[0] or other[2] <= box[0] or box[3] <= other[1] or other[3] <= box[1]
