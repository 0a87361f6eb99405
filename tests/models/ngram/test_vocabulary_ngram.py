# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Pruned 1-grams: the words that leave, every smoothing beside an independent one, and the tokenizer that is left."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from hf_lecture_models import BpeTokenizer, NGramForCausalLM, WordTokenizer, evaluate_language_model
from hf_lecture_models.models.ngram.checks_ngram import SMOOTHINGS
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.fitting_ngram import fit_ids
from hf_lecture_models.models.ngram.out_of_core import estimation, survey
from hf_lecture_models.models.ngram.out_of_core.estimation import MemoryLimit
from hf_lecture_models.models.ngram.out_of_core.stored_smoothing import STORED_SMOOTHINGS
from tests.models.ngram.reference_ngram import ReferenceNGram

pytestmark = pytest.mark.filterwarnings("ignore:.*too few, or artificial text")


def some_texts(seed, texts=120, words=25):
    """Texts of words w0 (frequent) to w24, of which some occur once or never."""
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, words + 1) ** 2
    return [
        " ".join(f"w{number}" for number in rng.choice(words, rng.integers(0, 8), p=weights / weights.sum()))
        for _ in range(texts)
    ]


TEXTS = some_texts(0)
TOKENIZER = WordTokenizer.train(TEXTS, progress=False)


def fit(prune, smoothing="modified_kneser_ney", order=3, texts=TEXTS, tokenizer=TOKENIZER, **options):
    held_out = TEXTS[:20] if smoothing == "jelinek_mercer" else None
    return NGramForCausalLM.fit(
        texts, tokenizer, order, smoothing, held_out=held_out, prune=prune, progress=False, **options
    )


def distribution(model, context):
    mask = torch.tensor([[0] + [1] * len(context)])
    return model(torch.tensor([[0, *context]]), attention_mask=mask, logits_to_keep=1).logits[0, -1].double().exp()


@pytest.mark.parametrize("prune", [[1, 1, 1], [2, 2, 3]])
@pytest.mark.parametrize("smoothing", [name for name in SMOOTHINGS if name not in ("stupid_backoff", "pitman_yor")])
def test_equals_the_reference_and_sums_to_one(smoothing, prune):
    """In the numbers of the old vocabulary, of which some have left."""
    model = fit(prune, smoothing)
    own = model.own_tokenizer
    old = np.array(TOKENIZER.convert_tokens_to_ids(own.convert_ids_to_tokens(list(range(len(own))))))
    counts = np.bincount([number for text in TEXTS for number in TOKENIZER(text).input_ids], minlength=len(TOKENIZER))
    stay = {number for number in range(len(TOKENIZER)) if counts[number] > prune[0]} | {*TOKENIZER.all_special_ids}
    assert stay == {*old.tolist()}
    assert len(stay) < len(TOKENIZER)
    events = stay - {TOKENIZER.bos_token_id, TOKENIZER.pad_token_id}
    reference = ReferenceNGram(
        [TOKENIZER.encode(text, add_special_tokens=False) for text in TEXTS], 3, smoothing, events,
        TOKENIZER.bos_token_id, TOKENIZER.eos_token_id, weights=model.config.interpolation_weights, prune=prune,
    )  # fmt: skip
    contexts = [(), *(context for context in reference.followers if context and stay.issuperset(context))]
    assert {len(context) for context in contexts} == {0, 1, 2}
    for context in contexts:
        probs = distribution(model, np.searchsorted(old, context).tolist())
        expected = torch.tensor([reference.prob(number, context) for number in old.tolist()], dtype=torch.double)
        torch.testing.assert_close(probs, expected, atol=2e-6, rtol=1e-5)
        assert probs.sum().item() == pytest.approx(1, abs=1e-5)


def test_sampled_discounts_sum_to_one():
    model = fit([1, 1, 1], "pitman_yor")
    unpruned = fit(None, "pitman_yor")
    assert (model.config.discounts, model.config.strengths) == (unpruned.config.discounts, unpruned.config.strengths)
    for context in ([], [2], [2, 3], [model.config.bos_token_id]):
        assert distribution(model, context).sum().item() == pytest.approx(1, abs=1e-5)


def test_the_unknown_word_does_not_get_what_pruned_words_had():
    """By hand: a and b stay, c and d leave; |V| is 4 with </s> and <unk>, N = 7."""
    texts = ["a a b", "b c d"]
    tokenizer = WordTokenizer.train(texts, progress=False)
    model = fit([1], "absolute_discounting", 1, texts, tokenizer)
    own = model.own_tokenizer
    assert own.convert_ids_to_tokens(list(range(len(own)))) == ["<unk>", "a", "b", "<s>", "</s>", "<pad>"]
    (discount,) = model.config.discounts[0]
    assert discount == pytest.approx(2 / (2 + 2 * 3))  # a, b and </s> occur twice, c and d once
    gamma = (3 * discount + 2) / 8
    expected = {"a": (2 - discount) / 8 + gamma / 4, "</s>": (2 - discount) / 8 + gamma / 4, "<unk>": gamma / 4}
    probs = distribution(model, [])
    for word, p in expected.items():
        assert probs[own.convert_tokens_to_ids(word)].item() == pytest.approx(p, rel=1e-6)


def test_where_a_smoothing_backs_off_the_unknown_word_stands_for_the_pruned_ones():
    texts = ["a a b", "b c d"]
    model = fit([1], "witten_bell_backoff", 1, texts, WordTokenizer.train(texts, progress=False))
    assert distribution(model, [])[0].item() == pytest.approx((5 + 2) / (8 + 5))  # T = 5, and c and d


def test_stupid_back_off_ranks_by_the_words_that_stay():
    model = fit([1, 1], "stupid_backoff", 2)
    own = model.own_tokenizer
    scores = model.score(own(["w0 w1", "w0 w24"], padding=True, return_tensors="pt").input_ids)
    assert own.tokenize("w24") == ["<unk>"]
    assert scores[0, 2] > scores[1, 2] == -torch.inf


@pytest.mark.parametrize("engine", ["numpy", "duckdb"])
@pytest.mark.parametrize("smoothing", STORED_SMOOTHINGS)
def test_out_of_core_the_model_and_the_tokenizer_are_the_same(monkeypatch, tmp_path, smoothing, engine):
    monkeypatch.setattr(estimation._Job, "rows", property(lambda job: 40))
    for module in (estimation, survey):
        monkeypatch.setattr(module, "resident_bytes", lambda: 4 * 10**8)
    expected = fit([1, 1, 2], smoothing)
    limit = MemoryLimit(engine=engine, folder=tmp_path / "work")
    for _ in range(2):  # the second is read from the tables that are left in the folder
        model = fit([1, 1, 2], smoothing, memory=limit)
        assert model.config.to_dict() == expected.config.to_dict()
        assert model.own_tokenizer.get_vocab() == expected.own_tokenizer.get_vocab()
        for name, table in expected.named_buffers():
            assert torch.equal(model.get_buffer(name), table)


def test_the_old_tokenizer_is_refused(tmp_path):
    model = fit([1, 1, 1])
    with pytest.raises(
        ValueError, match="tokens but the model's vocab_size is .* tokenizer that was saved with the model"
    ):
        evaluate_language_model(model, TOKENIZER, TEXTS)
    with pytest.raises(ValueError, match="tokens but the model's vocab_size is"):
        model.save_arpa(tmp_path / "lm.arpa", TOKENIZER)
    model.own_tokenizer = TOKENIZER
    with pytest.raises(ValueError, match="tokens but the model's vocab_size is|the models have different vocabularies"):
        NGramForCausalLM.interpolate([model, fit(None)], TOKENIZER, TEXTS, progress=False)
    model = fit([1, 1, 1])
    assert evaluate_language_model(model, model.own_tokenizer, TEXTS)["unknown"] > 0


def test_saved_and_loaded(tmp_path):
    model = fit([1, 1, 1])
    model.save_pretrained(tmp_path)
    model.own_tokenizer.save_pretrained(tmp_path)
    loaded, tokenizer = AutoModelForCausalLM.from_pretrained(tmp_path), AutoTokenizer.from_pretrained(tmp_path)
    assert (loaded.config.prune, loaded.config.vocab_size) == ([1, 1, 1], len(tokenizer))
    ids = tokenizer("w0 w1 w24", return_tensors="pt").input_ids
    assert torch.equal(loaded.score(ids), model.score(ids))
    loaded.save_arpa(tmp_path / "lm.arpa", tokenizer)
    assert NGramForCausalLM.from_arpa(tmp_path / "lm.arpa")[0].config.table_sizes == model.config.table_sizes


@pytest.mark.parametrize("prune", [None, [0, 0, 1], [1, 1, 1]])
def test_where_all_words_stay_the_tokenizer_is_the_one_given(prune):
    texts = ["a b", "b a", "a b"]
    tokenizer = WordTokenizer.train(texts, progress=False)
    assert fit(prune, texts=texts, tokenizer=tokenizer).own_tokenizer is tokenizer


def test_where_no_word_stays():
    model = fit([10**6], order=2)
    assert model.own_tokenizer.get_vocab().keys() == {"<unk>", "<s>", "</s>", "<pad>"}
    assert distribution(model, []).sum().item() == pytest.approx(1, abs=1e-6)


def test_the_options_of_the_tokenizer_stay():
    texts = ["A dog, a cat.", "A cow, the dog."]
    tokenizer = WordTokenizer.train(texts, lower_case=True, split_punctuation=True, unk_token="[?]", progress=False)
    own = fit([1], order=2, texts=texts, tokenizer=tokenizer).own_tokenizer
    assert own.tokenize("The DOG, a cow.") == ["[?]", "dog", ",", "a", "[?]", "."]
    assert own("a dog").input_ids[0] == own.bos_token_id


def with_one_mark():
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    tokenizer.bos_token = tokenizer.eos_token
    return tokenizer


REFUSED = {
    "pieces": (lambda: BpeTokenizer.train(TEXTS, 30, progress=False), "a BpeTokenizer needs all of its tokens"),
    "spelled": (lambda: WordTokenizer.train(TEXTS, unknown_words="spelled", progress=False), "no <unk> alone"),
    "classes": (lambda: WordTokenizer.train(TEXTS, unknown_words="classes", progress=False), "no <unk> alone"),
    "no <unk>": (lambda: WordTokenizer.train(TEXTS, unk_token=None, progress=False), "no <unk> alone"),
    "one mark": (with_one_mark, "the template's '<s>' is neither a special token"),
    "mask": (lambda: WordTokenizer.train(TEXTS, mask_token="[M]", progress=False), "further special tokens"),
}


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("memory", [None, "8GB"])
def test_tokenizers_that_need_all_of_their_words(make, message, memory):
    tokenizer = make()
    with pytest.raises(ValueError, match=rf"prune=\[1, 1\] begins with 1.*{message}.*begin with 0, or train a word"):
        fit([1, 1], tokenizer=tokenizer, memory=memory, texts=iter(lambda: pytest.fail("texts were read"), None))
    assert fit([0, 1], tokenizer=tokenizer, order=2).own_tokenizer is tokenizer


def test_classes_are_refused():
    message = "removes words from the vocabulary, and the n-grams of classes have none; begin with 0, or leave the cl"
    with pytest.raises(ValueError, match=message):
        fit([1, 1], classes=3)
    config = NGramConfig(vocab_size=6, order=1, prune=[1], bos_token_id=0, eos_token_id=1)
    with pytest.raises(ValueError, match=message):
        fit_ids(np.array([2, 3]), np.array([2]), config, classes=1)


def test_ids_alone_give_a_model_of_the_new_numbers():
    config = NGramConfig(vocab_size=7, order=2, prune=[1, 1], bos_token_id=4, eos_token_id=5, unk_token_id=0)
    model = fit_ids(np.array([1, 2, 2, 3, 6, 6]), np.array([3, 3]), config)
    assert (config.vocab_size, config.bos_token_id, config.eos_token_id, config.unk_token_id) == (5, 2, 3, 0)
    assert model.config is config
    assert model.tables().keys[0].tolist() == []  # each 2-gram occurs once
