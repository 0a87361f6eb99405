# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Methods that measure attention and the parts of a Transformer: what they leave out, read and compare."""

from itertools import chain
from types import SimpleNamespace

import pytest
import torch

pytest.importorskip("accelerate")

from collections import Counter

from hf_lecture_models import (
    LectureBertConfig,
    LectureBertModel,
    SelfAttentionConfig,
    SelfAttentionForCausalLM,
    WordTokenizer,
)
from hf_lecture_models.lab.claims.methods import METHODS, filling, pronouns, stability, training
from hf_lecture_models.lab.claims.methods.ablation import PARTS, leave_out
from hf_lecture_models.lab.claims.values import Values

TEXTS = {"train_texts": ["a b a b a b a b", "b a b a"], "validation_texts": ["a b a b"]}
PART = "validation"  # there are no other texts
RUN = {"task": "causal_lm", "recipe": "self_attention_tiny", "measure": "perplexity", "epochs": 1, **TEXTS}


def small_model(vocab_size=9):
    torch.manual_seed(0)
    config = SelfAttentionConfig(
        vocab_size=vocab_size,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        initializer_range=0.5,
        dropout=0.0,
    )
    return SelfAttentionForCausalLM(config).eval()


@pytest.mark.parametrize("part", [part for part in PARTS if part != "features"])
def test_what_is_left_out_is_not_computed(part):
    model, ids = small_model(), torch.tensor([[3, 1, 4, 1, 5]])
    block = model.model.layers[0]
    seen = []
    block.register_forward_hook(lambda module, inputs, output: seen.extend([inputs[0], inputs[1], output]))
    with torch.no_grad():
        leave_out(model, part)
        model(ids)
        hidden, attention, found = seen
        norms = [torch.nn.Identity()] * 2 if part == "norms" else [block.attention_norm, block.ffn_norm]
        attended, _ = block.self_attn(norms[0](hidden), attention)
        n = attended if part == "residuals" else hidden + attended
        expected = block.ffn(norms[1](n)) + (0 if part == "residuals" else n)
        torch.testing.assert_close(found, expected)
        q, k, v = block.self_attn.split_heads(block.self_attn.qkv_proj(norms[0](hidden)), 3)
        scores = q @ k.mT / (1 if part == "scale" else 2)  # two heads of 4 numbers
        weights = scores.masked_fill(torch.ones(5, 5).triu(1).bool(), -torch.inf).softmax(-1)
        torch.testing.assert_close(attended, block.self_attn.o_proj((weights @ v).transpose(1, 2).reshape(1, 5, 8)))


def test_a_model_without_the_part_is_refused():
    with pytest.raises(ValueError, match="the parts are norms, residuals, scale"):
        leave_out(small_model(), "dropout")
    bert = LectureBertModel(
        LectureBertConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8)
    )
    with pytest.raises(ValueError, match="has no PreNormBlock"):
        leave_out(bert, "residuals")


def test_the_part_is_missing_in_training_and_in_the_test(monkeypatch, tmp_path):
    seen = []
    monkeypatch.setattr(training, "leave_out", lambda model, part: seen.append(model) or leave_out(model, part))
    whole, without = (
        METHODS["train_and_measure"](RUN | arm, 0, tmp_path, PART).mean for arm in ({}, {"without": "norms"})
    )
    assert whole != without
    trained, loaded = seen
    assert trained is not loaded
    assert not list(tmp_path.iterdir())


def test_an_arm_leaves_the_settings_of_the_others_as_they_are(tmp_path):
    model = {"model_type": "lecture_self_attention", "hidden_act": "gelu"}
    settings = {"task": "causal_lm", "recipe": "self_attention_tiny", "model": model, "model.hidden_act": "silu"}
    _, recipe = training.task_and_recipe(settings, 0, tmp_path)
    assert recipe.model["hidden_act"] == "silu"
    assert settings["model"]["hidden_act"] == "gelu"


def test_a_run_that_diverges_has_the_stated_value(monkeypatch, tmp_path):
    train = training.train_model

    def diverge(settings, *others):
        if not settings.get("untrained"):
            raise FloatingPointError("the loss is nan")
        return train(settings, *others)

    monkeypatch.setattr(training, "train_model", diverge)
    with pytest.raises(FloatingPointError):
        METHODS["train_and_measure"](RUN, 0, tmp_path, PART)
    assert METHODS["train_and_measure"](RUN | {"floor": -700}, 0, tmp_path, PART) == Values([-700], [5], [0])


def test_the_loss_at_other_settings_is_the_mean_beside_the_best(monkeypatch, tmp_path):
    found = {(0.1, 0): [-30.0, -30], (0.1, 9): [-20, -20], (0.2, 0): [-96, -112], (0.2, 9): [-50, -50]}
    asked = lambda settings, *_: Values(found[settings["learning_rate"], settings["warmup_steps"]], [3, 1])  # noqa: E731
    monkeypatch.setattr(stability, "train_and_measure", asked)
    settings = {"tried": {"learning_rate": [0.1, 0.2], "warmup_steps": [0, 9]}, "learned": -21, "task": "causal_lm"}
    assert METHODS["loss_at_other_settings"](settings, 0, tmp_path, "test") == Values([-29, -33], [3, 1])
    with pytest.raises(ValueError, match="the best of 4 runs reaches -20, not more than -20"):
        METHODS["loss_at_other_settings"](settings | {"learned": -20}, 0, tmp_path, "test")


def test_sentences_hold_the_name_that_the_pronoun_stands_for():
    assert pronouns.pronoun_sentences(2, "test")[0][2].text == "Mary missed Jack, because he was clever."
    for people in (1, 2):
        parts = [list(chain(*pronouns.pronoun_sentences(people, part))) for part in ("validation", "test")]
        assert not {one.text for one in parts[0]} & {one.text for one in parts[1]}
        for one in chain(*parts):
            assert (one.pronoun == "he") == (one.name in pronouns._MEN)
            assert one.name in one.text
            assert one.other in one.text
    first = sum(one.text.startswith(one.name) for one in parts[1])
    assert first == len(parts[1]) / 2


def test_a_pronouns_weights_are_those_of_its_row():
    sentence = pronouns.pronoun_sentences(2, "test")[0][1]  # "Jack missed Mary, because she was clever."
    tokens = ["<s>", "jack", "missed", "mary", "she", "clever"]
    rows = torch.tensor([[0.6, 0.05, 0.1, 0.2, 0.03, 0.02], [0.0, 0.4, 0.1, 0.1, 0.3, 0.1]])
    reading = pronouns._Reading(sentence, tokens, (True, False, False, False, False, False), rows)
    assert reading.weights_of("name").tolist() == pytest.approx([0.2, 0.1])
    assert reading.weights_of("other name").tolist() == pytest.approx([0.05, 0.4])
    assert reading.weights_of("other word").tolist() == pytest.approx([0.1, 0.4])
    assert reading.mean_of_heads().weights_of("other word").tolist() == pytest.approx([0.225])
    assert reading.of_head(1).weights_of("name").tolist() == pytest.approx([0.1])


def test_the_best_head_is_chosen_by_other_sentences(monkeypatch, tmp_path):
    words = set(
        " ".join(one.text for part in ("validation", "test") for one in chain(*pronouns.pronoun_sentences(1, part)))
        .lower()
        .replace(",", "")
        .replace(".", "")
        .split()
    )
    tokenizer = WordTokenizer.from_words([*words, ",", "."])
    asked = []

    def read(model, tokenizer, sentence):
        part = "validation" if sentence in validation else "test"
        asked.append(part)
        # Head 1 is the best one in the sentences of the validation part, head 0 in those of the test part.
        weights = torch.tensor([0.1, 0.6] if part == "validation" else [0.9, 0.3])
        return pronouns._Reading(sentence, [sentence.name.lower()], (False,), weights[:, None])

    validation = set(chain(*pronouns.pronoun_sentences(1, "validation")))
    monkeypatch.setattr(pronouns, "_read", read)
    monkeypatch.setattr(pronouns, "_model_and_tokenizer", lambda *_: (None, tokenizer))
    settings = {"people": 1, "word": "name", "heads": 1, "model": ""}
    assert METHODS["pronoun_attention"](settings, 0, tmp_path, "test") == pytest.approx([30] * 10)
    all_heads = METHODS["pronoun_attention"](settings | {"heads": "all"}, 0, tmp_path, "test")
    assert all_heads == pytest.approx([60] * 10)


def test_the_pronouns_row_is_read():
    sentence = pronouns.PronounSentence("Jack sleeps, because he is tired.", "he", "Jack", "")
    tokenizer = WordTokenizer.from_words(["Jack", "sleeps,", "because", "he", "is", "tired."])
    model = small_model(vocab_size=len(tokenizer))
    rows = pronouns._read(model, tokenizer, sentence).rows
    with torch.no_grad():
        model.set_attn_implementation("eager")
        weights = model(**tokenizer(sentence.text, return_tensors="pt"), output_attentions=True).attentions[0][0]
    torch.testing.assert_close(rows, weights[:, 4])  # <s> Jack sleeps, because he


def test_a_missing_model_is_named(tmp_path):
    settings = {"people": 1, "word": "name", "heads": "all", "model": str(tmp_path / "minilm")}
    with pytest.raises(FileNotFoundError, match="fine_tuning.md shows how"):
        METHODS["pronoun_attention"](settings, 0, tmp_path, "test")


class _Scores:
    """A model that gives the score 50 to the word after the word on the left, and -50 to all others."""

    def __init__(self, size):
        self.size, self.read = size, []

    def __call__(self, input_ids, attention_mask=None):
        self.read.append(input_ids.clone())
        left = input_ids.roll(1, 1) if attention_mask is not None else input_ids
        return SimpleNamespace(logits=100.0 * torch.nn.functional.one_hot((left + 1) % self.size, self.size) - 50)


@pytest.mark.parametrize("by", ["masked", "causal"])
def test_gaps_are_filled_and_other_words_stay(by):
    tokenizer = WordTokenizer.from_words(["a", "b", "c", "d"], template="bert" if by == "masked" else None)
    model = _Scores(len(tokenizer))
    texts, gaps = (
        [["a", "d", "c", "d"], ["b", "b"]],
        [torch.tensor([False, True, False, False]), torch.tensor([False, True])],
    )
    filled = filling.fill(model, tokenizer, texts, gaps, torch.Generator().manual_seed(0), by)
    assert filled == [["a", "b", "c", "d"], ["b", "c"]]
    if by == "masked":
        (read,) = model.read
        assert tokenizer.convert_ids_to_tokens(read[0].tolist()) == ["[CLS]", "a", "[MASK]", "c", "d", "[SEP]"]
        assert tokenizer.convert_ids_to_tokens(read[1].tolist()) == ["[CLS]", "b", "[MASK]", "[SEP]", "[PAD]", "[PAD]"]
    else:
        assert tokenizer.convert_ids_to_tokens(model.read[0][0].tolist()) == ["<s>", "a"]  # not what comes after


def test_gaps_are_filled_one_after_the_other():
    tokenizer = WordTokenizer.from_words(["a", "b", "c", "d"], template="bert")
    model = _Scores(len(tokenizer))
    filling.fill(
        model, tokenizer, [["a"] * 4], [torch.ones(4, dtype=torch.bool)], torch.Generator().manual_seed(0), "masked"
    )
    masks = [int((read == tokenizer.mask_token_id).sum()) for read in model.read]
    assert masks == [4, 3, 2, 1]


def test_words_are_drawn_for_gaps_alone():
    gaps = [torch.tensor([True, False, True])]
    drawn = filling._drawn([["x", "y", "z"]], Counter({"a": 3}), gaps, torch.Generator().manual_seed(0))
    assert drawn == [["a", "y", "a"]]


def test_special_tokens_are_never_drawn():
    tokenizer = WordTokenizer.from_words(["a"])
    logits = torch.full((50, len(tokenizer)), 9.0)
    drawn = filling._draw(logits, tokenizer, torch.Generator().manual_seed(0))
    assert set(tokenizer.convert_ids_to_tokens(drawn.tolist())) == {"a"}


@pytest.mark.filterwarnings("ignore:.*too few, or artificial")
def test_both_arms_have_the_same_gaps(monkeypatch, tmp_path):
    lines = {"train": ["d c b a"] * 20 + ["a b c d"] * 20, "valid": ["a b"], "test": ["a b c d a b c d", "c d a b"]}
    for name, texts in lines.items():
        (tmp_path / f"{name}.txt").write_text("\n\n".join(texts), encoding="utf-8")
    monkeypatch.setenv("HF_LECTURE_DATA", str(tmp_path))
    seen, judged, drawn, fit = [], [], filling._drawn, filling.NGramForCausalLM.fit

    def remember_texts(texts, *args, **options):
        judged.append(list(texts))
        return fit(texts, *args, **options)

    def remember(texts, counts, gaps, chance):
        seen.append(gaps)
        return drawn(texts, counts, gaps, chance)

    monkeypatch.setattr(filling.NGramForCausalLM, "fit", remember_texts)
    monkeypatch.setattr(filling, "_drawn", remember)
    monkeypatch.setattr(filling, "train_once", lambda *_: SimpleNamespace(model=None, processor=None))
    monkeypatch.setattr(filling, "fill", lambda model, tokenizer, texts, gaps, *_: seen.append(gaps) or texts)
    settings = {"texts": {"train": "train.txt", "validation": "valid.txt", "test": "test.txt"}, "lines": 20}
    settings |= {"longest": 8, "share": 0.5, "models": {"masked": {}}}
    arms = ({"by": "masked"}, {"by": "frequencies"})
    real, random = (METHODS["filled_texts"](settings | arm, 0, tmp_path, "test") for arm in arms)
    assert judged == [lines["train"][20:]] * 2
    assert [gap.tolist() for gap in seen[0]] == [gap.tolist() for gap in seen[1]]
    assert real.weights == random.weights == [9, 5]  # each text has an end
    assert real.mean > random.mean  # the words stay as they are, or are drawn


def test_tokens_are_counted_as_often_as_they_are_read(tmp_path):
    words = {"task": "masked_lm", "recipe": "bert_tiny", "train_texts": ["a b c", "a"], "epochs": 2.0}
    rows = {"task": "text_classification", "recipe": "recurrent_pairs_tiny", "epochs": 10.0}
    rows["train_rows"] = [
        {"text": "a b", "text_pair": "c", "label": "yes"},
        {"text": "a", "text_pair": "a", "label": "no"},
    ]
    settings = {"pre_training": words, "fine_tuning": [rows, rows | {"max_length": 5}]}
    phases = ({"phase": "pre-training"}, {"phase": "fine-tuning"})
    found = [[10**value for value in METHODS["tokens_read"](settings | one, 0, tmp_path, "test")] for one in phases]
    # With [CLS] and [SEP], texts have 5 and 3 tokens, pairs 6 and 5.
    assert found == [pytest.approx([2 * 8]), pytest.approx([10 * 11, 10 * 10])]
