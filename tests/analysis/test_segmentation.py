# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Merges and longest matches, step by step, end where the tokenizers do."""

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from hf_lecture_models.analysis.segmentation import save_segmentation, segmentation_steps
from hf_lecture_models.tokenization.bpe import BpeTokenizer
from hf_lecture_models.tokenization.unigram import UnigramTokenizer
from hf_lecture_models.tokenization.word import WordTokenizer
from hf_lecture_models.tokenization.wordpiece import WordPieceTokenizer

SLIDE = ["lower lowest newer wider wide"]


def steps(tokenizer, text):
    return [
        [(" ".join(step.symbols), step.rule) for step in word.steps] for word in segmentation_steps(tokenizer, text)
    ]


def test_the_slides_example_as_saved(tmp_path):
    """Five merges: er#, id, lo, low, wid (slide Y:379-391); the first learned goes first, wherever it stands."""
    BpeTokenizer.train(SLIDE, merges=5, end_of_word="#", progress=False).save_pretrained(tmp_path)
    tokenizer = BpeTokenizer.from_pretrained(tmp_path)
    assert steps(tokenizer, "wider low") == [
        [
            ("w i d e r#", "characters"),
            ("w i d er#", "merge 1: e + r#"),
            ("w id er#", "merge 2: i + d"),
            ("wid er#", "merge 5: w + id"),
        ],
        [("l o w#", "characters"), ("lo w#", "merge 3: l + o")],
    ]
    assert segmentation_steps(tokenizer, "wider")[0].steps[-1].new == (0,)
    assert steps(tokenizer, "wïde") == [[("w <unk> d e#", "characters")]]


TEXT = "  The cats' naïve  reply — 犬\n 12 lowest lowest!"


@pytest.mark.parametrize("form", ["words", "bytes"])
def test_every_word_ends_as_the_tokenizer_has_it(form):
    tokenizer = BpeTokenizer.train([TEXT, *SLIDE] * 2, vocab_size=400, form=form, progress=False)
    found = segmentation_steps(tokenizer, TEXT)
    assert [token for word in found for token in word.tokens] == tokenizer.tokenize(TEXT)
    assert any(len(step.new) == 0 for word in found for step in word.steps[:1])


def test_a_pair_that_stands_twice_is_merged_twice():
    tokenizer = BpeTokenizer.train(["aaaa bb"], progress=False, end_of_word="#", merges=1)
    ((_, step),) = (word.steps for word in segmentation_steps(tokenizer, "aaaaa"))
    assert (step.symbols, step.new) == (("aa", "aa", "a#"), (0, 1))


def test_tokenizers_of_others():
    merges = [("a", "b"), ("ab", "c")]
    vocabulary = {token: i for i, token in enumerate(["a", "b", "c", "ab", "abc"])}
    backend = Tokenizer(models.BPE(vocabulary, merges, ignore_merges=True))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend)
    assert steps(tokenizer, "abc ca") == [[("abc", "a word of the vocabulary")], [("c a", "characters")]]
    with pytest.raises(ValueError, match="xa is segmented by a rule"):
        segmentation_steps(tokenizer, "xa")  # what is unknown falls away here


def test_wordpiece_takes_the_longest():
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "una", "##aff", "##ffable", "##able", "##a"]
    tokenizer = WordPieceTokenizer.train(["x"], progress=False)
    backend = tokenizer.backend_tokenizer
    backend.model = models.WordPiece(
        {token: i for i, token in enumerate(vocabulary)}, unk_token="[UNK]", max_input_chars_per_word=10
    )
    assert steps(tokenizer, "Unaffable, unb unaffableable") == [
        [
            ("unaffable", "word"),
            ("una ##ffable", "the longest that begins the word"),
            ("una ##ffable", "the longest that goes on"),
        ],
        [(",", "word"), ("[UNK]", "no piece begins with ,")],
        [("unb", "word"), ("un ##b", "the longest that begins the word"), ("[UNK]", "no piece goes on with b")],
        [("unaffableable", "word"), ("[UNK]", "more than 10 characters")],
    ]


def test_other_tokenizers_and_texts_are_refused():
    with pytest.raises(ValueError, match="WordTokenizer neither merges .* tokens are: lower wide"):
        segmentation_steps(WordTokenizer.train(SLIDE, progress=False), "lower wide")
    tokenizer = BpeTokenizer.train(SLIDE, progress=False)
    with pytest.raises(ValueError, match="blank"):
        segmentation_steps(tokenizer, "\n")
    with pytest.raises(TypeError, match="list"):
        segmentation_steps(tokenizer, ["lower"])
    with tokenizer.dropout(0.5), pytest.raises(ValueError, match="dropout"):
        segmentation_steps(tokenizer, "lower")


def test_the_picture(tmp_path):
    pytest.importorskip("matplotlib")
    tokenizer = BpeTokenizer.train(SLIDE, merges=5, end_of_word="#", progress=False)
    save_segmentation(segmentation_steps(tokenizer, "lowest $er$"), tmp_path / "steps.svg", "BPE", "lowest $er$")
    picture = (tmp_path / "steps.svg").read_text(encoding="utf-8")
    for text in ("lowest $er$", "How BPE segments, step by step", "merge 4: lo + w", "low", "t#"):
        assert f"<!-- {text} -->" in picture
    with pytest.raises(ValueError, match="rows do not make a picture"):
        save_segmentation(segmentation_steps(tokenizer, "lower " * 20), tmp_path / "long.svg", "BPE", "lower")


def test_the_best_segmentations_of_a_unigram_model(tmp_path):
    scores = {"a": -1.0, "b": -1.5, "ab": -2.0, " ": -3.0}
    UnigramTokenizer.from_scores(scores).save_pretrained(tmp_path)
    # Any tokenizer of the Rust library will do.
    for tokenizer in (UnigramTokenizer.from_pretrained(tmp_path), PreTrainedTokenizerFast.from_pretrained(tmp_path)):
        first, second = segmentation_steps(tokenizer, "ab xyb")
        assert [(step.symbols, step.rule) for step in first.steps] == [
            (("a", "b"), "2nd of 2: 37.8 %, ln P = -2.50"),
            (("ab",), "best of 2: 62.2 %, ln P = -2.00"),
        ]
        assert (first.steps[0].new, first.steps[1].new) == ((0, 1), ())
        assert (second.tokens, len(second.steps)) == ((" ", "xy", "b"), 1)
    many = segmentation_steps(tokenizer, "ababababab")[0].steps
    assert len(many) == 10
    assert many[0].rule.startswith("10th of 32: ")
    own = UnigramTokenizer.from_pretrained(tmp_path)
    with own.sampling(0.1), pytest.raises(ValueError, match="sampling"):
        segmentation_steps(own, "ab")


@pytest.mark.parametrize("form", ["words", "bytes"])
def test_unigram_words_end_as_the_tokenizer_has_them(form):
    size = {"words": 50, "bytes": 275}[form]
    tokenizer = UnigramTokenizer.train([TEXT, *SLIDE] * 2, vocab_size=size, form=form, progress=False)
    found = segmentation_steps(tokenizer, TEXT)
    assert [token for word in found for token in word.tokens] == tokenizer.tokenize(TEXT)
