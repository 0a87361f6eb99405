# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Hash tables beside the sorted tables of n-grams: they find what a search finds, of the keys as they are now."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import weakref

import numpy as np
import pytest
import torch
from accelerate import cpu_offload
from hypothesis import given
from hypothesis import strategies as st

from hf_lecture_models import NGramConfig, NGramForCausalLM
from hf_lecture_models.layers import ngram_index
from hf_lecture_models.layers.ngram_hashed import HashedNGrams
from hf_lecture_models.layers.ngram_index import INDEXES, find_hashed, find_indexed, hash_tables, pays
from hf_lecture_models.layers.ngram_search import FEW, find
from hf_lecture_models.layers.ngram_trie import NGramTrie

LARGEST = 2**63 - 1
FACTOR = 11400714819323198485  # the one of the index, without a sign
INVERSE = pow(FACTOR, -1, 2**64)


def regular(vocab_size, words, number):
    """The keys of prefixes that are all followed by the same first words."""
    prefixes = np.arange(number // words + 1)[:, None]
    return (prefixes * vocab_size + np.arange(words)).ravel()[:number]


def of_one_hash(number):
    """Keys with the same slot in the first table, whatever its size."""
    mixed = [hash_ * INVERSE % 2**64 for hash_ in range(4 * number)]
    keys = [(hash_ ^ hash_ >> 32) * INVERSE % 2**64 for hash_ in mixed if hash_ < 2**63][:number]
    return np.sort(np.array(keys, np.uint64).view(np.int64))


def any_keys(number):
    rng = np.random.default_rng(number)
    ends = np.array([-LARGEST - 1, -1, 0, 1, LARGEST])
    return np.unique(np.concatenate([rng.integers(-LARGEST - 1, LARGEST, number), ends]))


KEYS = {
    "one": np.array([7]),
    "two": np.array([-1, 0]),
    "clustered": np.arange(5000),
    "one word each": regular(33_281, 1, 5000),
    "powers of two": regular(65_536, 1, 5000),
    "few words each": regular(10_007, 2, 5001),
    "any": any_keys(5000),
    "of one hash": of_one_hash(2000),
}


def queries_of(keys):
    rng = np.random.default_rng(0)
    wrong = np.concatenate([keys[:1000] ^ 1, keys[-1000:] ^ (1 << 40), rng.integers(-LARGEST, LARGEST, 100)])
    return rng.permutation(np.concatenate([keys, wrong, keys[:1].repeat(50)]))


@pytest.mark.parametrize("slots", [0.9, 1.2])
@pytest.mark.parametrize("name", KEYS)
def test_hashing_finds_what_a_search_finds(name, slots):
    keys, queries = torch.from_numpy(KEYS[name]), queries_of(KEYS[name])
    tables = hash_tables(keys, slots)
    expected = find(keys, torch.from_numpy(queries))
    assert torch.equal(find_hashed(keys, tables, queries), expected)
    assert torch.equal(find_hashed(keys, tables, torch.from_numpy(queries)), expected)  # as on other devices
    for few in (queries[:0], queries[:1], queries[:1].repeat(600)):
        assert torch.equal(find_hashed(keys, tables, few), find(keys, torch.from_numpy(few)))


@given(
    st.sets(st.integers(-LARGEST - 1, LARGEST) | st.integers(-20, 20), min_size=1, max_size=60),
    st.lists(st.integers(-LARGEST - 1, LARGEST) | st.integers(-20, 20), max_size=60),
)
def test_hashing_finds_any_numbers(keys, others):
    sorted_keys = torch.tensor(sorted(keys))
    queries = np.array([*keys, *others], np.int64)
    places = {key: place for place, key in enumerate(sorted_keys.tolist())}
    found = find_hashed(sorted_keys, hash_tables(sorted_keys, 0.9), queries)
    assert found.tolist() == [places.get(query, -1) for query in queries.tolist()]


def test_with_all_keys_in_one_slot_a_search_finds_them(monkeypatch):
    monkeypatch.setattr(ngram_index, "_slots_of", lambda hashes, size: hashes * 0)
    keys = torch.arange(0, 3000, 3)
    tables = hash_tables(keys, 1.2)
    queries = np.arange(-5, 3005)
    assert torch.equal(find_hashed(keys, tables, queries), find(keys, torch.from_numpy(queries)))
    assert sum(map(len, tables)) < 1.8 * len(keys) + 8


@pytest.mark.parametrize("vocab_size", [2, 1000, 1024, 10_007, 33_281, 65_536, 2**20, 2**24])
@pytest.mark.parametrize("words", [1, 2])
def test_regular_keys_have_slots_as_random_ones_have(vocab_size, words):
    keys = torch.from_numpy(regular(vocab_size, words, 30_000))
    rows = torch.cat([table & (2**31 - 1) for table in hash_tables(keys, 1.2)]).unique()
    assert len(rows) > 0.985 * len(keys)


def test_frequent_keys_come_first():
    keys = torch.arange(20_000)
    first = hash_tables(keys, 1.2)[0]
    in_first = torch.zeros(len(keys), dtype=torch.bool).index_fill_(0, (first & (2**31 - 1)).long(), True)
    assert in_first[:2000].float().mean() > 0.9 > 0.6 > in_first[-2000:].float().mean()


@pytest.mark.parametrize("bits", [None, 8, 16])
@pytest.mark.parametrize("sizes", [(1,), (7,), (1, 1, 1), (3, 5, 2), (333, 1001, 77), (1001, 4097, 8191, 8209)])
def test_all_tables_take_at_most_1_6_times_those_of_the_model(sizes, bits):
    trie = NGramTrie(20, [20, *sizes], bits=bits)
    bins = 0 if bits is None else 4 * 2**bits * (2 * trie.order - 3)
    stored = sum(buffer.nbytes for buffer in trie.buffers()) - bins
    made = [
        table for n in range(2, trie.order + 1) for table in hash_tables(trie.keys(n), 1.2 if bits is None else 0.9)
    ]
    assert sum(table.nbytes for table in made) <= 0.6 * stored


def test_it_pays_from_half_as_many_queries_as_keys_on():
    assert [pays(keys, 500) for keys in (0, 1, 1000, 1001)] == [False, True, True, False]
    # The last rows of 2^31 keys do not fit into int32.
    assert [pays(keys, 2**40) for keys in (2**31 - 1, 2**31)] == [True, False]


def trie_of(keys):
    trie = NGramTrie(10_000, [10_000, len(keys)])
    trie.register_buffer("keys_2", keys)
    return trie


def tables_of(trie, n=2):
    index = INDEXES.get(trie, {}).get(n)
    return index.tables if index is not None and index.is_of(trie.keys(n)) else []


def test_tables_are_made_when_enough_was_asked_for_in_large_calls():
    trie = trie_of(torch.arange(0, 16 * FEW, 4))  # 4 FEW keys
    queries = torch.arange(FEW)
    for _ in range(20):
        trie.find(2, queries[1:])
    assert trie not in INDEXES
    trie.find(2, queries)
    assert not tables_of(trie)
    assert torch.equal(trie.find(2, queries), find(trie.keys(2), queries))
    assert tables_of(trie)
    tables = tables_of(trie)
    trie.find(2, queries)
    assert tables_of(trie) is tables


OLD, NEW = torch.arange(0, 3000, 3), torch.arange(1, 3001, 3)


@pytest.fixture
def trie():
    """A trie whose keys are hashed."""
    trie = trie_of(OLD.clone())
    found = trie.find(2, torch.arange(3001))
    assert tables_of(trie)
    assert torch.equal(found, find(OLD, torch.arange(3001)))
    return trie


def by_index(trie):
    trie.keys_2[:] = NEW


def by_a_view(trie):
    trie.keys_2.view(-1, 2).copy_(NEW.view(-1, 2))


def by_data(trie):
    trie.keys_2.data = NEW.clone()


def by_swapping(trie):
    torch.utils.swap_tensors(trie.keys_2, NEW.clone())


def by_moving(trie):
    trie.register_buffer("keys_2", NEW.clone())
    trie.to("cpu", torch.float64).half()


def through_meta(trie):
    trie.to("meta")
    trie.to_empty(device="cpu")
    trie.keys_2.copy_(NEW)


def in_inference_mode(trie):
    with torch.inference_mode():
        trie.register_buffer("keys_2", OLD + 0)
        trie.find(2, torch.arange(3001))
        trie.keys_2.add_(1)


CHANGES = {
    "another buffer": lambda trie: trie.register_buffer("keys_2", NEW.clone()),
    "an attribute": lambda trie: setattr(trie, "keys_2", NEW.clone()),
    "the dictionary": lambda trie: trie._buffers.update(keys_2=NEW.clone()),
    "copy_": lambda trie: trie.keys_2.copy_(NEW),
    "add_": lambda trie: trie.keys_2.add_(1),
    "an index": by_index,
    "a view": by_a_view,
    "data": by_data,
    "swap_tensors": by_swapping,
    "a state": lambda trie: trie.load_state_dict(trie_of(NEW.clone()).state_dict()),
    "an assigned state": lambda trie: trie.load_state_dict(trie_of(NEW.clone()).state_dict(), assign=True),
    "moving": by_moving,
    "meta": through_meta,
    "inference mode": in_inference_mode,
}


@pytest.mark.parametrize("name", CHANGES)
def test_changed_keys_are_not_found_in_old_tables(trie, name):
    CHANGES[name](trie)
    assert torch.equal(trie.keys_2, NEW)
    for _ in range(3):
        assert torch.equal(trie.find(2, torch.arange(3001)), find(NEW, torch.arange(3001)))


@pytest.mark.parametrize("length", [1, 999, 1001])
def test_keys_of_another_number(trie, length):
    trie.register_buffer("keys_2", torch.arange(1, 3 * length, 3))
    assert torch.equal(trie.find(2, torch.arange(3001)), find(trie.keys_2, torch.arange(3001)))


def test_tables_are_neither_saved_nor_copied(trie):
    assert set(trie.state_dict()) == set(trie_of(OLD).state_dict())
    assert set(trie.__dict__) == set(trie_of(OLD).__dict__)
    assert len(pickle.dumps(trie)) == len(pickle.dumps(trie_of(OLD.clone())))
    saved = io.BytesIO()
    torch.save(trie, saved)
    saved.seek(0)
    for copied in (copy.deepcopy(trie), torch.load(saved, weights_only=False)):
        copied.keys_2 = copied.keys_2 + 1
        assert torch.equal(copied.find(2, torch.arange(3001)), find(NEW, torch.arange(3001)))
    assert torch.equal(trie.find(2, torch.arange(3001)), find(OLD, torch.arange(3001)))


def test_tables_end_with_the_trie_or_its_keys():
    trie = trie_of(OLD.clone())
    trie.find(2, torch.arange(3001))
    gc.collect()
    tables, before = weakref.ref(tables_of(trie)[0]), len(INDEXES)
    trie.register_buffer("keys_2", NEW.clone())
    trie.find(2, torch.arange(600))
    gc.collect()
    assert tables() is None
    del trie
    gc.collect()
    assert len(INDEXES) == before - 1


def test_weights_that_are_loaded_for_a_call_are_not_kept():
    trie = trie_of(OLD.clone())
    cpu_offload(trie, torch.device("cpu"))
    for _ in range(3):
        scores, _ = trie.score(torch.arange(3000), torch.arange(3000) == 0)
    assert len(scores) == 3000
    assert trie not in INDEXES


def test_no_keys_and_no_values():
    trie = NGramTrie(4, [4, 0])
    assert trie.find(2, torch.arange(600)).tolist() == [-1] * 600
    assert trie.find(2, torch.arange(0)).tolist() == []
    meta = NGramTrie(4, [4, 900]).to("meta")
    assert meta.find(2, torch.arange(600, device="meta")).shape == (600,)


@pytest.mark.parametrize("trie_class", [NGramTrie, HashedNGrams])
def test_every_method_gives_the_same(trie_class, monkeypatch):
    trie = trie_class(50, [50, 400, 900])
    rng = np.random.default_rng(1)
    trie.register_buffer("keys_2", torch.from_numpy(np.sort(rng.choice(2500, 400, replace=False))))
    trie.register_buffer("keys_3", torch.from_numpy(np.sort(rng.choice(20_000, 900, replace=False))))
    words = torch.from_numpy(rng.integers(0, 50, 5000))
    starts = torch.from_numpy(rng.random(5000) < 0.1)

    def results():
        contexts = trie.contexts(words, starts)
        some = contexts[:, :700]
        return [contexts, *trie.score(words, starts, True), trie.log_probs(contexts, words), trie.distributions(some)]

    with monkeypatch.context() as patched:
        patched.setattr(ngram_index, "pays", lambda keys, asked: False)
        expected = results()
    found = results()
    assert tables_of(trie)
    assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))


def test_models_of_the_package_have_it():
    assert NGramTrie.find is find_indexed
    model = NGramForCausalLM(NGramConfig(vocab_size=600, order=2, table_sizes=[600, 900]))
    model.score(torch.arange(600)[None])
    assert tables_of(model.trie)
