# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Unknown words are marked in the answer of every tab that reads a text, and the page says what its models know."""

import re
from types import SimpleNamespace

import pytest

from hf_lecture_models import BpeTokenizer, ByteTokenizer, ElmoTokenizer, WordPieceTokenizer, WordTokenizer
from hf_lecture_models.analysis.neighbours import special_ids
from hf_lecture_models.lab.demo.answers import LoadedModel, compare, rank
from hf_lecture_models.lab.demo.example_images import example_images
from hf_lecture_models.lab.demo.examples import GAP
from hf_lecture_models.lab.demo.heads import see_answer, see_classes, see_fillings, see_tags
from hf_lecture_models.lab.demo.inside import see_attention, see_gradients, see_surprisal, see_translation
from hf_lecture_models.lab.demo.rendering import (
    marked,
    render_comparison,
    render_continuation,
    render_ranking,
    render_surprisal,
)
from hf_lecture_models.lab.demo.unknown import known_vocabulary, render_known, unknown_spans
from tests.lab.demo.small_models import (
    MODELS,
    answerer,
    captioner,
    classifier,
    image_classifier,
    masked,
    tagger,
    translator,
    trigram,
)

TEXT, WORDS = "The Zoë saw £ 3 cats, <unk> the-cat", ["the", "cat", "saw", "cats", ","]
UNKNOWN = re.compile(r'<span class="unknown"[^>]*>(.*?)</span>')
WITH_WORDS = ("masked", "trigram", "captioner")
LEGEND = "not in the vocabulary: the model reads &lt;unk&gt;"


@pytest.mark.parametrize(
    ("tokenizer", "expected"),
    [
        (WordTokenizer.from_words(WORDS), ["The", "Zoë", "£", "3", "cats,", "the-cat"]),
        (WordTokenizer.from_words(WORDS, lower_case=True, split_punctuation=True), ["Zoë", "£", "3", "-"]),
        (WordTokenizer.from_words(WORDS, unk_token=None), ["The", "Zoë", "£", "3", "cats,", "<unk>", "the-cat"]),
        (WordTokenizer.train([" ".join(WORDS)] * 2, unknown_words="classes", progress=False), None),
        (WordTokenizer.train([" ".join(WORDS)], unknown_words="spelled", progress=False), []),
        (BpeTokenizer.train(WORDS, merges=1, form="bytes", progress=False), []),
        (ByteTokenizer(), []),
        (ElmoTokenizer(), []),
    ],
    ids=["words", "running text", "closed", "classes", "spelled", "pieces", "bytes", "letters"],
)
def test_words_outside_the_vocabulary_are_found_where_they_stand(tokenizer, expected):
    found = [TEXT[begin:end] for begin, end in unknown_spans(tokenizer, TEXT)]
    assert found == (["The", "Zoë", "£", "3", "cats,", "the-cat"] if expected is None else expected)
    assert unknown_spans(tokenizer, "") == []


def test_letters_that_no_piece_has_are_unknown():
    pieces = WordPieceTokenizer.train(["the cat saw the cats"], vocab_size=60, progress=False)
    assert [TEXT[begin:end] for begin, end in unknown_spans(pieces, "the cat £")] == [TEXT[8:9]]


def test_marks_keep_the_text_and_its_markup_apart():
    text, spans = "a <b> c <d>", [(2, 5), (8, 11)]
    assert re.sub("<[^>]*>", "", marked(text, spans)) == "a &lt;b&gt; c &lt;d&gt;"
    assert UNKNOWN.findall(marked(text, spans)) == ["&lt;b&gt;", "&lt;d&gt;"]
    assert "".join(re.sub("<[^>]*>", "", marked(text, spans, *part)) for part in ((0, 3), (3, 9), (9, None))) == (
        "a &lt;b&gt; c &lt;d&gt;"
    )


ANSWERS = {
    "Continue": lambda text: render_continuation(
        {"prompt": text, "completion": " x", "tokens": 1, "finished": False, "stopped_at_limit": False},
        unknown_spans(trigram().tokenizer, text),
    ),
    "Rank": lambda text: render_ranking(rank(trigram(), [text])),
    "Compare": lambda text: render_comparison(["trigram"], compare([trigram()], text)),
    "Surprisal": lambda text: render_surprisal(*see_surprisal([trigram()], text)),
    "Fill in": lambda text: see_fillings(masked(), f"{text} {GAP}"),
    "Classify": lambda text: see_classes(classifier(), text, ""),
    "Classify pairs": lambda text: see_classes(classifier(), "film", text),
    "Tag": lambda text: see_tags(tagger(), text),
    "Answer": lambda text: see_answer(answerer(), "Who met Charles?", text),
    "Question": lambda text: see_answer(answerer(), text, "Ada met Charles"),
    "Attention": lambda text: see_attention(masked(), text, 0, 0, "", False),
    "All heads": lambda text: see_attention(masked(), text, 0, 0, "", True),
    "Gradients": lambda text: see_gradients([masked()], text, False),
}


@pytest.mark.parametrize("tab", ANSWERS)
def test_the_answer_marks_what_the_model_does_not_know(tab):
    shown = ANSWERS[tab]("qqq the")
    assert "qqq" in UNKNOWN.findall(shown)
    assert "the" not in UNKNOWN.findall(ANSWERS["Rank"]("qqq the"))
    assert LEGEND in shown


def test_nothing_is_marked_where_all_is_known():
    for shown in (ANSWERS["Rank"]("the cat ran"), ANSWERS["Continue"]("the cat"), ANSWERS["Compare"]("a dog ran")):
        assert 'class="unknown"' not in shown
        assert LEGEND not in shown
    assert LEGEND not in see_translation(translator(), "the qqq", 1)[0], "it reads pieces"


@pytest.mark.parametrize("name", MODELS)
def test_the_page_says_what_each_model_reads(name):
    loaded = MODELS[name]()
    said, words = known_vocabulary(loaded)
    tokenizer = getattr(loaded.tokenizer, "tokenizer", loaded.tokenizer)
    if loaded.tokenizer is None:
        assert (said, words) == ("no texts", [])
    elif name == "vit":
        assert (said, words) == ("images, made 16 × 16 pixels", [])
    else:
        number = len(tokenizer) - len(special_ids(tokenizer))
        forms = (f"{number} words", f"{number} pieces of words", f"any text, in {number} pieces")
        expected = forms[2] if name == "translator" else forms[0] if name in WITH_WORDS else forms[1]
        assert said.removeprefix("images, made 16 × 16 pixels; it writes ") == expected
        assert len(words) == (number if name in WITH_WORDS else 0)
    assert f"{loaded.name}: {said}" in re.sub("<wbr>", "", render_known([loaded]))


def test_the_words_of_small_vocabularies_are_listed_and_large_ones_counted(tmp_path):
    large = LoadedModel("own_model", None, WordTokenizer.from_words([f"w{number}" for number in range(2001)]))
    small = LoadedModel("small", None, WordTokenizer.from_words(["<b>", "cat"]))
    shown = render_known([large, small])
    assert "own_<wbr>model: 2,001 words" in shown
    assert "w1 " not in shown
    assert "(2 each)" in shown
    assert "&lt;b&gt; cat" in shown
    assert "know few words" not in render_known([large])
    (tmp_path / "recipe.yaml").write_text("train_rows: [{source: le chat, target: x}, {source: le chien}]")
    model = SimpleNamespace(name_or_path=str(tmp_path), config=SimpleNamespace())
    assert known_vocabulary(LoadedModel("pieces", model, ByteTokenizer())) == (
        "any text, in 256 pieces; trained on 3 words",
        ["chat", "chien", "le"],
    )


def test_example_images_suit_the_model():
    kinds = {name: list(example_images(make())) for name, make in (("vit", image_classifier), ("caption", captioner))}
    assert kinds == {name: ["house", "boat", "ball"] for name in kinds}, "of three channels"
    for side, labels, names in (
        (8, {0: "x"}, ["zero", "three", "four"]),
        (28, {0: "shirt"}, ["shirt", "trousers", "bag"]),
        (28, {number: str(number) for number in range(10)}, ["zero", "three", "four"]),
    ):
        config = SimpleNamespace(num_channels=1, image_size=side, id2label=labels)
        images = example_images(LoadedModel("x", SimpleNamespace(config=config), None))
        assert list(images) == names
        assert all(image.size == (160, 160) and image.getbbox() for image in images.values())
