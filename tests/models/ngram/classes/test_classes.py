# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Class-based n-grams: hand arithmetic, an independent implementation, the exchange algorithm, files of classes."""

from __future__ import annotations

import gzip
import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from hf_lecture_models.layers.ngram_tables import WordClasses
from hf_lecture_models.loading import load_model
from hf_lecture_models.models.ngram.checks_ngram import SMOOTHINGS, ngram_counts
from hf_lecture_models.models.ngram.classes.class_files import find_classes, read_classes
from hf_lecture_models.models.ngram.classes.exchange import BigramClustering, Bigrams, exchange
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.conversion_ngram import save_fst
from hf_lecture_models.models.ngram.counting_ngram import Stream, make_stream
from hf_lecture_models.models.ngram.estimation_ngram import config_for
from hf_lecture_models.models.ngram.fitting_ngram import fit_ids
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from hf_lecture_models.models.ngram.saving_ngram import save_ngrams
from hf_lecture_models.tokenization.word import WordTokenizer
from tests.models.ngram.reference_ngram import ReferenceNGram
from tests.models.ngram.test_modeling_ngram import TEXTS, TOKENIZER, NGramTests

pytestmark = pytest.mark.filterwarnings("ignore:.*too few, or artificial text")

SMALL = ["the cat ran", "the dog ran", "a cat sat", "a dog sat", "the dog sat"]
CLASSES = """\
D 0.6 the
D 0.4 a
N 0.4 cat
N 0.6 dog

V 0.4 ran
V 0.6 sat
"""


@pytest.fixture
def class_file(tmp_path):
    path = tmp_path / "small.classes"
    path.write_text(CLASSES, encoding="utf-8")
    return path


@pytest.fixture
def tokenizer():
    return WordTokenizer.train(SMALL, progress=False)


class TestClassTrigram(NGramTests):
    contradictory_configs = ({"num_classes": 0}, {"num_classes": 10**6}, {"num_classes": 5, "table_sizes": [4, 0, 0]})

    def config(self):
        config = super().config()
        config.num_classes = 9
        return config

    def fit(self):
        model = NGramForCausalLM.fit(
            TEXTS, TOKENIZER, order=self.order, smoothing=self.smoothing, classes=6, progress=False
        )
        return model, super().fit()[1]

    def reference(self, model, inputs):
        """The smoothing in dictionaries, of texts of classes; P(w | class) by counting."""
        texts = [TOKENIZER(text, add_special_tokens=False).input_ids for text in TEXTS]
        class_of = model.word_classes().class_of.tolist()
        counts = Counter(word for text in texts for word in text)
        counts[TOKENIZER.eos_token_id] = counts[TOKENIZER.unk_token_id] = 1  # alone in their classes
        totals = Counter()
        for word, count in counts.items():
            totals[class_of[word]] += count
        marks = class_of[TOKENIZER.bos_token_id], class_of[TOKENIZER.eos_token_id]
        events = set(class_of) - {marks[0], class_of[TOKENIZER.pad_token_id]}
        rows = [[class_of[word] for word in text] for text in texts]
        reference = ReferenceNGram(rows, self.order, self.smoothing, events, *marks)
        probs = [
            [
                [
                    counts[word] / max(totals[of], 1) * reference.prob(of, [class_of[w] for w in row[: t + 1]])
                    for word, of in enumerate(class_of)
                ]
                for t in range(len(row))
            ]
            for row in inputs["input_ids"].tolist()
        ]
        return {"logits": torch.tensor(probs).log()}


def test_a_class_bigram_by_hand(class_file, tokenizer):
    model = NGramForCausalLM.fit(SMALL, tokenizer, 2, "maximum_likelihood", classes=class_file, progress=False)
    ids = torch.tensor([tokenizer("a dog ran").input_ids])
    # D follows <s> and N follows D always, V follows N always.
    assert model.score(ids)[0].exp().tolist() == pytest.approx([1, 0.4, 0.6, 0.4])
    assert model.config.num_classes == 7  # and <unk>, <s>, </s>, <pad>
    end = model(torch.tensor([[*ids[0], tokenizer.eos_token_id]]), labels=torch.tensor([[-100] * 4 + [3]]))
    assert end.logits[0, 3, tokenizer.eos_token_id].exp() == pytest.approx(1)


# What SRILM's ClassNgram gives (log10) for our ARPA file and file of classes.
SRILM = {
    "a dog ran": [-0.4320331, -0.2251401, -0.4012313, -0.003291368],
    "the the sat dog": [-0.2559418, -2.832683, -1.832683, -1.832683, -1.610834],
    "cat zebra the dog sat": [-2.008774, -2.69897, -0.8326831, -0.2559419, -0.2251401, -0.00329113],
}


@pytest.mark.parametrize("text", SRILM)
def test_the_probabilities_are_those_of_srilm(text, class_file, tokenizer):
    model = NGramForCausalLM.fit(SMALL, tokenizer, 3, "absolute_discounting", classes=class_file, progress=False)
    scores = model.score(torch.tensor([tokenizer(f"{text} </s>").input_ids]))[0, 1:]
    assert (scores / math.log(10)).tolist() == pytest.approx(SRILM[text], abs=2e-6)


@pytest.mark.parametrize("smoothing", [name for name in SMOOTHINGS if name != "stupid_backoff"])
def test_sums_to_one_after_every_context(smoothing, tokenizer):
    options = {"held_out": ["a dog ran"]} if smoothing == "jelinek_mercer" else {}
    model = NGramForCausalLM.fit(SMALL, tokenizer, 3, smoothing, classes=2, progress=False, **options)
    contexts = torch.tensor(list(product(range(len(tokenizer)), repeat=2)))
    assert torch.allclose(model(contexts).logits.exp().sum(-1), torch.ones(len(contexts), 2), atol=1e-5)


def test_one_word_per_class_is_the_model_of_words(tokenizer):
    words = NGramForCausalLM.fit(SMALL, tokenizer, 3, "kneser_ney", progress=False)
    classes = NGramForCausalLM.fit(SMALL, tokenizer, 3, "kneser_ney", classes=6, progress=False)
    contexts = torch.tensor(list(product(range(len(tokenizer)), repeat=2)))
    assert torch.allclose(words(contexts).logits.exp(), classes(contexts).logits.exp(), atol=1e-6)


def test_words_that_the_text_lacks_share_a_class(tokenizer):
    model = NGramForCausalLM.fit(["the cat ran"], tokenizer, 2, "add_alpha", classes=2, progress=False)
    # Events: two classes, that of "a", "dog", "sat", <unk> and </s>; nothing follows an unseen word.
    context = torch.tensor([tokenizer.convert_tokens_to_ids(["dog"])])
    probs = model(context).logits[0, -1].exp()
    for word in ("a", "dog", "sat"):
        assert probs[tokenizer.convert_tokens_to_ids(word)] == pytest.approx(1 / 5 / 3)


# The exchange algorithm.


def random_bigrams(seed, vocab_size=12, tokens=150):
    words = np.random.default_rng(seed).integers(1, vocab_size, tokens)
    words[0] = 0
    return Bigrams.of(Stream(words, np.arange(tokens)), vocab_size)


def brute_force(bigrams, class_of):
    """L of the docstring, from dictionaries."""
    pairs, first, second, words = Counter(), Counter(), Counter(), Counter()
    for v, w, count in zip(bigrams.first.tolist(), bigrams.second.tolist(), bigrams.counts.tolist(), strict=True):
        pairs[class_of[v], class_of[w]] += count
        first[class_of[v]] += count
        second[class_of[w]] += count
        words[w] += count
    of = lambda counts: sum(x * math.log(x) for x in counts.values())  # noqa: E731
    return of(pairs) - of(first) - of(second) + of(words)


@pytest.mark.parametrize("seed", range(5))
def test_the_gain_of_every_move_is_that_of_brute_force(seed):
    bigrams, rng = random_bigrams(seed), np.random.default_rng(seed)
    clustering = BigramClustering(bigrams, rng.integers(0, 4, 12), 5)
    for word in rng.integers(0, 12, 30).tolist():  # moves at random: the counts stay right over many
        old, before = clustering.class_of[word], brute_force(bigrams, clustering.class_of)
        clustering.remove(word)
        gains = clustering.gains(word)
        for into in range(5):
            moved = np.where(np.arange(12) == word, into, clustering.class_of)
            assert gains[into] - gains[old] == pytest.approx(brute_force(bigrams, moved) - before, abs=1e-9)
        clustering.insert(word, int(rng.integers(5)))


def test_exchange_ends_where_no_single_move_helps():
    bigrams = random_bigrams(1, tokens=400)
    start = np.minimum(np.arange(12), 3)
    class_of = exchange(bigrams, start, 4, np.arange(1, 12))
    best = brute_force(bigrams, class_of)
    assert best > brute_force(bigrams, start)
    for word, into in product(range(1, 12), range(4)):
        moved = np.where(np.arange(12) == word, into, class_of)
        assert brute_force(bigrams, moved) <= best + 1e-6


def test_words_alike_come_together(tokenizer):
    model = NGramForCausalLM.fit(SMALL, tokenizer, 2, "add_alpha", classes=3, progress=False)
    class_of = model.word_classes().class_of
    found = [class_of[tokenizer.convert_tokens_to_ids(words.split())] for words in ("the a", "cat dog", "ran sat")]
    assert [len(set(classes)) for classes in found] == [1, 1, 1]
    assert len({int(classes[0]) for classes in found}) == 3
    again = NGramForCausalLM.fit(SMALL, tokenizer, 2, "add_alpha", classes=3, progress=False)
    assert all(torch.equal(a, b) for a, b in zip(model.buffers(), again.buffers(), strict=True))


def brown(bigrams, class_of, movable, num_classes):
    """Brown et al.'s merging: from one class per word, always the two whose union loses least likelihood."""
    class_of = class_of.copy()
    while len(left := sorted(set(class_of[movable].tolist()))) > num_classes:
        merged = [np.where(class_of == b, a, class_of) for a, b in product(left, left) if a < b]
        class_of = max(merged, key=lambda one: brute_force(bigrams, one))
    return class_of


def test_exchange_finds_what_browns_merging_finds_or_better():
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    config = config_for(tokenizer, order=2)
    ids = [tokenizer(text, add_special_tokens=False).input_ids for text in TEXTS]
    stream = make_stream(np.concatenate(ids), np.array([len(row) for row in ids]), config)
    bigrams = Bigrams.of(stream, config.vocab_size)
    movable = [word for word in sorted(set(np.concatenate(ids).tolist())) if word != tokenizer.unk_token_id]
    merged = brown(bigrams, np.arange(config.vocab_size), movable, 4)
    exchanged = find_classes(stream, config, 4).class_of
    assert brute_force(bigrams, exchanged) >= brute_force(bigrams, merged) - 1e-6


# Files.


def test_classes_go_out_and_in(class_file, tokenizer, tmp_path):
    model = NGramForCausalLM.fit(SMALL, tokenizer, 3, "kneser_ney", classes=class_file, progress=False)
    model.save_arpa(tmp_path / "lm.arpa", tokenizer, classes=tmp_path / "out.classes")
    assert len((tmp_path / "out.classes").read_text().splitlines()) == 6
    refitted = NGramForCausalLM.fit(SMALL, tokenizer, 3, "kneser_ney", classes=tmp_path / "out.classes", progress=False)
    assert all(torch.equal(a, b) for a, b in zip(model.buffers(), refitted.buffers(), strict=True))
    again, words = NGramForCausalLM.from_arpa(tmp_path / "lm.arpa", classes=tmp_path / "out.classes")
    text = "a dog ran the zebra </s>"
    expected = model.score(torch.tensor([tokenizer(text).input_ids]))
    assert torch.equal(again.score(torch.tensor([words(text).input_ids])), expected)
    with gzip.open(tmp_path / "out.gz", "wb") as file:
        file.write((tmp_path / "out.classes").read_bytes())
    assert read_classes(tmp_path / "out.gz") == read_classes(tmp_path / "out.classes")


def test_convert_writes_and_reads_the_classes_beside_the_arpa_file(class_file, tokenizer, tmp_path):
    model = NGramForCausalLM.fit(SMALL, tokenizer, 2, "add_alpha", classes=class_file, progress=False)
    model.save_pretrained(tmp_path / "folder")
    tokenizer.save_pretrained(tmp_path / "folder")
    sizes = save_ngrams(*load_model(tmp_path / "folder"), tmp_path / "lm.arpa")
    assert len((tmp_path / "lm.arpa.classes").read_text().splitlines()) == 6
    assert save_ngrams(*load_model(tmp_path / "lm.arpa"), tmp_path / "again") == sizes == ngram_counts(model.config)
    assert AutoModelForCausalLM.from_pretrained(tmp_path / "again").config.num_classes == 7


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (CLASSES.replace("V 0.6 sat", "V 0.6 ran"), "line 7: the word 'ran' stands in the file twice"),
        (CLASSES.replace("0.6 sat", "0.5 sat"), r"class 'V' add up to 0\.9; their probabilities must to 1"),
        (CLASSES.replace("0.6 sat", "sat"), r"class 'V' add up to 1\.4"),
        (CLASSES.replace("0.6 sat", "1.6 sat"), "line 7: '1.6' is no probability"),
        (CLASSES.replace("0.6 sat", "nan sat"), "line 7: 'nan' is no probability"),
        (CLASSES.replace("sat", "sat down"), "line 7: 4 columns, but a line is CLASS PROBABILITY WORD; phrases"),
        (CLASSES.replace("D 0.6 the\nD 0.4 a\n", ""), "lacks 2 of the 10 words of the vocabulary, such as"),
        (CLASSES + "X 1 zebra\n", "has 1 words that the vocabulary lacks, such as 'zebra'"),
        (CLASSES + "X 1 <s>\n", "has '<s>', which marks where texts begin or end"),
        ("", "lacks 6 of the 10 words"),
    ],
)
def test_bad_files_of_classes(lines, message, tokenizer, tmp_path):
    path = tmp_path / "bad.classes"
    path.write_text(lines, encoding="utf-8")
    with pytest.raises(ValueError, match=message) as caught:
        NGramForCausalLM.fit(SMALL, tokenizer, 2, "add_alpha", classes=path, progress=False)
    assert str(path) in str(caught.value)


def test_files_that_do_not_belong_together(class_file, tokenizer, tmp_path):
    model = NGramForCausalLM.fit(SMALL, tokenizer, 2, "add_alpha", classes=class_file, progress=False)
    model.save_arpa(tmp_path / "lm.arpa", tokenizer, classes=tmp_path / "lm.classes")
    with pytest.raises(ValueError, match="has no class 'D', which"):
        NGramForCausalLM.from_arpa(tmp_path / "lm.arpa", classes=class_file)
    (tmp_path / "lm.classes").write_text("CLASS-00001 1 CLASS-00002\nCLASS-00003 1 x\n")
    with pytest.raises(ValueError, match="'CLASS-00002' is a word of .* and in a class"):
        NGramForCausalLM.from_arpa(tmp_path / "lm.arpa", classes=tmp_path / "lm.classes")
    with pytest.raises(ValueError, match="is of classes: give classes, a second path"):
        model.save_arpa(tmp_path / "lm.arpa", tokenizer)
    with pytest.raises(ValueError, match="the machine would read classes"):
        save_fst(model, tmp_path / "lm.fst.txt", tokenizer)
    words = NGramForCausalLM.fit(SMALL, tokenizer, 2, "add_alpha", progress=False)
    with pytest.raises(ValueError, match="is of words: leave classes out"):
        words.save_arpa(tmp_path / "lm.arpa", tokenizer, classes=tmp_path / "lm.classes")


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        *(
            (other, "classes is .*; give how many to find, or the path of a file of them")
            for other in (True, 2.0, ["a"])
        ),
        *((number, f"classes is {number}; the texts have 6 different words: give 1 to as many") for number in (0, 7)),
        (100_000, "100000 classes would take 320 GB to find; 8192 at most"),
    ],
)
def test_impossible_classes(classes, message, tokenizer):
    with pytest.raises(ValueError, match=message):
        NGramForCausalLM.fit(SMALL, tokenizer, 2, "add_alpha", classes=classes, progress=False)


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("class_of", lambda t: t + 1, "a word's class is outside the 7 classes"),
        ("log10_probs_in_class", lambda t: t - 1, "add up to 0.1"),
        ("log10_probs_in_class", lambda t: t * math.nan, "do not share a probability of 1"),
    ],
)
def test_damaged_classes_are_refused(name, damage, message, class_file, tokenizer, tmp_path):
    model = NGramForCausalLM.fit(SMALL, tokenizer, 2, "add_alpha", classes=class_file, progress=False)
    model.save_pretrained(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    tensors[f"trie.{name}"] = damage(tensors[f"trie.{name}"])
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ValueError, match=message):
        AutoModelForCausalLM.from_pretrained(tmp_path)


def test_classes_of_another_vocabulary_are_refused(tokenizer):
    classes = WordClasses(2, np.array([0, 1]), np.zeros(2, np.float32))
    config = NGramConfig(vocab_size=3, order=1, bos_token_id=0, eos_token_id=1)
    with pytest.raises(ValueError, match="classes of 2 words, but vocab_size is 3"):
        fit_ids(np.array([2]), np.array([1]), config, classes=classes)
    with pytest.raises(ValueError, match="not int64"):
        WordClasses(2, np.array([0.0, 1.0]), np.zeros(2, np.float32)).check()
