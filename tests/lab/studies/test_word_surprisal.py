# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Surprisal by word: which tokens count for which word, for tokenizers of every kind, and sums that stay exact."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import CTRLTokenizer, GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from hf_lecture_models.evaluation.encoding import token_ends
from hf_lecture_models.evaluation.scoring import score_stream, score_texts
from hf_lecture_models.evaluation.surprisal import ScoredText, TokenSpan, score_spans
from hf_lecture_models.lab.studies.word_surprisal import word_surprisals
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.tokenization.bpe import BpeTokenizer
from hf_lecture_models.tokenization.byte import ByteTokenizer
from hf_lecture_models.tokenization.char import CharTokenizer
from hf_lecture_models.tokenization.splitting import WORD, split_words
from hf_lecture_models.tokenization.unigram import UnigramTokenizer
from hf_lecture_models.tokenization.word import WordTokenizer

TEXTS = ["the cat saw the dog", "the dog ran", "a cat, a dog"]
ODD = ["  the cat,  a\u00a0dog  ", "", " \t", "dansé \U0001f600 zebra", "\x1c the\x00 cat"]


def gpt2_tokenizer(trim_offsets):
    """Bytes with the blank in front, as GPT-2 has them; " t" is the only merge."""
    vocab = {token: number for number, token in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    vocab |= {"Ġt": 256, "<|endoftext|>": 257}
    tokenizer = Tokenizer(models.BPE(vocab, [("Ġ", "t")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=trim_offsets)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|endoftext|>")


def gpt2(size, positions=32):
    torch.manual_seed(0)
    sizes = {"n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": positions}
    return GPT2LMHeadModel(GPT2Config(vocab_size=size, **sizes)).eval()


def trained(kind):
    options = {} if kind in (WordTokenizer, CharTokenizer, ByteTokenizer) else {"vocab_size": 40}
    tokenizer = ByteTokenizer() if kind is ByteTokenizer else kind.train(TEXTS, progress=False, **options)
    return NGramForCausalLM.fit(TEXTS, tokenizer, order=2, smoothing="add_alpha", progress=False), tokenizer


@pytest.mark.parametrize("kind", [WordTokenizer, BpeTokenizer, CharTokenizer, ByteTokenizer, UnigramTokenizer])
def test_words_and_end_add_up_to_the_text(kind):
    model, tokenizer = trained(kind)
    for score, scored in zip(score_texts(model, tokenizer, ODD), score_spans(model, tokenizer, ODD), strict=True):
        text, words = score.encoded.text, word_surprisals(scored)
        assert [word.word for word in words] == [*split_words(text), ""]
        assert [text[word.start : word.end] for word in words] == [word.word for word in words]
        assert math.fsum(word.bits for word in words if word.tokens) == pytest.approx(scored.bits, rel=1e-12)
        assert scored.bits == -score.log_prob / math.log(2)
        assert sum(word.tokens for word in words) == len(score.ids)
        unknown = [word.word for word in words if word.unknown]
        assert set(score.encoded.unknown_words) <= set(unknown), "and more where an unknown blank counts for a word"
        assert ("zebra" in unknown) == ("zebra" in score.encoded.unknown_words)


@pytest.mark.parametrize("kind", [WordTokenizer, BpeTokenizer, CharTokenizer, ByteTokenizer, UnigramTokenizer, None])
def test_spans_are_those_of_the_tokenizers_offsets(kind):
    """By the definition: tokens that end at one place are a span, and it ends in its last visible character."""
    if kind is None:
        tokenizer = gpt2_tokenizer(trim_offsets=False)
        model = gpt2(len(tokenizer))
    else:
        model, tokenizer = trained(kind)
    for score, scored in zip(score_texts(model, tokenizer, ODD), score_spans(model, tokenizer, ODD), strict=True):
        text, bits = score.encoded.text, (-score.log_probs / math.log(2)).tolist()
        options = {"add_special_tokens": False, "split_special_tokens": True, "return_offsets_mapping": True}
        ends = [end for _, end in tokenizer(text, **options)["offset_mapping"]]
        assert token_ends(tokenizer, text) == ends
        expected = []
        for start, end in pairwise([0, *dict.fromkeys(ends)]):
            places = [place for place, other in enumerate(ends) if other == end]
            visible = [start + word.end() for word in WORD.finditer(text[start:end])]
            unknown = any(place in score.encoded.unknown_tokens for place in places)
            total = math.fsum(bits[place] for place in places)
            expected.append(TokenSpan(text[start:end], total, visible[-1] if visible else None, unknown, len(places)))
        assert scored.spans[:-1] == expected
        assert scored.spans[-1] == TokenSpan(text[ends[-1] if ends else 0 :], bits[-1])


@pytest.mark.parametrize("trim_offsets", [True, False])
def test_the_blank_in_front_belongs_to_the_word(trim_offsets):
    """By hand, from the logits of a stock GPT-2: a blank alone counts for the word after it, at the end for the end."""
    tokenizer = gpt2_tokenizer(trim_offsets)
    model = gpt2(len(tokenizer))
    text = "at  to é "
    spelled = ["a", "t", "Ġ", "Ġt", "o", "Ġ", "Ã", "©", "Ġ"]
    ids = [257, *tokenizer.convert_tokens_to_ids(spelled), 257]
    with torch.no_grad():
        log_probs = model(torch.tensor([ids])).logits[0].log_softmax(-1)
    bits = [-log_probs[place, id_].item() / math.log(2) for place, id_ in enumerate(ids[1:])]
    (scored,) = score_spans(model, tokenizer, [text])
    words = word_surprisals(scored)
    assert [(word.word, word.tokens) for word in words] == [("at", 2), ("to", 3), ("é", 3), ("", 2)]
    expected = [sum(bits[:2]), sum(bits[2:5]), sum(bits[5:8]), sum(bits[8:])]
    np.testing.assert_allclose([word.bits for word in words], expected, rtol=1e-5)


def test_a_token_of_two_words_counts_for_the_last():
    spans = [TokenSpan("so b", 3.0, 4), TokenSpan("e it", 2.0, 8), TokenSpan("", 0.5)]
    words = word_surprisals(ScoredText("so be it", spans, {}))
    assert [(word.word, word.tokens) for word in words] == [("so", 0), ("be", 1), ("it", 1), ("", 1)]
    assert math.isnan(words[0].bits)
    assert [word.bits for word in words[1:]] == [3.0, 2.0, 0.5]


def test_probability_zero_is_infinite():
    tokenizer = WordTokenizer.from_words(["the", "cat"], unk_token=None)
    model = NGramForCausalLM.fit(["the cat"], tokenizer, order=2, smoothing="maximum_likelihood", progress=False)
    certain, unseen, closed = map(word_surprisals, score_spans(model, tokenizer, ["the cat", "cat", "the zebra"]))
    assert [str(word.bits) for word in certain] == ["0.0", "0.0", "0.0"], "not -0.0"
    assert unseen[0].bits == math.inf
    assert [(word.word, str(word.bits), word.unknown) for word in closed] == [
        ("the", "nan", False),
        ("zebra", "inf", True),
        ("", "nan", False),
    ]


def test_windows_and_streams_are_those_of_score():
    tokenizer = gpt2_tokenizer(True)
    model = gpt2(len(tokenizer), positions=8)
    texts = ["that tea is too hot", "to me"]
    for stream, score in ((False, score_texts), (True, score_stream)):
        for one, scored in zip(
            score(model, tokenizer, texts), score_spans(model, tokenizer, texts, stream), strict=True
        ):
            bits = [word.bits for word in word_surprisals(scored)]
            assert math.fsum(bits) == pytest.approx(-one.log_prob / math.log(2), rel=1e-12)
    alone, streamed = (score_spans(model, tokenizer, texts, stream)[1].bits for stream in (False, True))
    assert alone != pytest.approx(streamed, abs=1e-9), "the stream has a context"


def test_a_tokenizer_without_offsets_is_named(tmp_path):
    (tmp_path / "vocab.json").write_text('{"the</w>": 0, "<unk>": 1}')
    (tmp_path / "merges.txt").write_text("#version: 0.2\n")
    tokenizer = CTRLTokenizer(str(tmp_path / "vocab.json"), str(tmp_path / "merges.txt"), eos_token="<unk>")
    with pytest.raises(ValueError, match="CTRLTokenizer does not say where its tokens stand"):
        score_spans(gpt2(2), tokenizer, ["the"])
