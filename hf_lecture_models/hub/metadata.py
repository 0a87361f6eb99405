# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The metadata at the head of a model card, which the Hub uses to list, link and show a model.

A field that would need a guess is left out: a data set or a base model without a name on the Hub, a language that was
not stated.
"""

import math
from collections.abc import Mapping
from typing import Any

from huggingface_hub import EvalResult, ModelCardData

from hf_lecture_models.hub.energy import emissions_metadata

PACKAGE = "hf_lecture_models"
# The Hub's nearest task of those tasks that have no pipeline. The Hub's own "text2text-generation" is gone.
_NEAREST_TAGS = {
    "masked_images": "image-feature-extraction",
    "masked-image-modeling": "image-feature-extraction",
    "next-sentence-prediction": "text-classification",
    "sequence_prediction": "time-series-forecasting",
    "sequence-prediction": "time-series-forecasting",
    "span_corruption": "text-generation",
    "text_to_text": "text-generation",
}
# A sentence in each language that a translator reads, and an English one for each task that reads a text.
_SENTENCES = {
    "de": "Zwei Kinder spielen mit einem Ball im Garten.",
    "en": "Two children play with a ball in the garden.",
    "fr": "Deux enfants jouent avec un ballon dans le jardin.",
}
_ENGLISH = {
    "text-classification": "The story is clever and the actors are good.",
    "text-generation": "The old town on the river was",
    "token-classification": "My sister moved from Paris to New York.",
}
_QUESTION = {"text": "Where do the children play?", "context": "Two children play with a ball in the garden."}
# The beginnings of texts of train_recall.py, each of which asks for one more word.
DRAWN = {
    "associative_recall": "k1 v8 k2 v9 k1",
    "copying": "w1 w2 w3 | w1",
    "induction": "w1 w2 w3 w1",
    "list_operations": "[MAX 2 5 ] =",
}


def card_metadata(facts: Mapping[str, Any], measured: Mapping[str, tuple[str, float]]) -> ModelCardData:
    """Return the metadata of a card.

    Args:
        facts: as `hub.facts` gathers them.
        measured: label and value of each measure, by its key.
    """
    data, ours = facts.get("data") or {}, facts.get("library", PACKAGE) == PACKAGE
    results = _results(facts, measured)
    base = data.get("base_model")
    # The library's own `datasets=None` would be an empty field.
    links: dict[str, Any] = {"datasets": data_set_ids(data), "base_model": base}
    links["base_model_relation"] = "finetune" if base else None
    return ModelCardData(
        language=data.get("language"),
        license=facts.get("licence") or "unknown",
        library_name="transformers",
        pipeline_tag=hub_tag(facts["task"]),
        tags=[*([PACKAGE] if ours else []), facts["model_type"]],
        model_name=facts["name"] if results else None,
        eval_results=results or None,
        co2_eq_emissions=emissions_metadata(facts),
        widget=widget_examples(facts) or None,
        **{name: value for name, value in links.items() if value},
    )


def hub_tag(task: Mapping[str, Any]) -> str | None:
    """Return the Hub's name of a task, or of the nearest task that the Hub has; None for an unknown task.

    >>> hub_tag({"name": "causal_lm", "pipeline_tag": "text-generation"})
    'text-generation'
    >>> hub_tag({"name": "span_corruption", "pipeline_tag": None})
    'text-generation'
    """
    return task["pipeline_tag"] or _NEAREST_TAGS.get(task.get("name", ""))


def data_set_ids(data: Mapping[str, Any]) -> list[str]:
    """Return the names on the Hub of the data that a model learned from; empty where they have none.

    >>> data_set_ids({"name": "SQuAD 1.1", "datasets": ["rajpurkar/squad"], "hub_id": "google/xquad"})
    ['rajpurkar/squad']
    >>> data_set_ids({"name": "WikiText-2", "hub_id": "Salesforce/wikitext"})
    ['Salesforce/wikitext']
    >>> data_set_ids({"name": "my own texts"})
    []

    Args:
        data: the facts "data": "hub_id" names the data that were measured, and "datasets" those of the training if
            they are others.
    """
    return list(data.get("datasets") or filter(None, [data.get("hub_id")]))


def data_name(data: Mapping[str, Any]) -> str:
    """Return the name of the data that were measured, which may be a part of the named data set.

    >>> data_name({"name": "SQuAD 1.1", "measured_on": "XQuAD's 1,190 questions"})
    "XQuAD's 1,190 questions"
    """
    return data.get("measured_on") or data["name"]


def languages(data: Mapping[str, Any]) -> list[str]:
    """Return the languages of the data, a translator's source first.

    >>> languages({"language": ["fr", "en"]}), languages({"language": "en"}), languages({})
    (['fr', 'en'], ['en'], [])
    """
    said = data.get("language") or []
    return [said] if isinstance(said, str) else list(said)


def known_sentences(facts: Mapping[str, Any]) -> list[str]:
    """Return the sentences that the page of a model offers to try, as its tokenizer needs them.

    >>> known_sentences({"data": {"language": "fr"}, "vocabulary": {"policy": "open"}, "task": {"name": "masked_lm"}})
    ['Deux enfants jouent avec un ballon dans le jardin.']

    Returns:
        None at all where the language is not stated, or has no sentence here.
    """
    language = next(iter(languages(facts.get("data") or {})), "")
    found = [
        _SENTENCES.get(language),
        _ENGLISH.get(facts["task"].get("pipeline_tag") or "") if language == "en" else None,
    ]
    return [_spaced(text, facts) for text in found if text] if facts.get("vocabulary") else []


def source_example(facts: Mapping[str, Any]) -> str:
    """Return a sentence in the model's language, a translator's source; a known word if the language is not stated.

    >>> source_example({"data": {"language": ["fr", "en"]}, "vocabulary": {"policy": "open"}})
    'Deux enfants jouent avec un ballon dans le jardin.'
    >>> source_example({"data": {}, "vocabulary": {"policy": "open"}, "prompt": "the"})
    'the'
    """
    prompt = facts.get("prompt") or "the"
    if "probability 0" in (facts.get("vocabulary") or {}).get("policy", "probability 0"):
        return prompt
    sentence = _SENTENCES.get(next(iter(languages(facts.get("data") or {})), ""))
    return _spaced(sentence, facts) if sentence else prompt


def _spaced(sentence: str, facts: Mapping[str, Any]) -> str:
    """Separate the full stop where every token is a word between spaces."""
    policy = facts["vocabulary"]["policy"]
    return sentence.replace(".", " .") if policy.startswith("closed") or "a word is its" in policy else sentence


def widget_examples(facts: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the inputs that the Hub's page offers to try.

    It is the model's own text (`hub.example`), or a sentence that the model knows. There is none for images, which
    would need an address, for points, and for pairs, whose second text the page of a classifier has no field for.

    >>> task = {"name": "translation", "pipeline_tag": "translation"}
    >>> widget_examples({"task": task, "data": {"language": ["de", "en"]}, "vocabulary": {"policy": "open"}})
    [{'text': 'Zwei Kinder spielen mit einem Ball im Garten.'}]
    """
    task, tag = facts["task"], hub_tag(facts["task"])
    if not facts.get("vocabulary") or task.get("pairs") or tag in (None, "image-to-text", "multiple-choice"):
        return []
    if task["name"] == "next-sentence-prediction":
        return []
    text = facts.get("example") or source_example(facts)
    english = text.replace(" .", ".") == _SENTENCES["en"]
    if task["name"] == "synthetic_recall":
        return [{"text": DRAWN.get((facts.get("recipe") or {}).get("texts", ""), text)}]
    if task["name"] == "text_to_text":
        return [{"text": task["source"].replace("{text}", text).replace("{text_pair}", text)}]
    if task["name"] == "span_corruption":
        return [{"text": f"{text} <extra_id_0> {text}"}]
    if tag == "question-answering":
        return [dict(_QUESTION)] if english else [{"text": text, "context": text}]
    if tag == "fill-mask":
        mask = facts["vocabulary"].get("mask_token")
        return [{"text": text.replace("garden", mask) if english else f"{text} {mask}"}] if mask else []
    return [{"text": _spaced(_ENGLISH[tag], facts) if english and tag in _ENGLISH else text}]


def _results(facts: Mapping[str, Any], measured: Mapping[str, tuple[str, float]]) -> list[EvalResult]:
    """Return the measures as the Hub's leaderboards read them: those on a data set that has a name on the Hub."""
    data = facts.get("data") or {}
    if not data.get("hub_id"):
        return []
    return [
        EvalResult(
            task_type=hub_tag(facts["task"]) or facts["task"]["name"],
            dataset_type=data["hub_id"],
            dataset_name=data_name(data),
            dataset_config=data.get("hub_config"),
            dataset_split=data.get("split"),
            metric_type=key,
            metric_name=label,
            metric_value=float(f"{value:.6g}"),
        )
        for key, (label, value) in measured.items()
        if math.isfinite(value)
    ]
