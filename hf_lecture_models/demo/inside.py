# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What the demo page shows of a model's inside: pictures of attention, gradients and segmentation, surprisals."""

import base64
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from hf_lecture_models.analysis.alignment_pictures import save_alignment
from hf_lecture_models.analysis.attention_maps import (
    get_attention_maps,
    save_all_heads,
    save_attention_map,
    save_attention_of_word,
    which_heads,
)
from hf_lecture_models.analysis.gradient_flow import UNTRAINED, measure_gradient_flow, save_gradient_flow, untrained
from hf_lecture_models.analysis.segmentation import save_segmentation, segmentation_steps
from hf_lecture_models.analysis.smoothing import WordGroup, group_words, probabilities_of, save_smoothing
from hf_lecture_models.demo.answers import LoadedModel, checked_sentences
from hf_lecture_models.demo.rendering import render_error, render_picture, render_translation
from hf_lecture_models.evaluation.alignment import align
from hf_lecture_models.evaluation.surprisal import SENTENCE_PAIRS, ScoredText, align_spans, kind_of, score_text
from hf_lecture_models.evaluation.translation import translate

MAX_CHARACTERS_SEEN = 400
MAX_SENTENCES_SEEN = 6
LECTURE_SENTENCE = "Jack is now asleep, because he is tired."
PAIRS = {f"{first} / {second}": f"{first}\n{second}" for pairs in SENTENCE_PAIRS.values() for first, second in pairs}


def picture(draw: Callable[[Path], None], description: str) -> str:
    """An element of HTML with what `draw` has drawn into the file that it is given.

    Raises:
        ValueError: matplotlib is missing on this machine.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder) / "picture.svg"
        try:
            draw(path)
        except ImportError:
            raise ValueError("pictures need matplotlib: pip install 'hf-lecture-models[demo]'") from None
        data = base64.b64encode(path.read_bytes()).decode()
    return render_picture(data, description)


def see_attention(loaded: LoadedModel, text: str, layer: int, head: int, word: str, every_head: bool) -> str:
    """The map of a head; 0 stands for the mean over all layers or heads. Or of one word, or all heads, small.

    Raises:
        ValueError: the model has no attention; no such layer, head or word; a text that is blank or too long.
    """
    maps = get_attention_maps(loaded.model, loaded.tokenizer, _checked(text))
    which = layer or None, head or None
    if every_head:
        return picture(
            lambda path: save_all_heads(maps, path, loaded.name, which[0]), "the attention maps of all heads"
        )
    what = which_heads(maps, *which)
    if word.strip():
        place = maps.text.find(loaded.tokenizer, word.strip())
        return picture(
            lambda path: save_attention_of_word(maps, place, path, loaded.name, *which), f"attention of a word, {what}"
        )
    return picture(lambda path: save_attention_map(maps, path, loaded.name, *which), f"attention map, {what}")


def see_translation(loaded: LoadedModel, text: str, beams: int) -> tuple[str, str]:
    """The translation of a text, and a picture of which words attend to which, or a line that says why there is none.

    Raises:
        ValueError: the text is blank or too long.
    """
    (found,) = translate(loaded.model, loaded.tokenizer, [_checked(text)], num_beams=beams)
    shown = render_translation(found.text)
    try:
        (alignment,) = align(loaded.model, loaded.tokenizer, [found])
    except ValueError as error:
        return shown, render_error(str(error))
    drawn = alignment.source, alignment.target, alignment.of()
    return shown, picture(
        lambda path: save_alignment(*drawn, path, alignment.which(), loaded.name), "which words attend to which"
    )


def see_gradients(models: Sequence[LoadedModel], text: str, with_untrained: bool) -> str:
    """Gradients of the models that have any, against the distance; of the others a line says why they have none.

    Raises:
        ValueError: none of the models has gradients; the text is blank or too long.
    """
    _checked(text)
    flows, problems = {}, []
    for loaded in models:
        try:
            flows[loaded.name] = measure_gradient_flow(loaded.model, loaded.tokenizer, text)
        except ValueError as error:
            problems.append(f"{loaded.name}: {error}")
            continue
        if with_untrained:
            flows[loaded.name + UNTRAINED] = measure_gradient_flow(untrained(loaded.model), loaded.tokenizer, text)
    if not flows:
        raise ValueError("; ".join(problems))
    drawn = picture(lambda path: save_gradient_flow(flows, path, f"“{text}”"), "gradients against the distance")
    return "".join([drawn, *map(render_error, problems)])


def see_segmentation(loaded: LoadedModel, text: str) -> str:
    """Merges or longest matches, step by step. Errors as for `segmentation_steps`."""
    words = segmentation_steps(loaded.tokenizer, _checked(text))
    return picture(lambda path: save_segmentation(words, path, loaded.name, f"“{text}”"), "steps of segmentation")


def see_smoothing(models: Sequence[LoadedModel], text: str) -> str:
    """What each n-gram model gives to the words seen after a context, after a part of it, or after none.

    Raises:
        ValueError: no model is an n-gram with probabilities, or a word is not in the vocabulary.
    """
    words, groups, problems = _checked(text).split(), dict[str, list[WordGroup]](), []
    for loaded in models:
        try:
            found = group_words(loaded.model, loaded.tokenizer, words)
            first = next(iter(groups.values()), found)
            groups[loaded.name] = probabilities_of(loaded.model, loaded.tokenizer, words, first)
        except ValueError as error:
            problems.append(f"{loaded.name}: {error}")
    if not groups:
        raise ValueError("; ".join(problems))
    caption = f"after “{' '.join(words)}”" if words else "without context"
    drawn = picture(lambda path: save_smoothing(groups, path, caption), "shares of the probability")
    return "".join([drawn, *map(render_error, problems)])


def see_surprisal(models: Sequence[LoadedModel], text: str) -> tuple[list[str], list[list[ScoredText]]]:
    """The names of those models that give words a probability, and each sentence as all of these score it.

    Raises:
        ValueError: none does; there is no sentence, or there are too many.
    """
    able = [loaded for loaded in models if kind_of(loaded.model)]
    if not able:
        raise ValueError("this page has no language model, causal or of masked words, so words have no surprisal")
    sentences = checked_sentences(text)
    if len(sentences) > MAX_SENTENCES_SEEN:
        raise ValueError(f"there are {len(sentences)} sentences; this tab takes at most {MAX_SENTENCES_SEEN}")
    scored = [
        align_spans([score_text(one.model, one.tokenizer, sentence) for one in able], sentence)
        for sentence in map(_checked, sentences)
    ]
    return [loaded.name for loaded in able], scored


def _checked(text: str) -> str:
    if not isinstance(text, str):
        raise TypeError("the text is missing")
    if len(text) > MAX_CHARACTERS_SEEN:
        raise ValueError(f"the text has {len(text):,} characters; this tab takes at most {MAX_CHARACTERS_SEEN}")
    return text
