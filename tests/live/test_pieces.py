# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The page about pieces: it learns what the package's trainers learn, and works in a browser by keyboard alone."""

from collections import Counter

import numpy as np
import pytest

from hf_lecture_models import BpeTokenizer, UnigramTokenizer, WordPieceTokenizer
from hf_lecture_models.tokenization.lattices import Lattices
from hf_lecture_models.tokenization.unigram_training import _iterate
from tests.live.running import opened, page_file, run_node, tab_to

SCRIPTS = ["tokenizer.js", "merging.js", "unigram.js"]
TEXTS = [
    "lower lowest newer wider wide",
    "the old cat saw the older dog, and the oldest mouse ran to the oldest house; the cat ran.",
    "Naïve café, naïve cafés! καλημέρα καλή μέρα 東京 京都 東 👩‍👩‍👧 👩 🙂🙂 \uff21\U00010428 \uff21\U00010429",
    "aaaa aaa aa baa # a# #a <s> <unk> <pad> 12 1212 121 mississippi miss is",
]
_MERGES = """
const main = (texts) => texts.map((text) => {
  const words = new BytePairWords(countStrings(text.split(WHITE_SPACE).filter(Boolean)), "#");
  const merges = words.learn(1000);
  return {letters: words.letters, merges: merges.map(({left, right}) => [left, right]), first: merges[0].count,
          rows: words.after(merges).rows.map((row) => row.symbols)};
});
"""
_WORD_PIECES = """
const bert = {type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, lowercase: true};
const main = (texts) => texts.map((text) => {
  const words = readSplitter({type: "BertPreTokenizer"})(readNormalizer(bert)(text));
  return learnWordPieces(countStrings(words), 30);
});
"""
_UNIGRAM = """
const main = ([text, size, more]) => learnUnigram(countStrings(text.match(STRETCHES)), size + more);
"""
_STEP = """
const main = ({counts, pieces, probs, isLetter}) => {
  const words = new SegmentedWords(Object.entries(counts), new Map(pieces.map((piece, n) => [piece, n])), 16);
  const step = words.step(probs, isLetter);
  return {probs: Array.from(step.probs), losses: Array.from(step.losses)};
};
"""


def test_byte_pairs_are_merged_as_in_python(tmp_path):
    found = run_node(tmp_path, SCRIPTS, _MERGES, TEXTS)
    for text, one in zip(TEXTS, found, strict=True):
        tokenizer = BpeTokenizer.train([text], end_of_word="#", progress=False)
        assert [tuple(pair) for pair in one["merges"]] == tokenizer.merges
        merged = [left + right for left, right in one["merges"]]
        assert {"<unk>", *one["letters"], *merged, "<s>", "</s>", "<pad>"} == set(tokenizer.get_vocab())
    assert found[0]["merges"][:5] == [["e", "r#"], ["i", "d"], ["l", "o"], ["lo", "w"], ["w", "id"]]  # Y:371-393
    assert found[0]["first"] == 3


def test_word_pieces_are_learnt_as_in_python(tmp_path):
    for text, pieces in zip(TEXTS, run_node(tmp_path, SCRIPTS, _WORD_PIECES, TEXTS), strict=True):
        tokenizer = WordPieceTokenizer.train([text], vocab_size=len(pieces) + 5, progress=False)
        assert pieces == tokenizer.convert_ids_to_tokens(range(5, len(tokenizer)))


@pytest.mark.parametrize(("text", "more"), [(TEXTS[1], 8), (TEXTS[1] + TEXTS[0], 15), (TEXTS[3], 6)])
def test_unigram_pieces_are_learnt_as_in_python(tmp_path, text, more):
    size = len(set(text))
    found = run_node(tmp_path, SCRIPTS, _UNIGRAM, [text, size, more])
    expected = UnigramTokenizer.train([text], vocab_size=size + more + 4, progress=False).scores
    del expected["<unk>"]
    assert [piece for piece, _ in found] == list(expected)
    np.testing.assert_allclose([score for _, score in found], list(expected.values()), atol=1e-8)


def test_a_step_of_expectation_maximization_is_that_of_python(tmp_path):
    counts = Counter(word for text in TEXTS[:2] for word in text.split())
    letters = sorted({letter for word in counts for letter in word})
    strings = {word[i:j] for word in counts for i in range(len(word)) for j in range(i + 2, len(word) + 1)}
    pieces = [*letters, *sorted(strings)[::3]]
    probs = np.random.default_rng(0).dirichlet(np.ones(len(pieces)))
    is_letter = np.array([len(piece) == 1 for piece in pieces])
    lattices = Lattices.of(list(counts), {piece: number for number, piece in enumerate(pieces)})
    expected = _iterate(lattices, np.array(list(counts.values()), float), probs, is_letter)
    data = {"counts": counts, "pieces": pieces, "probs": probs.tolist(), "isLetter": is_letter.tolist()}
    found = run_node(tmp_path, SCRIPTS, _STEP, data)
    np.testing.assert_allclose(found["probs"], expected[0], rtol=1e-10)
    np.testing.assert_allclose(found["losses"], expected[1], rtol=1e-10, atol=1e-10)


@pytest.mark.slow
def test_the_page_works_by_keyboard_alone(browser, tmp_path):
    with opened(browser, page_file(tmp_path, "pieces")) as view:
        cards = view.locator(".live-card")
        assert "Merge 5: w + id → wid, 2 times" in cards.nth(0).inner_text()
        bpe = view.locator(".pieces-row", has_text="Byte pairs").locator(".pieces-piece")
        assert bpe.all_inner_texts() == ["low", "e", "s", "t#", "n", "e", "w", "er#", "wid", "e#"]
        tab_to(view, "A tale")
        view.keyboard.press("Enter")
        assert "Merge 25" in cards.nth(0).inner_text()
        tab_to(view, "Learn from this text: your own, if you like")
        view.keyboard.press("Control+a")
        view.keyboard.type("aa ab ab")
        tab_to(view, "Merges")
        view.keyboard.press("Home")
        assert "each letter is a symbol" in cards.nth(0).inner_text()
        tab_to(view, "one more")
        view.keyboard.press("Enter")
        view.keyboard.press("Space")  # it still has the focus
        assert "Merge 2: a + a# → aa#, 1 time" in cards.nth(0).inner_text()
        tab_to(view, "Cut this text")
        view.keyboard.press("Control+a")
        view.keyboard.type("ab é")
        assert bpe.all_inner_texts() == ["ab#", "é# unknown"]
        letters = view.locator(".pieces-letter").all_inner_texts()
        assert [letter.split() for letter in letters][-1] == ["é", "C3A9"]
