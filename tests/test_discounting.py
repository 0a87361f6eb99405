# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The interpolation that `benchmarks.discounting` compares discounts with, and its parts of a corpus."""

import numpy as np
import pytest
import torch

from benchmarks.count_weights import CountWeights, estimates, interpolated
from benchmarks.discounting import Trial, articles, part_of
from hf_lecture_models import NGramForCausalLM, WordTokenizer
from hf_lecture_models.models.ngram.checks_ngram import num_events
from hf_lecture_models.models.ngram.counting_ngram import count_ngrams, make_stream
from hf_lecture_models.models.ngram.estimation_ngram import config_for
from hf_lecture_models.tokenization.corpus import encode_corpus

COUNTED = ["the cat sat on the mat", "the cat ran", "a dog sat on the cat", "the dog ran on", "the cat sat"] * 2
HELD_OUT = ["the dog sat on the mat", "a cat ran on the dog", "the mat"]
TOKENIZER = WordTokenizer.train(COUNTED, progress=False)


def stream_of(texts, config):
    corpus = encode_corpus(TOKENIZER, texts, progress=False)
    return make_stream(corpus.ids, corpus.lengths, config)


def measured(texts, order, kneser):
    config = config_for(TOKENIZER, order=order)
    counts = count_ngrams(stream_of(COUNTED, config), config)
    return np.array(list(estimates(counts, stream_of(texts, config), config.vocab_size, kneser))), num_events(config)


def test_one_weight_for_each_order_is_jelinek_mercer():
    model = NGramForCausalLM.fit(COUNTED, TOKENIZER, 3, "jelinek_mercer", held_out=HELD_OUT, progress=False)
    held_out, events = measured(HELD_OUT, 3, kneser=False)
    weights = CountWeights(held_out, events, least=10**9)
    assert [len(one) for one in weights.weights] == [1, 1, 1]
    found = np.log(interpolated(held_out[:, 0], weights.of(held_out[:, 1]), events)[-1])
    stream = stream_of(HELD_OUT, model.config)
    wanted = model.score_rows(torch.from_numpy(stream.words), torch.from_numpy(stream.places == 0))
    np.testing.assert_allclose(found, wanted[stream.places > 0], atol=2e-3)


@pytest.mark.parametrize("kneser", [False, True])
def test_the_words_after_a_context_have_probabilities_that_sum_to_one(kneser):
    held_out, events = measured(HELD_OUT, 3, kneser)
    weights = CountWeights(held_out, events, least=2)
    assert len(weights.weights[2]) > 1
    words = [TOKENIZER.convert_ids_to_tokens(i) for i in range(len(TOKENIZER)) if i not in TOKENIZER.all_special_ids]
    texts = [*(f"the cat {word}" for word in [*words, "unknown"]), "the cat"]
    found, _ = measured(texts, 3, kneser)
    probs = interpolated(found[:, 0], weights.of(found[:, 1]), events)[-1]
    # The third event of a text is the word after "the cat", or the end.
    third = np.cumsum([0, *(len(text.split()) + 1 for text in texts[:-1])]) + 2
    assert probs[third].sum() == pytest.approx(1)
    assert probs[third].min() > 0


def test_more_weights_make_the_held_out_text_more_probable():
    held_out, events = measured(HELD_OUT, 3, kneser=True)
    reached = []
    for least in (10**9, 2):
        weights = CountWeights(held_out, events, least)
        reached.append(np.log(interpolated(held_out[:, 0], weights.of(held_out[:, 1]), events)[-1]).mean())
    assert reached[1] > reached[0] + 0.01


def test_parts_are_whole_articles_and_nested():
    lines = [line for title in range(40) for line in (f" = {title} = ", "", " word" * (title + 1), " = = Life = = ")]
    texts = articles(lines)
    assert len(texts.texts) == 120
    corpus = encode_corpus(WordTokenizer.train(texts.texts, progress=False), texts.texts, progress=False)
    encoded = (corpus.ids, corpus.lengths)
    small, large, whole = (part_of(encoded, texts.clusters, share, 0) for share in (0.25, 0.5, 1.0))
    assert len(whole[0]) == len(corpus.ids)
    assert 0.25 * len(corpus.ids) <= len(small[0]) < len(large[0]) < 0.7 * len(corpus.ids)
    assert len(small[1]) % 3 == len(large[1]) % 3 == 0
    assert len(part_of(encoded, texts.clusters, 0.25, 1)[1]) != 0


@pytest.mark.filterwarnings("ignore:.*too few, or artificial text:UserWarning")
def test_all_arms_predict_the_same_events_and_long_articles_count_more():
    test = articles(["the mat", " = Cats = ", *HELD_OUT])
    trial = Trial({"train": articles(COUNTED), "validation": articles(HELD_OUT), "test": test}, 1)
    arms = trial.arms(trial.encoded["train"], 2)
    events = [len(text.split()) + 1 for text in test.texts]
    assert {len(arm["test"]) for arm in arms.values()} == {sum(events)}
    difference = np.repeat([0.04, 0, 0, 0, 0], events)
    effect = trial.effect("test", [difference])
    assert effect.mean == pytest.approx(100 * difference.mean())
    assert effect.clusters == 2
