# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A small grammar of French and English: pairs of sentences for a first run of translation, without any download.

A dictionary alone cannot translate it: it has agreement in gender and number, adjectives after the noun (`la maison
rouge`, `the red house`), articles that one language leaves out (`je suis étudiant`, `I am a student`), negation around
the verb (`je ne vois pas`, `I do not see`), and two words with one translation (`tu`, `vous`: `you`).
"""

import random
from collections.abc import Iterator
from functools import cache
from itertools import product

Pair = tuple[str, str]

HELD_OUT = ("Je suis étudiant", "I am a student")
"""A pair that is never among the training pairs."""
_HELD_OUT_PAIRS, _TRAINING_PAIRS = 200, 5000

# For each person: French, English, the index of the verb form, gender, whether plural.
_PERSONS = (
    ("je", "I", 0, "m", False),
    ("tu", "you", 1, "m", False),
    ("il", "he", 2, "m", False),
    ("elle", "she", 2, "f", False),
    ("nous", "we", 3, "m", True),
    ("vous", "you", 4, "m", True),
    ("ils", "they", 5, "m", True),
    ("elles", "they", 5, "f", True),
)
_BE_FRENCH, _BE_ENGLISH = ("suis", "es", "est", "sommes", "êtes", "sont"), ("am", "are", "is", "are", "are", "are")
_ENDINGS = ("e", "es", "e", "ons", "ez", "ent")
_SEE = ("vois", "vois", "voit", "voyons", "voyez", "voient")
# Forms in French, and the verb in English.
_VERBS = (
    (_SEE, "see"),
    *(
        (tuple(stem + ending for ending in _ENDINGS), english)
        for stem, english in (("aim", "like"), ("cherch", "want"), ("trouv", "find"), ("dessin", "draw"))
    ),
)
_INTRANSITIVE = (("dort", "sleeps", "sleep"), ("tombe", "falls", "fall"), ("reste ici", "stays here", "stay here"))
# Masculine and feminine; the plural appends an s.
_PROFESSIONS = (
    ("étudiant", "étudiante", "student"),
    ("enseignant", "enseignante", "teacher"),
    ("avocat", "avocate", "lawyer"),
    ("boulanger", "boulangère", "baker"),
    ("artiste", "artiste", "artist"),
)
_STATES = (
    ("fatigué", "fatiguée", "tired"),
    ("content", "contente", "happy"),
    ("grand", "grande", "tall"),
    ("prêt", "prête", "ready"),
    ("malade", "malade", "ill"),
)
_NOUNS = (
    ("chat", "m", "cat"),
    ("chien", "m", "dog"),
    ("livre", "m", "book"),
    ("arbre", "m", "tree"),
    ("maison", "f", "house"),
    ("voiture", "f", "car"),
    ("pomme", "f", "apple"),
    ("fleur", "f", "flower"),
)
# Masculine, feminine, in front of a vowel, English.
_DETERMINERS = (
    ("le", "la", "l'", "the"),
    ("un", "une", "un", "a"),
    ("mon", "ma", "mon", "my"),
    ("ce", "cette", "cet", "this"),
)
_BEHIND = (("noir", "noire", "black"), ("rouge", "rouge", "red"), ("vert", "verte", "green"), ("bleu", "bleue", "blue"))
_IN_FRONT = (("petit", "petite", "small"), ("joli", "jolie", "pretty"))


@cache
def french_english_pairs(part: str) -> tuple[Pair, ...]:
    """Return the pairs of sentences for "train", "validation" or "test", always the same; no pair is in two parts.

    >>> sizes = [len(french_english_pairs(part)) for part in ("train", "validation", "test")]
    >>> sizes, HELD_OUT in french_english_pairs("train")
    ([5000, 200, 200], False)
    """
    generator = random.Random(0)
    attributes, others = ([*dict.fromkeys(kind)] for kind in (_attributes(), (*_actions(), *_events())))
    attributes.remove(HELD_OUT)
    for pairs in (attributes, others):
        generator.shuffle(pairs)
    # The few sentences with `to be` are all learned, except these; of the many others a sample is learned.
    few, many = _HELD_OUT_PAIRS // 10, _HELD_OUT_PAIRS - _HELD_OUT_PAIRS // 10
    validation = [HELD_OUT, *attributes[: few - 1], *others[:many]]
    test = [*attributes[few - 1 : 2 * few - 1], *others[many : 2 * many]]
    train = [*attributes[2 * few - 1 :], *others[2 * many :]][:_TRAINING_PAIRS]
    return tuple({"train": train, "validation": validation, "test": test}[part])


def _attributes() -> Iterator[Pair]:
    """`Elle n'est pas étudiante`, `She is not a student`; `Nous sommes prêts`, `We are ready`."""
    kinds = ((_PROFESSIONS, True), (_STATES, False))
    for (person, subject, form, gender, plural), (words, counted), negated in product(_PERSONS, kinds, (False, True)):
        for masculine, feminine, english in words:
            french = (masculine if gender == "m" else feminine) + "s" * plural
            said = f"{english}s" if counted and plural else _with_article(english) if counted else english
            verb = _negated(_BE_FRENCH[form]) if negated else _BE_FRENCH[form]
            yield from _sentences(f"{person} {verb} {french}", f"{subject} {_BE_ENGLISH[form]}{_not(negated)} {said}")


def _actions() -> Iterator[Pair]:
    """`Je ne vois pas la maison rouge`, `I do not see the red house`."""
    for (person, subject, form, *_), (forms, verb), negated in product(_PERSONS, _VERBS, (False, True)):
        french = _elided(person, _negated(forms[form])) if negated else _elided(person, forms[form])
        third = subject in ("he", "she")
        does = "does" if third else "do"
        english = f"{subject} {does} not {verb}" if negated else f"{subject} {verb}{'s' * third}"
        for thing, said in _things():
            yield from _sentences(f"{french} {_without_article(thing) if negated else thing}", f"{english} {said}")


def _events() -> Iterator[Pair]:
    """`Le petit chat ne dort pas`, `The small cat does not sleep`."""
    for (verb, said, plain), (thing, named), negated in product(_INTRANSITIVE, _things(), (False, True)):
        first, *rest = verb.split()
        french = " ".join([_negated(first) if negated else first, *rest])
        yield from _sentences(f"{thing} {french}", f"{named} {f'does not {plain}' if negated else said}")


def _things() -> Iterator[Pair]:
    for (noun, gender, english), (masculine, feminine, vowel, said) in product(_NOUNS, _DETERMINERS):
        own = masculine if gender == "m" else feminine
        yield _joined(vowel if _begins_with_vowel(noun) else own, noun), _determined(said, english)
        for adjective in _BEHIND:
            agreed = adjective[0] if gender == "m" else adjective[1]
            bare = vowel if _begins_with_vowel(noun) else own
            yield f"{_joined(bare, noun)} {agreed}", _determined(said, f"{adjective[2]} {english}")
        for adjective in _IN_FRONT:
            agreed = adjective[0] if gender == "m" else adjective[1]
            yield f"{own} {agreed} {noun}", _determined(said, f"{adjective[2]} {english}")


def _sentences(french: str, english: str) -> Iterator[Pair]:
    """Yield the sentence with a capital letter, without and with a full stop."""
    french, english = french[0].upper() + french[1:], english[0].upper() + english[1:]
    yield french, english
    yield f"{french}.", f"{english}."


def _negated(verb: str) -> str:
    return f"{'n' + chr(39) if _begins_with_vowel(verb) else 'ne '}{verb} pas"


def _without_article(thing: str) -> str:
    """Return the object after a negation, without its article: `un chat`, `pas de chat`; `un arbre`, `pas d'arbre`."""
    article, _, rest = thing.partition(" ")
    return _joined("d'" if _begins_with_vowel(rest) else "de", rest) if article in ("un", "une") else thing


def _not(negated: bool) -> str:
    return " not" if negated else ""


def _elided(person: str, verb: str) -> str:
    """Return a person and a verb, `j'aime` in place of `je aime`."""
    return f"j'{verb}" if person == "je" and _begins_with_vowel(verb) else f"{person} {verb}"


def _joined(determiner: str, noun: str) -> str:
    return f"{determiner}{noun}" if determiner.endswith("'") else f"{determiner} {noun}"


def _determined(determiner: str, english: str) -> str:
    return _with_article(english) if determiner == "a" else f"{determiner} {english}"


def _with_article(english: str) -> str:
    return f"{'an' if _begins_with_vowel(english) else 'a'} {english}"


def _begins_with_vowel(word: str) -> bool:
    return word[0] in "aeiouéê"
