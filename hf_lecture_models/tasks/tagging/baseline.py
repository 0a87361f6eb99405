# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The baseline of taggers: each word has the tag that it has most often in the training data."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from hf_lecture_models.data.rows import Rows
from hf_lecture_models.tasks.classification.baseline import most_frequent
from hf_lecture_models.tasks.core.baselines import Baseline
from hf_lecture_models.tasks.core.labels import classes_of, ids_of_tags
from hf_lecture_models.tasks.metrics import sums
from hf_lecture_models.tasks.metrics.sums import Sums
from hf_lecture_models.tasks.tagging.entities import OUTSIDE, UNREAD, find_entities


class MostFrequentTag(Baseline):
    """The tag that a word has most often; the most frequent tag of all words for other words."""

    def learn(self, processor: Any, data: Rows, settings: Any) -> dict[str, Any]:
        """Return the tags of those words that have another one than other words."""
        of_word: dict[str, Counter[str]] = defaultdict(Counter)
        all_tags: Counter[str] = Counter()
        for words, tags in zip(data.columns["tokens"], data.columns["tags"], strict=True):
            for word, tag in zip(words, tags, strict=True):
                of_word[word][settings.label_names.get(tag, tag)] += 1
                all_tags[settings.label_names.get(tag, tag)] += 1
        other = most_frequent(all_tags)
        tags = {word: most_frequent(counts) for word, counts in of_word.items()}
        own = {word: tag for word, tag in tags.items() if tag != other}
        return {"name": "most frequent tag of each word", "other": other, "tags": own}

    def answers(
        self, facts: Mapping[str, Any], model: Any, processor: Any, encoded: Any, settings: Any
    ) -> list[list[int]] | None:
        """Return the ids of the tags of each row's words."""
        ids = ids_of_tags(model.config)
        other, tags = facts.get("other"), facts.get("tags", {})
        if not {other, *tags.values()} <= ids.keys():
            return None
        return [[ids[tags.get(word, other)] for word in words] for words in encoded.data.columns["tokens"]]

    def sums(self, model: Any, processor: Any, encoded: Any, answers: Any, settings: Any) -> dict[str, Sums]:
        """Return the accuracy of tags and, of entities, F1, precision and recall."""
        ids, names = ids_of_tags(model.config), {UNREAD: OUTSIDE, **dict(enumerate(classes_of(model.config)))}
        rows = zip(answers, encoded.labels, strict=True)
        right = [sum(ours == ids[tag] for ours, tag in zip(*row, strict=True)) for row in rows]
        found = {"accuracy": sums.ratio(right, list(map(len, encoded.labels)))}
        if settings.for_model(model.config).scheme == "plain":
            return found
        return found | entity_sums([[names[tag] for tag in row] for row in answers], encoded.labels)

    def only_answer(self, model: Any, encoded: Any, answers: Sequence[Sequence[int]]) -> str:
        """Return the only tag that is predicted, though there are others."""
        tags = set(chain.from_iterable(answers)) - {UNREAD}
        if len(tags) != 1 or len(set(chain.from_iterable(encoded.labels))) < 2:
            return ""
        return f"the tag {classes_of(model.config)[tags.pop()]!r}"


def entity_sums(predictions: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> dict[str, Sums]:
    """Return F1, precision and recall of entities, counted as `tasks.tagging.measures.entities` does."""
    rows = [[set(find_entities(tags)) for tags in pair] for pair in zip(predictions, references, strict=True)]
    found = [len(ours & theirs) for ours, theirs in rows]
    predicted, there = ([len(pair[side]) for pair in rows] for side in (0, 1))
    both = [ours + theirs for ours, theirs in zip(predicted, there, strict=True)]
    return {
        "f1": sums.ratio([2 * number for number in found], both),
        "precision": sums.ratio(found, predicted),
        "recall": sums.ratio(found, there),
    }
