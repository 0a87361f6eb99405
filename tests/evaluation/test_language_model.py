# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The measures of language models, by hand arithmetic on models whose probabilities are powers of two."""

import json
import math
from types import SimpleNamespace

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from hf_lecture_models.evaluation.encoding import encode_texts
from hf_lecture_models.evaluation.language_model import evaluate_language_model
from hf_lecture_models.io.strict_json import strict_json
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.models.recurrent import RecurrentConfig, RecurrentForCausalLM
from hf_lecture_models.tokenization.bpe import BpeTokenizer
from hf_lecture_models.tokenization.byte import ByteTokenizer
from hf_lecture_models.tokenization.word import WordTokenizer


class BigramModel(nn.Module):
    """p(next | token) = 2 ** -bits[token][next]; what a table does not name has probability 0."""

    def __init__(self, tokenizer, bits):
        super().__init__()
        size = len(tokenizer)
        self.table = torch.full((size, size), -math.inf)
        for before, row in bits.items():
            for after, count in row.items():
                ids = tokenizer.convert_tokens_to_ids([before, after])
                self.table[ids[0], ids[1]] = -count * math.log(2)
        self.device = torch.device("cpu")
        self.config = SimpleNamespace(
            vocab_size=size,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )

    def forward(self, input_ids, attention_mask=None):
        return SimpleNamespace(logits=self.table[input_ids])


BITS = {
    "<s>": {"a": 1, "b": 2, "</s>": 3, "<unk>": 3},
    "a": {"b": 1, "</s>": 2, "<unk>": 2},
    "b": {"</s>": 1, "a": 1},
    "<unk>": {"b": 1, "</s>": 1},
    "</s>": {"</s>": 0},
    "<pad>": {"</s>": 0},
}
# Bits of each text: 1+1+1, 3, 1+2+1, 3+1+1. Only zz is unknown: two bytes, charged 8 * (2 + 1) bits.
TEXTS = ["a b", "", "a zz", "<unk> b"]


@pytest.fixture(scope="module")
def words():
    return WordTokenizer.from_words(["a", "b"])


def random_gpt2(tokenizer, positions=64, **ids):
    torch.manual_seed(0)
    ids = ids or {name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=positions,
        n_embd=16,
        n_layer=2,
        n_head=2,
        initializer_range=0.5,
        **ids,
    )
    return GPT2LMHeadModel(config).eval()


def random_lstm(tokenizer):
    torch.manual_seed(0)
    config = RecurrentConfig(
        vocab_size=len(tokenizer),
        hidden_size=12,
        num_hidden_layers=2,
        initializer_range=0.7,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return RecurrentForCausalLM(config).eval()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("batch_size", [1, 2, 64])
def test_every_key_by_hand(words, stream, batch_size):
    # A bigram model forgets all before <s>, so the stream must give the same figures.
    result = evaluate_language_model(BigramModel(words, BITS), words, TEXTS, stream=stream, batch_size=batch_size)
    assert {key: result[key] for key in ("tokens", "words", "bytes", "unknown", "texts")} == {
        "tokens": 3 + 1 + 3 + 3,
        "words": 3 + 1 + 3 + 3,
        "bytes": 4 + 1 + 5 + 8,
        "unknown": 1,
        "texts": 4,
    }
    bits = 3 + 3 + 4 + 5
    assert result["log_prob"] == pytest.approx(-bits * math.log(2))
    assert result["perplexity"] == pytest.approx(2 ** (bits / 10))
    assert result["word_perplexity"] == pytest.approx(2 ** (bits / 10))
    assert result["perplexity_without_unk"] == pytest.approx(2 ** ((bits - 2) / 9))
    assert result["word_perplexity_without_unk"] == pytest.approx(2 ** ((bits - 2) / 9))
    assert result["bits_per_byte"] == pytest.approx((bits + 8 * 3) / 18)
    assert result["bits_per_byte_excluding_oov"] == pytest.approx(bits / 18)
    assert (result["vocab_size"], result["unk_token"], result["stream"]) == (6, "<unk>", stream)
    assert result["window"] is None
    assert result["stride"] is None


@pytest.mark.parametrize("generic", [False, True])
@pytest.mark.parametrize("stream", [False, True])
def test_a_class_of_unknown_words_is_unknown(stream, generic):
    tokenizer = WordTokenizer.from_words(["a", "b"], unknown_words="classes")
    bits = {
        "<s>": {"a": 0},
        "a": {"<unk:number>": 2, "b": 2, "</s>": 1},
        "<unk:number>": {"<unk:capitalised>": 1, "a": 1},
        "<unk:capitalised>": {"<unk>": 1, "a": 1},
        "<unk>": {"</s>": 0},
        "</s>": {"</s>": 0},
        "<pad>": {"</s>": 0},
    }
    model = BigramModel(tokenizer, bits)
    texts = ["a 17  Né zz", "a <unk:number> a", "a"]
    if generic:
        options = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokenizer.backend_tokenizer, **options)
    result = evaluate_language_model(model, tokenizer, texts, stream=stream)
    # 17, Né and zz: 2 + 3 + 2 bytes and their ends. The class spelled in the text is an ordinary word.
    total, known, charged = (0 + 2 + 1 + 1 + 0) + (0 + 2 + 1 + 1) + (0 + 1), (0 + 0) + (0 + 2 + 1 + 1) + (0 + 1), 8 * 10
    assert (result["tokens"], result["words"], result["bytes"], result["unknown"]) == (11, 11, 13 + 17 + 2, 3)
    assert result["bits_per_byte"] == pytest.approx((total + charged) / 32)
    assert result["perplexity"] == pytest.approx(2 ** (total / 11))
    assert result["perplexity_without_unk"] == pytest.approx(2 ** (known / 8))
    assert result["word_perplexity_without_unk"] == pytest.approx(2 ** (known / 8))
    assert (result["unk_token"], result["unk_classes"]) == ("<unk>", 5)


def test_spelled_words_are_not_unknown():
    tokenizer = WordTokenizer.from_words(["ab", "b"], unknown_words="spelled")
    bits = {
        "<s>": {" ab": 1, " ": 1},
        " ab": {" ": 0},
        " ": {"b": 0},
        "b": {"a": 1, "<0xC3>": 1},
        "a": {" b": 0},
        "<0xC3>": {"<0xA9>": 0},
        "<0xA9>": {"</s>": 0},
        " b": {"</s>": 0},
        "</s>": {"</s>": 0},
        "<pad>": {"</s>": 0},
    }
    # ab, spelled ba, b, end: 1 + (0 + 0 + 1) + 0 + 0; spelled bé, end: (1 + 0 + 1 + 0) + 0.
    result = evaluate_language_model(BigramModel(tokenizer, bits), tokenizer, ["ab ba b", "bé"])
    assert (result["tokens"], result["words"], result["bytes"], result["unknown"]) == (6 + 5, 4 + 2, 8 + 4, 0)
    assert result["bits_per_byte"] == result["bits_per_byte_excluding_oov"] == pytest.approx((2 + 2) / 12)
    assert result["word_perplexity"] == result["word_perplexity_without_unk"] == pytest.approx(2 ** (4 / 6))
    assert (result["unk_token"], result["unk_classes"]) == (None, None)


def test_bytes_have_words_but_no_unknown_ones():
    tokenizer = ByteTokenizer()
    uniform = random_gpt2(tokenizer)
    nn.init.zeros_(uniform.lm_head.weight)
    result = evaluate_language_model(uniform, tokenizer, ["né en", "", "\u3000x\x1fy "])
    # Unicode's white space parts words; \x1f is none, although str.split() takes it for one.
    assert (result["tokens"], result["words"], result["bytes"], result["unknown"]) == (7 + 1 + 8, 3 + 1 + 2, 16, 0)
    nats = 16 * math.log(len(tokenizer))
    assert result["perplexity"] == pytest.approx(len(tokenizer), rel=1e-5)
    assert result["word_perplexity"] == pytest.approx(math.exp(nats / 6), rel=1e-5)
    assert result["bits_per_byte"] == pytest.approx(math.log2(len(tokenizer)), rel=1e-5)
    assert result["bits_per_byte"] == result["bits_per_byte_excluding_oov"]
    assert result["unk_token"] is None


def test_a_word_with_an_unknown_part_is_unknown_as_a_whole():
    pieces = {"<unk>": 0, "a": 1, "b": 2, "ab": 3, "<s>": 4, "</s>": 5}
    backend = Tokenizer(models.BPE(pieces, [("a", "b")], unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, unk_token="<unk>", bos_token="<s>", eos_token="</s>", pad_token="</s>"
    )
    bits = {
        "<s>": {"ab": 1, "<unk>": 1},
        "ab": {"<unk>": 2, "ab": 2, "</s>": 1},
        "<unk>": {"ab": 3, "</s>": 1, "a": 2, "b": 3},
        "</s>": {"</s>": 0},
    }
    # abz is spelled ab <unk>: 1 + 2 bits; then ab, 3 bits; then the end, 1.
    result = evaluate_language_model(BigramModel(tokenizer, bits), tokenizer, ["abz ab"])
    assert (result["tokens"], result["words"], result["unknown"]) == (4, 3, 1)
    assert result["perplexity"] == pytest.approx(2 ** (7 / 4))
    assert result["word_perplexity"] == pytest.approx(2 ** (7 / 3))
    assert result["perplexity_without_unk"] == pytest.approx(2 ** (4 / 2))
    assert result["word_perplexity_without_unk"] == pytest.approx(2 ** (4 / 2))
    assert result["bits_per_byte"] == pytest.approx((7 + 8 * 4) / 7)


@pytest.mark.parametrize("stream", [False, True])
def test_the_unknown_words_own_spelling_is_unknown_where_it_is_split(stream):
    # No letter of <unk> but the k and the n is known: the word is <unk> <unk> n k <unk>, a token a character.
    tokenizer = BpeTokenizer.train(["ink in"], merges=0, progress=False)
    ids = encode_texts(tokenizer, ["<unk>"])[0].ids.tolist()
    assert tokenizer.convert_ids_to_tokens(ids) == ["<unk>", "<unk>", "n", "k", "<unk>"]
    texts = ["ink", "<unk>", "", "in <unk> kin"]
    model = random_gpt2(tokenizer)
    nn.init.zeros_(model.lm_head.weight)  # every token has the same probability
    result = evaluate_language_model(model, tokenizer, texts, stream=stream)
    tokens, words, size = (3 + 5 + 0 + 10) + 4, (1 + 1 + 0 + 3) + 4, (3 + 5 + 0 + 12) + 4
    assert {key: result[key] for key in ("tokens", "words", "bytes", "unknown")} == {
        "tokens": tokens,
        "words": words,
        "bytes": size,
        "unknown": 2,
    }
    bits, charged = tokens * math.log2(len(tokenizer)), 2 * 8 * (5 + 1)
    assert result["bits_per_byte"] == pytest.approx((bits + charged) / size, rel=1e-5)
    assert result["bits_per_byte_excluding_oov"] == pytest.approx(bits / size, rel=1e-5)
    known = (tokens - 10) * math.log(len(tokenizer))
    assert result["word_perplexity_without_unk"] == pytest.approx(math.exp(known / (words - 2)), rel=1e-5)
    # 48 bits for each, and for nothing else.
    assert encode_texts(tokenizer, ["<unk>"])[0].oov_spelling_bits == 48
    assert encode_texts(WordTokenizer.from_words(["in"]), ["<unk>"])[0].oov_spelling_bits == 0


def test_a_closed_vocabulary_makes_a_text_with_a_new_word_impossible(words):
    closed = WordTokenizer.from_words(["a", "b"], unk_token=None)
    bits = {
        "<s>": {"a": 1, "b": 1},
        "a": {"b": 1, "</s>": 1},
        "b": {"</s>": 0},
        "</s>": {"</s>": 0},
        "<pad>": {"</s>": 0},
    }
    for stream in (False, True):
        result = evaluate_language_model(BigramModel(closed, bits), closed, ["a b", "a zz zz b", "b"], stream=stream)
        assert (result["tokens"], result["words"], result["bytes"], result["unknown"]) == (3 + 5 + 2, 10, 4 + 10 + 2, 2)
        assert result["perplexity"] == result["word_perplexity"] == result["bits_per_byte"] == math.inf
        assert result["log_prob"] == -math.inf
        # The impossible text has no position whose probability is known.
        for measure in ("perplexity_without_unk", "word_perplexity_without_unk"):
            assert result[measure] == pytest.approx(2 ** (3 / 5))
        assert json.loads(strict_json(result))["perplexity"] is None


def test_probability_zero_is_infinite_perplexity_and_no_error(words):
    bits = {**BITS, "b": {"a": 0}}
    result = evaluate_language_model(BigramModel(words, bits), words, ["b"])
    assert result["perplexity"] == result["perplexity_without_unk"] == result["bits_per_byte"] == math.inf


def test_past_the_longest_input_windows_with_half_a_window_of_context():
    tokenizer = ByteTokenizer()
    model, text = random_gpt2(tokenizer, positions=8), "abcdefghijklmnopqrs"
    result = evaluate_language_model(model, tokenizer, [text])
    assert (result["window"], result["stride"]) == (8, 4)
    row = [tokenizer.bos_token_id, *text.encode(), tokenizer.eos_token_id]
    expected = 0.0
    for position in range(1, len(row)):
        # Positions 1 to 7 see all before; from then on every four positions share a window that begins 4 before them.
        start = 0 if position < 8 else position // 4 * 4 - 4
        logits = model(torch.tensor([row[start:position]])).logits[0, -1]
        expected += logits.log_softmax(-1)[row[position]].item()
    assert result["log_prob"] == pytest.approx(expected, rel=1e-5)
    assert evaluate_language_model(model, tokenizer, ["abc"])["window"] is None


@pytest.mark.parametrize("limit", [2**24, 300])
def test_a_stream_carries_the_state_of_a_recurrent_model(monkeypatch, limit):
    # With the smaller limit on logits the stream is cut into segments of a few tokens.
    monkeypatch.setattr("hf_lecture_models.evaluation.scoring._MAX_LOGITS", limit)
    tokenizer = WordTokenizer.from_words(list("abcdefgh"))
    model, texts = random_lstm(tokenizer), ["a b c d e f", "", "g h a zz c", "b"] * 5
    ids = [i for text in texts for i in [*tokenizer(text)["input_ids"], tokenizer.eos_token_id]]
    log_probs = model(torch.tensor([ids])).logits[0].log_softmax(-1)
    expected = sum(
        log_probs[position - 1, ids[position]].item()
        for position in range(1, len(ids))
        if ids[position] != tokenizer.bos_token_id
    )
    streamed = evaluate_language_model(model, tokenizer, texts, stream=True)
    assert streamed["log_prob"] == pytest.approx(expected, rel=1e-5)
    alone = evaluate_language_model(model, tokenizer, texts)
    assert abs(alone["log_prob"] - expected) > 0.05
    assert alone["tokens"] == streamed["tokens"] == len(ids) - len(texts)


def test_long_texts_alone_are_cut_into_segments_too(monkeypatch):
    tokenizer = ByteTokenizer()
    model, texts = random_lstm(tokenizer), ["a long text for so small a bound", "short", ""]
    whole = evaluate_language_model(model, tokenizer, texts)
    monkeypatch.setattr("hf_lecture_models.evaluation.scoring._MAX_LOGITS", 2000)
    assert evaluate_language_model(model, tokenizer, texts)["log_prob"] == pytest.approx(whole["log_prob"], rel=1e-5)


@pytest.mark.parametrize("smoothing", ["add_alpha", "modified_kneser_ney"])
@pytest.mark.filterwarnings("ignore:.*discounts")
def test_stream_and_texts_agree_for_ngrams(monkeypatch, smoothing):
    texts = ["the cat saw the dog", "a dog saw a cat", "", "the dog"]
    tokenizer = WordTokenizer.train(texts, progress=False)
    model = NGramForCausalLM.fit(texts, tokenizer, order=3, smoothing=smoothing, progress=False)
    held_out = [*texts, "a bird saw the cat", "the the", ""]
    alone = evaluate_language_model(model, tokenizer, held_out)
    assert alone["perplexity"] == pytest.approx(
        evaluate_language_model(model, tokenizer, held_out, stream=True)["perplexity"], rel=1e-6
    )
    monkeypatch.setattr("hf_lecture_models.evaluation.scoring._MAX_LOGITS", 300)  # windows of a few tokens, exact
    streamed = evaluate_language_model(model, tokenizer, held_out, stream=True)
    assert streamed["perplexity"] == pytest.approx(alone["perplexity"], rel=1e-6)
    assert streamed["window"] is None


@pytest.mark.filterwarnings("ignore:.*discounts")
def test_figures_equal_kenlm(tmp_path):
    kenlm = pytest.importorskip("kenlm")
    texts = [f"{a} {b} {c}" for a in ("the", "a") for b in ("cat", "dog", "bird") for c in ("saw", "sang", "ran away")]
    tokenizer = WordTokenizer.train(texts, progress=False)
    model = NGramForCausalLM.fit(texts, tokenizer, order=3, progress=False)
    model.save_arpa(tmp_path / "model.arpa", tokenizer)
    peer = kenlm.Model(str(tmp_path / "model.arpa"))
    held_out = ["the cat ran", "", "a zebra saw the bird", "sang sang quickly", "quickly"]
    scores = [(10**log10, oov) for text in held_out for log10, _, oov in peer.full_scores(text)]
    result = evaluate_language_model(model, tokenizer, held_out)
    assert (result["tokens"], result["unknown"]) == (len(scores), sum(oov for _, oov in scores))
    for key, probs in (
        ("perplexity", [p for p, _ in scores]),
        ("perplexity_without_unk", [p for p, oov in scores if not oov]),
    ):
        assert result[key] == pytest.approx(math.prod(probs) ** (-1 / len(probs)), rel=1e-4)


def test_one_token_for_both_ends_is_predicted_as_the_end():
    tokenizer = ByteTokenizer()
    tokenizer.bos_token = "</s>"
    model = random_gpt2(tokenizer, bos_token_id=tokenizer.eos_token_id, eos_token_id=tokenizer.eos_token_id)
    logits = model(torch.tensor([[tokenizer.eos_token_id, ord("a")]])).logits[0].log_softmax(-1)
    expected = logits[0, ord("a")] + logits[1, tokenizer.eos_token_id]
    result = evaluate_language_model(model, tokenizer, ["a"])
    assert result["log_prob"] == pytest.approx(expected.item(), rel=1e-5)


def test_special_spellings_in_a_text_are_plain_text():
    tokenizer = ByteTokenizer()
    result = evaluate_language_model(random_gpt2(tokenizer), tokenizer, ["</s>"])
    assert result["tokens"] == 5


def test_the_model_keeps_its_training_mode(words):
    model = BigramModel(words, BITS)
    model.train()
    evaluate_language_model(model, words, TEXTS)
    assert model.training


@pytest.mark.parametrize(
    ("texts", "error", "message"),
    [
        ("a b", TypeError, "list|iterable"),
        (["a", 1], TypeError, "text 1"),
        ([], ValueError, "no texts"),
        (["a \ud800"], ValueError, "surrogate"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_wrong_texts(words, texts, error, message, stream):
    with pytest.raises(error, match=message):
        evaluate_language_model(BigramModel(words, BITS), words, texts, stream=stream)


def test_another_models_tokenizer_no_batch_and_nan_are_refused(words):
    other = WordTokenizer.from_words(["a", "b", "c"])
    with pytest.raises(ValueError, match="tokenizer has 7 tokens"):
        evaluate_language_model(BigramModel(words, BITS), other, TEXTS)
    lstm = random_lstm(words)
    with pytest.raises(ValueError, match="tokenizer"):
        evaluate_language_model(lstm, WordTokenizer.from_words(["a"]), TEXTS)
    model = BigramModel(words, BITS)
    with pytest.raises(ValueError, match="batch_size is 0"):
        evaluate_language_model(model, words, TEXTS, batch_size=0)
    model.table[:] = math.nan
    with pytest.raises(ValueError, match="NaN"):
        evaluate_language_model(model, words, TEXTS)


def test_a_recurrent_models_logits_stay_bounded(monkeypatch):
    tokenizer = WordTokenizer.train(["a b c d"], progress=False)
    ids = {name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    model = RecurrentForCausalLM(RecurrentConfig(vocab_size=len(tokenizer), hidden_size=4, num_hidden_layers=1, **ids))
    model.eval()
    whole = evaluate_language_model(model, tokenizer, ["a b c d"] * 20, stream=True)
    monkeypatch.setattr("hf_lecture_models.evaluation.scoring._MAX_LOGITS", 5 * len(tokenizer))
    largest = []
    model.lm_head.register_forward_hook(lambda module, args, logits: largest.append(logits.numel()))
    pieces = evaluate_language_model(model, tokenizer, ["a b c d"] * 20, stream=True)
    assert 0 < max(largest) <= 5 * len(tokenizer)
    assert pieces["perplexity"] == pytest.approx(whole["perplexity"], rel=1e-6)
