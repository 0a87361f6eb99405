# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The scheme of tags, found from the data: classes of words, or parts of entities, whose letters say how they begin.

    word        Ada     Lovelace  saw  London
    IOB2        B-PER   I-PER     O    B-LOC     B begins each entity
    IOB1        I-PER   I-PER     O    I-LOC     B begins an entity only right after one of the same kind
    IOBES       B-PER   E-PER     O    S-LOC     also BIOES; E ends an entity, S is a whole one
    BILOU       B-PER   L-PER     O    U-LOC     L and U mean E and S
    BMES        B-PER   E-PER     O    S-LOC     M in place of I; BMEWO has W in place of S

Tags with E, S, L, U, M or W are converted to IOB2 for training and measuring: the same entities, with letters that
transformers' pipeline knows. That pipeline takes S-LOC for an entity of the kind "S-LOC".
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from hf_lecture_models.data.rows import Rows
from hf_lecture_models.tasks.core.factories import log_once
from hf_lecture_models.tasks.tagging.entities import OUTSIDE, find_entities, is_entity_tag

PLAIN, ENTITIES = "plain", "entities"
_FORMS = {"IOBES": "BIES", "BILOU": "BILU", "BMES": "BMES", "BMEWO": "BMEW"}


def scheme_of(names: Collection[str]) -> str:
    """Return the scheme of a set of tags: "entities" if each is a part of an entity or O, else "plain".

    Without O, a kind must have two letters, such as B-NP and I-NP.

    >>> scheme_of(["O", "B-LOC", "I-LOC"]), scheme_of(["O", "U-LOC"]), scheme_of(["NOUN", "VERB"])
    ('entities', 'entities', 'plain')
    """
    is_entities = _look_like_entities(names) and all(map(is_entity_tag, names)) and bool(_forms(names))
    return ENTITIES if is_entities else PLAIN


def scheme_of_rows(data: Rows, label_names: Mapping[str, str]) -> str:
    """Return the scheme of the tags of training data.

    Raises:
        ValueError: only some of the tags are parts of entities, or they have letters of several forms; the message
            names the first such tag and its row.
    """
    names = {label_names.get(tag, tag) for tags in data.columns["tags"] for tag in tags}
    is_begun = any(name[:2] in ("B-", "I-") for name in names)
    if _look_like_entities(names) and (is_begun or all(map(is_entity_tag, names))):
        check_entity_tags(data, label_names)
    return scheme_of(names)


def check_entity_tags(data: Rows, label_names: Mapping[str, str]) -> None:
    """Raise a ValueError that names the first tag that is not part of an entity, or has a letter of another form."""
    seen: set[str] = set()
    for where, name in _first_places(data, label_names):
        fix = f"`scheme` {PLAIN} is for other tags, `label_names.{name}` renames one"
        if not is_entity_tag(name):
            raise ValueError(
                f"{where}: tag {name!r} is not part of an entity, which are O, B-X, I-X, E-X and S-X; {fix}"
            )
        if not _forms({*seen, name}):
            other = next(one for one in sorted(seen) if not _forms({one, name}))
            raise ValueError(
                f"{where}: tag {name!r} does not go with {other!r} above: entities end with E-X and S-X, or with L-X "
                f"and U-X; {fix}"
            )
        seen.add(name)


def _first_places(data: Rows, label_names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each tag where it occurs first: its row, and its name."""
    known: set[str] = set()
    for index, tags in enumerate(data.columns["tags"]):
        for place, tag in enumerate(tags):
            if (name := label_names.get(tag, tag)) not in known:
                known.add(name)
                yield data.where(index, place), name


def in_iob2(tags: Sequence[str]) -> list[str]:
    """Return a sentence's tags for the same entities, with B at the beginning of each and I after it.

    >>> in_iob2(["U-LOC", "O", "B-PER", "I-PER", "L-PER"])
    ['B-LOC', 'O', 'B-PER', 'I-PER', 'I-PER']
    """
    converted = [OUTSIDE] * len(tags)
    for entity in find_entities(tags):
        inside = [f"I-{entity.kind}"] * (entity.last - entity.first)
        converted[entity.first : entity.last + 1] = [f"B-{entity.kind}", *inside]
    return converted


def has_other_letters(names: Collection[str]) -> bool:
    """Return whether a tag has another letter than B and I.

    >>> has_other_letters(["O", "B-LOC"]), has_other_letters(["O", "L-LOC"])
    (False, True)
    """
    return bool(_letters(names) - {"B", "I"})


def converted_rows(data: Rows, label_names: Mapping[str, str]) -> Rows:
    """Return rows with their tags renamed and converted by `in_iob2`; a line says so."""
    names = [[label_names.get(tag, tag) for tag in tags] for tags in data.columns["tags"]]
    form = _forms({tag for tags in names for tag in tags})[0]
    log_once(
        f"{data.sources[0][0]}: the tags are {form}; they are learned and predicted as B-, I- and O, which mark the "
        f"same entities; --scheme {PLAIN} learns them as they are"
    )
    return data.with_columns(data.columns | {"tags": list(map(in_iob2, names))})


def _letters(names: Collection[str]) -> set[str]:
    return {name[0] for name in names if name != OUTSIDE and is_entity_tag(name)}


def _forms(names: Collection[str]) -> list[str]:
    """Return the names of the forms that have all letters of these tags."""
    return [form for form, letters in _FORMS.items() if _letters(names) <= set(letters)]


def _look_like_entities(names: Collection[str]) -> bool:
    parts = [name for name in names if name != OUTSIDE and is_entity_tag(name)]
    return bool(parts) and (OUTSIDE in names or len({name[2:] for name in parts}) < len(parts))
