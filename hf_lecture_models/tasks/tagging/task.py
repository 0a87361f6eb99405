# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The tagging of words: parts of speech, names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from transformers import AutoModelForTokenClassification

from hf_lecture_models.data.benchmarks import Benchmarked, BenchmarkRecipe, benchmarks_of
from hf_lecture_models.data.holdout import SplitKeys
from hf_lecture_models.data.reading import read_rows
from hf_lecture_models.data.rows import UNLEARNED, Rows
from hf_lecture_models.io.files import staged_file
from hf_lecture_models.io.recipe import setting
from hf_lecture_models.tasks.core.baselines import LearnedBaseline
from hf_lecture_models.tasks.core.errors import Errors, errors_of_classes
from hf_lecture_models.tasks.core.factories import log_once, templated_tokenizer
from hf_lecture_models.tasks.core.heads import HeadRecipe
from hf_lecture_models.tasks.core.hold_out import keys_of_rows
from hf_lecture_models.tasks.core.labels import (
    checkpoint_classes,
    class_fields,
    classes_of,
    ids_of_tags,
    log_found_classes,
    make_head,
    named_by_text,
    names_of_labels,
)
from hf_lecture_models.tasks.core.lines import LineForm, PredictionOptions
from hf_lecture_models.tasks.core.settings import Settings
from hf_lecture_models.tasks.core.shuffled import ShuffledBatches
from hf_lecture_models.tasks.core.task import Encoded, Measure, Task
from hf_lecture_models.tasks.metrics import compute
from hf_lecture_models.tasks.tagging.baseline import MostFrequentTag
from hf_lecture_models.tasks.tagging.entities import is_entity_tag, locate_entities
from hf_lecture_models.tasks.tagging.measures import entities
from hf_lecture_models.tasks.tagging.schemes import (
    ENTITIES,
    PLAIN,
    check_entity_tags,
    converted_rows,
    has_other_letters,
    in_iob2,
    scheme_of,
    scheme_of_rows,
)
from hf_lecture_models.tasks.tagging.sentences import (
    OUTSIDE,
    UNREAD,
    SentenceCollator,
    count_words,
    encode_sentences,
    predict_words,
    token_labels,
)
from hf_lecture_models.tokenization.registry import tokenizer_types
from hf_lecture_models.tokenization.splitting import split_words
from hf_lecture_models.trainer.batches import Batches

SPELLINGS = {"type": "elmo", "max_characters_per_token": 25}
"""The default tokenizer: the characters of each word."""
SPELLING_TAGGER = {
    "model_type": "lecture_elmo",
    "max_characters_per_token": 25,
    "char_filters": [[2, 32], [4, 64]],
    "num_highway_layers": 1,
    "projection_size": 32,
    "num_hidden_layers": 0,
    "word_vector_size": 96,
    "hash_rows": 4096,
    "task_hidden_size": 128,
}
"""The default model: no language model, but a bidirectional LSTM over characters and hashed features of words."""

if TYPE_CHECKING:
    from hf_lecture_models.trainer.loop import Evaluation

_EVALUATION_BATCH = 64
_NO_TAG = "_"
"""The sign for no tag in CoNLL files."""


@dataclass(kw_only=True)
class TaggingSettings(Settings, Benchmarked):
    """The settings of a tagger."""

    saved = ("max_length", "scheme")

    task: str | None = setting(
        None,
        "names the columns of its files, what its tags are, and its data on the Hub, if they are there; null: a task "
        "of your own",
        choices=benchmarks_of("token_classification"),
    )
    scheme: str | None = setting(
        None,
        "what tags are: `plain`, a class of each word, or `entities`, which begin (B-X) and go on (I-X) outside of O; "
        "these are measured by entity; tags of IOBES, BILOU or BMES are converted to B-, I- and O; null: by the "
        "training data, entities if all tags are parts of them",
        choices=(PLAIN, ENTITIES),
    )
    label_names: dict[str, str] = setting({}, "names of the tags, by what the data call them: {0: O, 1: B-PER}")
    max_length: int | None = setting(
        None, "tokens of an input, longer ones are cut; null: one that is too long for the model is an error", least=1
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.label_names = named_by_text("label_names", self.label_names)
        if self.benchmark is not None:
            self.scheme, self.label_names = self.benchmark.scheme, {**self.benchmark.classes, **self.label_names}

    @classmethod
    def of(cls, facts: Mapping[str, Any], task: str) -> Self:
        """Return the settings of a saved model; a `task.json` of an older version has the scheme beside them."""
        saved = facts.get("task") or {}
        older = {name: saved[name] for name in ("scheme",) if name in saved}
        return super().of({**facts, "task": {**saved, "settings": older | (saved.get("settings") or {})}}, task)

    def for_model(self, config: Any) -> Self:
        """Return the settings with a scheme: their own, or else that of the model's tags."""
        return self if self.scheme is not None else replace(self, scheme=scheme_of(classes_of(config)))


@dataclass(kw_only=True)
class TokenClassificationRecipe(TaggingSettings, HeadRecipe, BenchmarkRecipe):
    """The recipe of a tagger; its data have the columns `tokens` and `tags`, a list of words and a tag for each."""

    new_learning_rate: ClassVar[float] = 3e-3

    tokenizer: dict[str, Any] = setting(
        SPELLINGS,
        f"type {tokenizer_types()}; options of its train(); the default model reads the type elmo; with another model "
        "word, if the recipe says nothing",
    )
    model: dict[str, Any] = setting(
        SPELLING_TAGGER,
        "model_type and the fields of its config; with another tokenizer lecture_recurrent, bidirectional, if the "
        "recipe says nothing; with from_pretrained, fields to change: {dropout: 0.2}",
    )

    def __post_init__(self) -> None:
        # Values of other types are refused by name below.
        if not self.from_pretrained and isinstance(self.model, dict) and isinstance(self.tokenizer, dict):
            self._match_tokenizer_and_model()
        super().__post_init__()

    def _match_tokenizer_and_model(self) -> None:
        """Replace the default of one by that which suits the other, if the recipe gives only the other."""
        reads_spellings = self.model.get("model_type") == SPELLING_TAGGER["model_type"]
        if self.tokenizer == SPELLINGS and not reads_spellings:
            self.tokenizer = {"type": "word"}
        elif self.model == SPELLING_TAGGER and self.tokenizer.get("type", "word") != SPELLINGS["type"]:
            self.model = {"model_type": "lecture_recurrent", "bidirectional": True}


class SentenceLines(LineForm):
    """Lines of a sentence, with blanks between the words."""

    def is_blank(self, fields: Mapping[str, Any]) -> bool:
        """Return whether a sentence has no word."""
        return not fields["text"].strip()

    def shown(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the words of a sentence as one text."""
        return {"text": " ".join(row["tokens"])}


class TokenClassification(Task[TokenClassificationRecipe]):
    """The task of tagging words; its data are `Rows`."""

    name = "token_classification"
    auto_class = AutoModelForTokenClassification
    pipeline_tag = "token-classification"
    items = "tags"
    script = "finetune_tagging.py"
    recipe_class: ClassVar[type[TokenClassificationRecipe]] = TokenClassificationRecipe
    settings_class = TaggingSettings
    line_form = SentenceLines("sentences, with blanks between the words", usual=0)
    next_command = "hf-lecture predict {} < sentences.txt"
    baseline = MostFrequentTag()

    def measures(self, settings: TaggingSettings) -> tuple[Measure, ...]:
        """Return the accuracy of tags; unless they are plain, F1, precision and recall of entities come first."""
        accuracy = Measure("accuracy", "accuracy of tags", lower_is_better=False)
        if settings.scheme == PLAIN:
            return (accuracy,)
        keys = {"f1": "F1 of entities", "precision": "precision of entities", "recall": "recall of entities"}
        return (*(Measure(key, label, lower_is_better=False) for key, label in keys.items()), accuracy)

    def read(self, recipe: TokenClassificationRecipe, part: str) -> Rows | None:
        """Read the rows of the part, with words and tags as texts.

        Training data set `scheme`; their tags are converted to B-, I- and O if they mark entities with other letters,
        which the checkpoint does not have.

        Raises:
            ValueError: as `read_rows` and `scheme_of_rows`; or a row has no words, or not as many tags as words.
        """
        rows = read_rows(recipe, part, required=("tokens",), labels=("tags",))
        if rows is None:
            return None
        rows = _checked(rows)
        return _with_scheme(rows, recipe) if part == "train" else rows

    def split_keys(self, recipe: TokenClassificationRecipe, data: Rows) -> SplitKeys:
        """Keep sentences of the same words on one side, and each tag in the training data."""
        names = recipe.label_names
        tags = [{names.get(tag, tag) for tag in own} for own in data.columns["tags"]]
        return keys_of_rows(data, {"sentence": data.columns["tokens"]}, labels=tags)

    def processor(self, recipe: TokenClassificationRecipe, data: Rows) -> Any:
        """Return the tokenizer, with the template that the model needs."""
        return templated_tokenizer(self.auto_class, recipe, map(" ".join, data.columns["tokens"]))

    def model(self, recipe: TokenClassificationRecipe, processor: Any, data: Rows) -> Any:
        """Return the tagger, with the tags of the data.

        A checkpoint that already has all of these tags keeps its own. A checkpoint with as many other tags is refused,
        because they cannot be matched.
        """
        names = _names_of_checkpoint(tag_names(data, recipe), recipe)
        return make_head(self.auto_class, recipe, processor, class_fields(names))

    def batches(self, model: Any, processor: Any, data: Rows, recipe: TokenClassificationRecipe) -> Batches:
        """Return batches of sentences in a new order each epoch; each micro-batch is padded to its longest sentence.

        Raises:
            ValueError: as `encode_sentences` and `read_tags`; or no word of any sentence has a token.
        """
        encoded = self.encode(model, processor, data, recipe)
        sentences = encoded.inputs
        words, unread = count_words(sentences)
        if unread == words:
            raise ValueError(f"max_length {recipe.max_length} leaves no word of any sentence")
        if unread:
            log_once(
                f"{unread:,} of {words:,} words are not learned: max_length cuts them, or no token stands for them"
            )
        ids = ids_of_tags(model.config)
        labels = [
            token_labels(sentence, own, ids, are_entities=recipe.for_model(model.config).scheme == ENTITIES)
            for sentence, own in zip(sentences, encoded.labels, strict=True)
        ]
        collate = SentenceCollator([sentence.inputs for sentence in sentences], labels, processor)
        return ShuffledBatches(len(data), collate, recipe.batch_size, recipe.seed)

    def encode(self, model: Any, processor: Any, data: Rows, settings: TaggingSettings) -> Encoded:
        """Tokenize the sentences, and convert their tags, if they have any, to the model's names for them.

        Raises:
            ValueError: as `encode_sentences` and `read_tags`; or a tag of the model is not part of an entity, although
                the recipe says that all are.
        """
        settings = settings.for_model(model.config)
        if settings.scheme == ENTITIES and "tags" in data.columns:
            _refuse_other_tags(classes_of(model.config), "the model")
        sentences = encode_sentences(model, processor, data, settings.max_length)
        if "tags" not in data.columns:
            return Encoded(data, sentences)
        tags = read_tags(model.config, data, settings)
        return Encoded(data.with_columns(data.columns | {"tags": tags}), sentences, tags)

    def evaluation(
        self,
        model: Any,
        processor: Any,
        data: Any,
        recipe: TokenClassificationRecipe,
        beside: LearnedBaseline | None = None,
    ) -> "Evaluation":
        """Encode data once for a run; the model's tags decide the scheme if the recipe names none."""
        return super().evaluation(model, processor, data, recipe.for_model(model.config), beside)

    def predict(
        self, model: Any, processor: Any, encoded: Encoded, batch_size: int = _EVALUATION_BATCH
    ) -> list[list[tuple[int, float]]]:
        """Return the id of each word's most probable tag, and its probability; `UNREAD` for a word without tokens."""
        return predict_words(model, processor, encoded.inputs, batch_size)

    def answers(self, model: Any, processor: Any, encoded: Encoded, settings: TaggingSettings) -> list[list[int]]:
        """Return the ids of the tags of each row's words."""
        return [[tag for tag, _ in row] for row in self.predict(model, processor, encoded)]

    def measure_answers(
        self,
        model: Any,
        processor: Any,
        encoded: Encoded,
        answers: Sequence[Sequence[int]],
        settings: TaggingSettings,
    ) -> dict[str, Any]:
        """Return the measures, and the numbers of words and sentences.

        Words that `max_length` cuts off count as a wrong tag or, for entities, as O.
        """
        ids, names = ids_of_tags(model.config), classes_of(model.config)
        settings = settings.for_model(model.config)
        right = [ids[tag] for row in encoded.labels for tag in row]
        measured = {"accuracy": compute("accuracy", list(chain.from_iterable(answers)), right)}
        if settings.scheme == ENTITIES:
            predicted = [[OUTSIDE if tag == UNREAD else names[tag] for tag in row] for row in answers]
            measured = entities(predicted, encoded.labels) | measured
        words, unread = count_words(encoded.inputs)
        return {**measured, "words": words, "unread_words": unread, "sentences": len(encoded.inputs)}

    def predictions(
        self, model: Any, processor: Any, data: Rows, settings: TaggingSettings, options: PredictionOptions
    ) -> list[list[dict[str, Any]]]:
        """Return the words of each row with their tags, None for a word without tokens; or the row's entities.

        Args:
            data: rows of `tokens`, or of `text`, in which blanks separate the words.
        """
        sentences = data.columns.get("tokens") or [split_words(text) for text in data.texts("text")]
        texts = data.columns.get("text") or [" ".join(words) for words in sentences]
        encoded = self.encode(model, processor, Rows({"tokens": sentences}, data.sources, data.lines), settings)
        names = {UNREAD: None, **dict(enumerate(classes_of(model.config)))}
        found: list[list[dict[str, Any]]] = []
        for text, words, tags in zip(
            texts, sentences, self.predict(model, processor, encoded, options.batch_size), strict=True
        ):
            labels, scores = [names[tag] for tag, _ in tags], [score for _, score in tags]
            if options.aggregate:
                found.append(locate_entities(text, words, labels, scores))
            else:
                found.append([{"word": word, "label": label} for word, label in zip(words, labels, strict=True)])
        return found

    def errors(self, model: Any, processor: Any, data: Rows, settings: TaggingSettings) -> Errors:
        """Return the words with a wrong tag, each with its sentence; a word without tokens is predicted as ""."""
        encoded = self.encode(model, processor, data, settings)
        ids, names = ids_of_tags(model.config), {UNREAD: "", **dict(enumerate(classes_of(model.config)))}
        found, items = self.predict(model, processor, encoded), []
        for row, (words, tags, predicted) in enumerate(zip(data.columns["tokens"], encoded.labels, found, strict=True)):
            sentence = " ".join(words)
            for place, (word, tag, (own, score)) in enumerate(zip(words, tags, predicted, strict=True)):
                answer = {"gold": names[ids[tag]], "predicted": names[own], "score": score}
                items.append({"sentence": sentence, "word": word, **answer, "where": data.where(row, place)})
        return errors_of_classes(items)

    def write_predictions(
        self, model: Any, processor: Any, data: Rows, settings: TaggingSettings, folder: Path
    ) -> Path:
        """Write `predictions.conll`: a word and its tag on each line, and an empty line after each sentence.

        Words that `max_length` cuts off get the tag O for entities, else `_` for no tag.
        """
        names = classes_of(model.config)
        unread = OUTSIDE if settings.for_model(model.config).scheme == ENTITIES else _NO_TAG
        found = self.predict(model, processor, self.encode(model, processor, data, settings))
        with staged_file(folder / "predictions.conll") as path, path.open("w", encoding="utf-8", newline="\n") as file:
            for words, tags in zip(data.columns["tokens"], found, strict=True):
                named = (unread if tag == UNREAD else names[tag] for tag, _ in tags)
                file.writelines(f"{word}\t{tag}\n" for word, tag in zip(words, named, strict=True))
                file.write("\n")
        return folder / "predictions.conll"

    def describe(self, model: Any, settings: TaggingSettings, data: Rows | None = None) -> dict[str, Any]:
        """Describe the task; add the tags and their scheme."""
        settings = settings.for_model(model.config)
        return super().describe(model, settings, data) | {
            "classes": classes_of(model.config),
            "scheme": settings.scheme,
        }


def _with_scheme(rows: Rows, recipe: TokenClassificationRecipe) -> Rows:
    """Set the recipe's scheme by its training data, and return these with the tags that the model learns."""
    if recipe.scheme is None:
        recipe.scheme = scheme_of_rows(rows, recipe.label_names)
        if recipe.scheme == ENTITIES:
            log_once(f"all tags are parts of entities, and entities are measured; --scheme {PLAIN} measures words")
    names = {recipe.label_names.get(tag, tag) for tags in rows.columns["tags"] for tag in tags}
    if recipe.scheme == PLAIN or scheme_of(names) == PLAIN or not has_other_letters(names):
        return rows
    if names <= set(checkpoint_classes(recipe, "ForTokenClassification")):
        return rows
    return converted_rows(rows, recipe.label_names)


def _checked(rows: Rows) -> Rows:
    for name, values in rows.columns.items():
        for index, value in enumerate(values):
            if not isinstance(value, list):
                raise ValueError(f"{rows.where(index)}: {name} is {value!r}, no list")
    for index, words in enumerate(rows.columns["tokens"]):
        if not words:
            raise ValueError(f"{rows.where(index)} has no word; leave it out")
        for place, word in enumerate(words):
            if not isinstance(word, str) or not word.strip():
                raise ValueError(f"{rows.where(index, place)} is {word!r}, no word")
    if "tags" not in rows.columns:
        return rows
    for index, tags in enumerate(rows.columns["tags"]):
        words = rows.columns["tokens"][index]
        if len(words) != len(tags):
            raise ValueError(f"{rows.where(index)} has {len(words)} words and {len(tags)} tags; each word has one")
        for place, (word, tag) in enumerate(zip(words, tags, strict=True)):
            if not isinstance(tag, str | int) or isinstance(tag, bool) or not str(tag).strip():
                raise ValueError(f"{rows.where(index, place)}, {word!r}: its tag is {tag!r}, no class")
    return rows.with_columns(rows.columns | {"tags": [list(map(str, tags)) for tags in rows.columns["tags"]]})


def tag_names(data: Rows, recipe: TokenClassificationRecipe) -> list[str]:
    """Return the names of the data's tags, in the order of their numbers or of the alphabet, or those of a benchmark.

    >>> rows = Rows({"tokens": [["a", "cat"]], "tags": [["7", "0"]]}, [("train.jsonl", 1)])
    >>> tag_names(rows, TokenClassificationRecipe(label_names={7: "DET"}))
    ['0', 'DET']

    Raises:
        ValueError: there is only one tag, or a tag is not part of an entity although the recipe says that all are.
    """
    tags = [tag for tags in data.columns["tags"] for tag in tags]
    names = names_of_labels(tags, recipe.label_names)
    if len(names) < 2:
        raise ValueError(f"{data.sources[0][0]}: all tags are {names[0]!r}; there is nothing to learn")
    log_found_classes(tags, names, recipe.label_names, data.sources[0][0])
    if recipe.scheme == ENTITIES:
        check_entity_tags(data, recipe.label_names)
    elif all(map(is_entity_tag, names)):
        log_once(f"all tags are parts of entities; `scheme` {ENTITIES} measures entities in place of words")
    is_known = recipe.benchmark is not None and recipe.benchmark.classes
    return list(dict.fromkeys(recipe.label_names.values())) if is_known else names


def _refuse_other_tags(names: Sequence[str], source: str) -> None:
    for name in names:
        if not is_entity_tag(name):
            raise ValueError(
                f"{source}: tag {name!r} is not part of an entity, which are O, B-X, I-X, E-X and S-X; "
                f"`scheme` {PLAIN} is for other tags, `label_names.{name}` renames one"
            )


def read_tags(config: Any, data: Rows, settings: TaggingSettings) -> list[list[str]]:
    """Return the tags of each sentence, by the model's names for them.

    Parts of entities are converted to B-, I- and O if the model has no other letters.

    Raises:
        ValueError: a tag is not one of the model's.
    """
    ids = ids_of_tags(config)
    converts = settings.for_model(config).scheme == ENTITIES and not has_other_letters(ids)
    found = []
    for index, tags in enumerate(data.columns["tags"]):
        renamed = [settings.label_names.get(tag, tag) for tag in tags]
        names = in_iob2(renamed) if converts and has_other_letters(renamed) else renamed
        for place, name in enumerate(renamed):
            if names[place] not in ids:
                word = data.columns["tokens"][index][place]
                raise ValueError(
                    f"{data.where(index, place)}, {word!r}: tag {name!r} is none of the model's, "
                    f"{', '.join(classes_of(config))}; `label_names.{name}` says which one it is; {UNLEARNED}"
                )
        found.append(names)
    return found


def _names_of_checkpoint(names: list[str], recipe: TokenClassificationRecipe) -> list[str]:
    """Return the tags of a checkpoint that has all of `names`, else `names`."""
    own = checkpoint_classes(recipe, "ForTokenClassification")
    if set(names) <= set(own):
        return own
    if len(own) == len(names):
        raise ValueError(
            f"{recipe.from_pretrained} tells apart {', '.join(own)}, the data {', '.join(names)}; "
            "`label_names.TAG` gives a tag of the data the checkpoint's name"
        )
    return names
