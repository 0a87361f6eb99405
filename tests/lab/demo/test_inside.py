# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What the page shows of a model's inside, and what it refuses."""

import base64
import math
import re

import pytest
import torch
from PIL import Image
from transformers import pipeline

from hf_lecture_models.lab.demo.answers import LoadedModel
from hf_lecture_models.lab.demo.examples import LECTURE_SENTENCE
from hf_lecture_models.lab.demo.inside import (
    PAIRS,
    see_attention,
    see_caption,
    see_gradients,
    see_segmentation,
    see_smoothing,
    see_strokes,
    see_surprisal,
    see_translation,
)
from hf_lecture_models.lab.demo.page import build_page, load_models
from hf_lecture_models.lab.demo.rendering import render_surprisal
from hf_lecture_models.models.bert import LectureBertConfig, LectureBertForMaskedLM, LectureBertModel
from hf_lecture_models.models.graves import GravesConfig, GravesForSequencePrediction
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.tokenization.word import WordTokenizer
from hf_lecture_models.tokenization.wordpiece import WordPieceTokenizer
from tests.lab.demo.small_models import captioner
from tests.tasks.captioning.test_task import train, write_captions
from tests.tasks.small_translator import MODELS, SOURCES, make_translator

pytest.importorskip("matplotlib")
TEXTS = [LECTURE_SENTENCE, *"\n".join(PAIRS.values()).splitlines()]
WORDS = WordTokenizer.train(TEXTS, progress=False)
TRIGRAM = LoadedModel("tri<gram>", NGramForCausalLM.fit(TEXTS, WORDS, order=3, progress=False), WORDS)
PIECES = WordPieceTokenizer.train(TEXTS, vocab_size=120, progress=False)
SIZES = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 8}


def bert(model_class=LectureBertForMaskedLM):
    torch.manual_seed(0)
    return LoadedModel("BERT", model_class(LectureBertConfig(vocab_size=len(PIECES), **SIZES)).eval(), PIECES)


def drawn(document):
    (data,) = set(re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', document))
    assert f'<a download="picture.svg" href="data:image/svg+xml;base64,{data}">' in document
    return base64.b64decode(data).decode()


def test_pictures_are_those_of_the_fields():
    loaded = bert()
    maps = {
        "mean over 4 heads": see_attention(loaded, LECTURE_SENTENCE, 0, 0, "", False),
        "layer 2, head 1": see_attention(loaded, LECTURE_SENTENCE, 2, 1, "", False),
        "To what “is” attends": see_attention(loaded, LECTURE_SENTENCE, 1, 0, " is ", False),
        "Attention in all layers and heads": see_attention(loaded, LECTURE_SENTENCE, 0, 0, "", True),
    }
    for title, document in maps.items():
        assert title in drawn(document)
    document = see_gradients([TRIGRAM, loaded], "the parcel", True)
    assert "BERT, untrained" in drawn(document)
    assert "tri&lt;gram&gt;: NGramForCausalLM has no word vectors" in document
    assert "“parcel”" in drawn(see_segmentation(loaded, "parcel"))
    document = see_smoothing([loaded, TRIGRAM], "The parcel")
    assert "after “The parcel”" in drawn(document)
    assert "BERT: LectureBertForMaskedLM is no n-gram model" in document
    with pytest.raises(ValueError, match="'zebra' is not in the vocabulary"):
        see_smoothing([TRIGRAM], "zebra")


def test_sentences_beside_each_other():
    models = [TRIGRAM, bert(LectureBertModel), bert()]
    names, scored = see_surprisal(models, PAIRS[next(iter(PAIRS))])
    assert names == ["tri<gram>", "BERT"], "the model without a head has no probability of a word"
    document = render_surprisal(names, scored)
    assert "tri&lt;gram&gt;" in document
    assert document.count("<table") == 2
    assert document.count("<b>") == 2, "each model finds one sentence the more probable"
    assert math.isnan(scored[0][1].spans[-1].bits)
    assert '<td class="number">–</td>' in document


def test_what_is_refused():
    with pytest.raises(ValueError, match="no attention"):
        see_attention(TRIGRAM, LECTURE_SENTENCE, 0, 0, "", False)
    with pytest.raises(ValueError, match="no layer 3"):
        see_attention(bert(), LECTURE_SENTENCE, 3, 0, "", False)
    with pytest.raises(ValueError, match="500 characters; this tab takes at most 400"):
        see_gradients([bert()], "x" * 500, False)
    with pytest.raises(ValueError, match="tri<gram>: NGramForCausalLM has no"):
        see_gradients([TRIGRAM], "the parcel", False)
    with pytest.raises(ValueError, match="7 sentences; this tab"):
        see_surprisal([TRIGRAM], "\n".join("abcdefg"))
    with pytest.raises(ValueError, match="no language model"):
        see_surprisal([bert(LectureBertModel)], "the parcel")
    with pytest.raises(TypeError, match="missing"):
        see_segmentation(bert(), None)


@pytest.mark.slow
def test_a_translation_comes_with_its_alignment_where_there_is_one():
    shown, picture = see_translation(LoadedModel("small", *make_translator("ours")), SOURCES[5], 2)
    assert 'class="word"' in shown
    assert "maison" in drawn(picture)
    blind = make_translator("ours", model=MODELS["ours"] | {"attention_type": "none"})
    _, told = see_translation(LoadedModel("blind", *blind), SOURCES[5], 1)
    assert "gives no attention weights from target to source" in told
    with pytest.raises(ValueError, match="is blank"):
        see_translation(LoadedModel("blind", *blind), " ", 1)


@pytest.mark.slow
def test_a_caption_comes_with_the_patches_of_its_words(tmp_path):
    """On a page of its own tab, and without tabs for texts."""
    folder = write_captions(tmp_path / "photos", [("a dark image", 0), ("a light image", 250)] * 4)
    train(tmp_path / "model", "--train_files", str(folder), max_position_embeddings=8)
    (loaded,) = load_models([str(tmp_path / "model")])
    image = Image.open(folder / "0.png")
    caption, patches = see_caption(loaded, image, 2)
    assert pipeline("image-captioning", model=str(tmp_path / "model"))(image, num_beams=2)["generated_text"] in caption
    assert "<svg" in drawn(patches)
    with pytest.raises(ValueError, match="there is no image yet"):
        see_caption(loaded, None, 1)
    with pytest.raises(ValueError, match="the caption of this image is empty"):
        see_caption(captioner(seed=0), image.convert("RGB"), 1)
    gradio = pytest.importorskip("gradio")
    tabs = [block.label for block in build_page([loaded]).blocks.values() if isinstance(block, gradio.Tab)]
    assert tabs == ["Caption"]


def test_pen_strokes_are_drawn_on_a_page_without_tabs_for_texts(tmp_path):
    GravesForSequencePrediction(GravesConfig(hidden_size=4)).save_pretrained(tmp_path)
    (loaded,) = load_models([str(tmp_path)])
    assert loaded.tokenizer is None
    first, again, other = (see_strokes(loaded, 5, 1.0, seed) for seed in (0, 0, 1))
    assert "<svg" in drawn(first)
    assert first == again != other
    gradio = pytest.importorskip("gradio")
    tabs = [block.label for block in build_page([loaded]).blocks.values() if isinstance(block, gradio.Tab)]
    assert tabs == ["Draw"]
