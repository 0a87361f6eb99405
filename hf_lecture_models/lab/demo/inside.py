# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The demo page's view inside a model: pictures of attention, gradients, segmentation and smoothing, surprisals."""

import base64
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hf_lecture_models.analysis.attention_maps import (
    get_attention_maps,
    save_all_heads,
    save_attention_map,
    save_attention_of_word,
    which_heads,
)
from hf_lecture_models.analysis.gradient_flow import UNTRAINED, measure_gradient_flow, save_gradient_flow, untrained
from hf_lecture_models.analysis.neighbours import embedding_table, nearest_neighbours, special_ids
from hf_lecture_models.analysis.segmentation import save_segmentation, segmentation_steps
from hf_lecture_models.analysis.smoothing import WordGroup, group_words, probabilities_of, save_smoothing
from hf_lecture_models.evaluation.surprisal import SENTENCE_PAIRS, ScoredText, align_spans, kind_of, score_text
from hf_lecture_models.lab.demo.answers import LoadedModel, checked_sentences, checked_text
from hf_lecture_models.lab.demo.rendering import (
    render_error,
    render_neighbours,
    render_picture,
    render_translation,
    render_weights,
)
from hf_lecture_models.lab.demo.unknown import as_read
from hf_lecture_models.lab.studies.neighbour_pictures import save_neighbour_map
from hf_lecture_models.tasks.captioning.describe import describe_image
from hf_lecture_models.tasks.strokes.pictures import save_strokes
from hf_lecture_models.tasks.translation.alignment import align
from hf_lecture_models.tasks.translation.pictures import save_alignment, save_patch_alignment
from hf_lecture_models.tasks.translation.translate import translate

MAX_CHARACTERS_SEEN = 400
MAX_SENTENCES_SEEN = 6
MAX_POINTS = 200
MAX_NEIGHBOURS = 20
PAIRS = {f"{first} / {second}": f"{first}\n{second}" for pairs in SENTENCE_PAIRS.values() for first, second in pairs}


def picture(draw: Callable[[Path], None], description: str) -> str:
    """Return an element of HTML with the picture that `draw` writes to the path that it gets.

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
    """Return a picture of a head's map, of one word's weights, or of all heads; layer or head 0 is the mean over all.

    The weights of a map or a word unfold as a table.

    Raises:
        ValueError: the model has no attention, or no such layer, head or word; the text is blank or too long.
    """
    maps = get_attention_maps(loaded.model, loaded.tokenizer, _checked(text))
    which, read = (layer or None, head or None), as_read([loaded], text)
    if every_head:
        drawn = picture(
            lambda path: save_all_heads(maps, path, loaded.name, which[0]), "the attention maps of all heads"
        )
        return drawn + read
    what, tokens, weights = which_heads(maps, *which), list(maps.text.tokens), maps.of(*which).tolist()
    if word.strip():
        place = maps.text.find(loaded.tokenizer, word.strip())
        drawn = picture(
            lambda path: save_attention_of_word(maps, place, path, loaded.name, *which), f"attention of a word, {what}"
        )
        tokens, weights = tokens[place : place + 1], weights[place : place + 1]
    else:
        drawn = picture(lambda path: save_attention_map(maps, path, loaded.name, *which), f"attention map, {what}")
    return drawn + render_weights(tokens, maps.text.tokens, weights, f"attention in per cent, {what}") + read


def see_translation(loaded: LoadedModel, text: str, beams: int) -> tuple[str, str]:
    """Return the translation of a text, and a picture of its alignment, or a line that explains why it is missing.

    Raises:
        ValueError: the text is blank or too long.
    """
    (found,) = translate(loaded.model, loaded.tokenizer, [_checked(text)], num_beams=beams)
    shown = render_translation(found.text) + as_read([loaded], text)
    try:
        (alignment,) = align(loaded.model, loaded.tokenizer, [found])
    except ValueError as error:
        return shown, render_error(str(error))
    source, target, weights = alignment.source, alignment.target, alignment.of()
    drawn = picture(
        lambda path: save_alignment(source, target, weights, path, alignment.which(), loaded.name),
        "which words attend to which",
    )
    return shown, drawn + render_weights(target, source, weights.tolist(), "alignment in per cent")


def see_caption(loaded: LoadedModel, image: Any, beams: int) -> tuple[str, str]:
    """Return the caption of a Pillow image, and a picture of the patches that each of its words attends to.

    Raises:
        ValueError: there is no image.
    """
    if image is None:
        raise ValueError("there is no image yet: upload one")
    text, alignment = describe_image(loaded.model, loaded.tokenizer, image, num_beams=beams)
    drawn = image, alignment.target, alignment.of()
    return render_translation(text), picture(
        lambda path: save_patch_alignment(*drawn, path, alignment.which(), loaded.name),
        "which patches a word attends to",
    )


def has_word_vectors(loaded: LoadedModel) -> bool:
    """Return whether the model has a vector for each token, so that words have neighbours."""
    if loaded.tokenizer is None:
        return False
    try:
        special_ids(loaded.tokenizer)  # an error where tokens have no ids of their own (ELMo)
        return len(embedding_table(loaded.model)) > 0
    except ValueError:
        return False


def see_neighbours(loaded: LoadedModel, text: str, number: int) -> tuple[str, str]:
    """Return a table of the words' nearest neighbours by the cosine, and a map of them.

    Raises:
        ValueError: there are no words, one is unknown or of several tokens, or there are too few neighbours.
    """
    if not 1 <= number <= MAX_NEIGHBOURS:
        raise ValueError(f"the number of neighbours must be between 1 and {MAX_NEIGHBOURS}")
    words = list(dict.fromkeys(_checked(text).split()))
    if not words:
        raise ValueError("there are no words: write some, with blanks between them")
    found = nearest_neighbours(loaded.model, loaded.tokenizer, words, number)
    drawn = picture(lambda path: save_neighbour_map(loaded.model, found, path), "map of words and their neighbours")
    return render_neighbours(found), drawn


def see_gradients(models: Sequence[LoadedModel], text: str, with_untrained: bool) -> str:
    """Return a picture of the models' gradients against the distance, and a line for each model without gradients.

    Raises:
        ValueError: all models are without gradients; the text is blank or too long.
    """
    _checked(text)
    flows = {}

    def measure(loaded: LoadedModel) -> None:
        flows[loaded.name] = measure_gradient_flow(loaded.model, loaded.tokenizer, text)
        if with_untrained:
            flows[loaded.name + UNTRAINED] = measure_gradient_flow(untrained(loaded.model), loaded.tokenizer, text)

    problems = _try_each(models, measure)
    drawn = picture(lambda path: save_gradient_flow(flows, path, f"“{text}”"), "gradients against the distance")
    return drawn + problems + as_read(models, text)


def see_segmentation(loaded: LoadedModel, text: str) -> str:
    """Return a picture of the steps of `segmentation_steps`, which says what is raised."""
    words = segmentation_steps(loaded.tokenizer, _checked(text))
    drawn = picture(lambda path: save_segmentation(words, path, loaded.name, f"“{text}”"), "steps of segmentation")
    return drawn + as_read([loaded], text)


def see_strokes(loaded: LoadedModel, points: int, temperature: float, seed: int) -> str:
    """Return a picture of twenty drawings of a model of pen strokes.

    Raises:
        ValueError: there are too many points, or the temperature or the seed is out of its range.
    """
    if not 1 <= points <= MAX_POINTS or not 0 <= seed < 2**63:
        raise ValueError(f"points must be between 1 and {MAX_POINTS}, and the seed 0 or more, and below 2^63")
    drawings = loaded.model.generate_points(points, temperature, seed, num_sequences=20).tolist()
    return picture(lambda path: save_strokes(drawings, path), "twenty drawings")


def see_smoothing(models: Sequence[LoadedModel], text: str) -> str:
    """Return a picture of the shares of n-grams after a context, and a line for each other model.

    Raises:
        ValueError: none of the models is an n-gram with probabilities, or a word is not in the vocabulary.
    """
    words, groups = _checked(text).split(), dict[str, list[WordGroup]]()

    def group(loaded: LoadedModel) -> None:
        found = group_words(loaded.model, loaded.tokenizer, words)
        first = next(iter(groups.values()), found)
        groups[loaded.name] = probabilities_of(loaded.model, loaded.tokenizer, words, first)

    problems = _try_each(models, group)
    caption = f"after “{' '.join(words)}”" if words else "without context"
    return picture(lambda path: save_smoothing(groups, path, caption), "shares of the probability") + problems


def _try_each(models: Sequence[LoadedModel], measure: Callable[[LoadedModel], None]) -> str:
    """Call `measure` with each model, and return its ValueErrors as HTML, or raise one if all models raise."""
    problems = []
    for loaded in models:
        try:
            measure(loaded)
        except ValueError as error:
            problems.append(f"{loaded.name}: {error}")
    if len(problems) == len(models):
        raise ValueError("; ".join(problems))
    return "".join(map(render_error, problems))


def see_surprisal(models: Sequence[LoadedModel], text: str) -> tuple[list[str], list[list[ScoredText]]]:
    """Return the names of the models that give words a probability, and their scores of each sentence.

    Raises:
        ValueError: there are no such models; or too many sentences, or none.
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
    return checked_text(text, MAX_CHARACTERS_SEEN, "tab")
