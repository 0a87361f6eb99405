# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Translation of sentences by any encoder-decoder (Sutskever et al. 2014, Bahdanau et al. 2015, Vaswani et al. 2017).

Both languages share one subword vocabulary, unless `joint_vocabulary` is false. Then `target_tokenizer` is saved in a
folder of its own beside the model (see `tokenization.pairs`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from transformers import AutoConfig, AutoModelForSeq2SeqLM

from hf_lecture_models.base.limits import check_tokenizer, longest_input
from hf_lecture_models.base.traits import trait
from hf_lecture_models.data.holdout import SplitKeys
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.io.files import write_file
from hf_lecture_models.io.recipe import setting
from hf_lecture_models.io.runs import is_main_process
from hf_lecture_models.tasks.core.baselines import Baseline, LearnedBaseline, baseline_of
from hf_lecture_models.tasks.core.encoder_decoder import make_encoder_decoder, new_tokenizer
from hf_lecture_models.tasks.core.errors import Errors
from hf_lecture_models.tasks.core.factories import load_tokenizer
from hf_lecture_models.tasks.core.hold_out import keys_of_rows
from hf_lecture_models.tasks.core.settings import Settings
from hf_lecture_models.tasks.core.shuffled import ShuffledBatches
from hf_lecture_models.tasks.core.task import Encoded, Measure, Task, TaskRecipe
from hf_lecture_models.tasks.translation.baseline import CopyOfSource
from hf_lecture_models.tasks.translation.batches import BatchesByTokens, PairCollator
from hf_lecture_models.tasks.translation.bleu import bleu_and_chrf, chrf_of_sentences, is_bleu_defined, signatures
from hf_lecture_models.tasks.translation.grammar import french_english_pairs
from hf_lecture_models.tasks.translation.rows import PairsRecipe, find_blank, keep_rows, read_pairs
from hf_lecture_models.tasks.translation.translate import Translation as Translated
from hf_lecture_models.tasks.translation.translate import (
    encode_sources,
    start_of,
    target_tokenizer_of,
    translate_encoded,
)
from hf_lecture_models.tokenization.pairs import TARGET_FOLDER, TokenizerPair, with_target_tokenizer
from hf_lecture_models.tokenization.registry import tokenizer_types
from hf_lecture_models.trainer.averaging import keep_average
from hf_lecture_models.trainer.batches import Batches

if TYPE_CHECKING:
    from hf_lecture_models.trainer.loop import Evaluation

GRAMMAR = "french_english"
_EVALUATION_BATCH = 32


@dataclass(kw_only=True)
class TranslationSettings(Settings):
    """The settings of a translator."""

    saved = ("max_length",)

    max_length: int | None = setting(
        None,
        "longer pairs are not learned, longer sources are cut; null: what the model cannot read is an error",
        least=2,
    )
    num_beams: int = setting(4, "beams on test data, and of the saved model where a call says nothing", least=1)
    length_penalty: float = setting(1.0, "of beam search: log P / length ** length_penalty decides")


_EPOCHS_OF_GRAMMAR = 6.0


@dataclass(kw_only=True)
class TranslationRecipe(TranslationSettings, TaskRecipe, PairsRecipe):
    """The recipe of a translation model; its data have the columns `source` and `target`."""

    task: str | None = setting(
        None,
        "pairs that come with the package: `french_english`, a small grammar; null: those that the recipe names, or "
        "without any these",
        choices=(GRAMMAR,),
    )
    batch_tokens: int = setting(
        512,
        "tokens of one side of one optimizer step, padding included, of pairs of like length; 0: batch_size pairs",
        least=0,
    )
    label_smoothing: float = setting(0.1, "share of the target probability that all tokens have alike", least=0)
    validation_beams: int = setting(1, "beams on validation data; 1: greedy search", least=1)
    average_checkpoints: int = setting(
        0, "at the end also try the mean of the weights of the newest so many checkpoints; 0: do not", least=0
    )
    joint_vocabulary: bool = setting(True, "one vocabulary for both languages; false: one for each, of equal size")
    tokenizer: dict[str, Any] = setting(
        {"type": "bpe", "form": "bytes", "vocab_size": 8000},
        f"type {tokenizer_types()}; options of its train(); sampling: 0.2 draws other segmentations of the type "
        "unigram in each epoch, P(x)^0.2",
    )
    model: dict[str, Any] = setting(
        {
            "model_type": "lecture_recurrent_seq2seq",
            "cell_type": "gru",
            "hidden_size": 96,
            "bidirectional_encoder": True,
            "attention_type": "additive",
        },
        "model_type and the fields of its config",
    )
    new_learning_rate: ClassVar[float] = 3e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.label_smoothing >= 1:
            raise ValueError(f"recipe: label_smoothing must be below 1, not {self.label_smoothing}")
        own = self.dataset_name or self.train_files or self.train_rows
        if self.task == GRAMMAR and own:
            raise ValueError(f"recipe: task {GRAMMAR} brings pairs of its own, but others to train on are named too")
        if self.task is None and not own:
            self.task = GRAMMAR
        if self.task == GRAMMAR:
            self.data = {"name": "a small grammar of French and English", "language": ["fr", "en"]} | self.data
        self.keep_checkpoints = max(self.keep_checkpoints, self.average_checkpoints)

    def usual_epochs(self) -> float | None:
        """Return 6 epochs for the pairs of the package, after which a model learns little; else as any task."""
        own = self.dataset_name or self.train_files or self.train_rows
        return super().usual_epochs() if own else _EPOCHS_OF_GRAMMAR

    def effective_batch(self) -> str:
        """Return the size of one optimizer step in words."""
        return (
            f"at most {self.batch_tokens:,} tokens of either side, or one longer pair"
            if self.batch_tokens
            else super().effective_batch()
        )


class Translation(Task[TranslationRecipe]):
    """The task of translating sentences; its data are `Rows` of `source` and `target`."""

    name = "translation"
    auto_class = AutoModelForSeq2SeqLM
    pipeline_tag = "translation"
    items = "tokens"
    script = "train_translation.py"
    next_command = "hf-lecture translate {} < texts.txt"
    recipe_class: ClassVar[type[TranslationRecipe]] = TranslationRecipe
    settings_class: ClassVar[type[TranslationSettings]] = TranslationSettings
    baseline: ClassVar[Baseline | None] = CopyOfSource()

    def measures(self, settings: TranslationSettings) -> tuple[Measure, ...]:
        """Return BLEU and chrF."""
        return Measure("bleu", "BLEU", lower_is_better=False), Measure("chrf", "chrF", lower_is_better=False)

    def read(self, recipe: TranslationRecipe, part: str) -> Rows | None:
        """Read the pairs of the part; training pairs with an empty side are left out.

        Raises:
            ValueError: as `read_pairs`; or a side of a pair to measure or to translate is empty.
        """
        if recipe.task == GRAMMAR and part != "predict" and not getattr(recipe, f"{part}_files"):
            sources, targets = zip(*french_english_pairs(part), strict=True)
            return Rows({"source": list(sources), "target": list(targets)}, [(f"{GRAMMAR}, {part}", len(sources))])
        rows = read_pairs(recipe, part)
        blank = [] if rows is None else find_blank(rows)
        if rows is None or not blank:
            return rows
        if part != "train":
            where = rows.where(blank[0])
            raise ValueError(f"{where} has an empty side: {rows[blank[0]]}; leave it out of both languages")
        return keep_rows(rows, sorted({*range(len(rows))} - {*blank}), "a side is empty")

    def split_keys(self, recipe: TranslationRecipe, data: Rows) -> SplitKeys:
        """Keep pairs of the same source on one side."""
        return keys_of_rows(data, {"source": data.columns["source"]})

    def processor(self, recipe: TranslationRecipe, data: Rows) -> Any:
        """Return the tokenizer, which adds only the end of text to a sentence; or one for each language."""
        if recipe.from_pretrained:
            tokenizer = load_tokenizer(recipe.from_pretrained)
            config = AutoConfig.from_pretrained(recipe.from_pretrained)
            return with_target_tokenizer(tokenizer, config, recipe.from_pretrained)
        sides = data.columns["source"], data.columns["target"]
        if recipe.joint_vocabulary:
            return new_tokenizer(recipe.tokenizer, [*sides[0], *sides[1]])
        return _tokenizer_of_each(recipe.tokenizer, *sides)

    def model(self, recipe: TranslationRecipe, processor: Any, data: Rows) -> Any:
        """Return the translation model; the recipe's search settings become the defaults of `generate`."""
        model = make_encoder_decoder(recipe, processor)
        if isinstance(processor, TokenizerPair):
            model.config.target_tokenizer = TARGET_FOLDER
        decoding = model.generation_config
        decoding.num_beams, decoding.length_penalty = recipe.num_beams, recipe.length_penalty
        return model

    def batches(self, model: Any, processor: Any, data: Rows, recipe: TranslationRecipe) -> Batches:
        """Return batches of pairs of similar length, in a new order each epoch.

        Raises:
            ValueError: the tokenizer belongs to another model; a pair is too long for it, and `max_length` is missing;
                or no pair is left.
        """
        sources, targets = _encoded(model, processor, data, recipe.max_length)
        pads = processor.pad_token_id, target_tokenizer_of(model, processor).pad_token_id
        collate = PairCollator(sources, targets, pads, start_of(model), recipe.label_smoothing)
        if not recipe.batch_tokens:
            return ShuffledBatches(len(sources), collate, recipe.batch_size, recipe.seed)
        lengths = np.array([[len(source), len(target)] for source, target in zip(sources, targets, strict=True)])
        return BatchesByTokens(lengths, collate, recipe.batch_tokens, recipe.seed)

    def training_options(self, model: Any, recipe: TranslationRecipe) -> dict[str, Any]:
        """Turn off the cache, and logits that the loss does not need."""
        spared = not recipe.label_smoothing and trait(model, "loss_without_logits")
        return {"forward_options": {"use_cache": False, **({"logits_to_keep": 1} if spared else {})}}

    def encode(self, model: Any, processor: Any, data: Rows, settings: TranslationSettings) -> Encoded:
        """Tokenize the sources."""
        inputs = encode_sources(model, processor, data.columns["source"], settings.max_length, data.where)
        return Encoded(data, inputs, data.columns.get("target"))

    def predict(
        self,
        model: Any,
        processor: Any,
        encoded: Encoded,
        settings: Any,
        batch_size: int = _EVALUATION_BATCH,
        **options: Any,
    ) -> list[list[Translated]]:
        """Return the translations of each source, best first: one, unless `num_return_sequences` asks for more.

        Args:
            options: options of `model.generate`; they replace the recipe's `num_beams` and `length_penalty`.
        """
        search = {"num_beams": settings.num_beams, "length_penalty": settings.length_penalty}
        # Without `max_new_tokens`, the limit of an output follows from each source.
        return translate_encoded(
            model, processor, encoded.inputs, batch_size, **{"max_new_tokens": None, **search, **options}
        )

    def answers(self, model: Any, processor: Any, encoded: Encoded, settings: Any) -> list[Any]:
        """Return the best translation of each source."""
        return [translations[0].text for translations in self.predict(model, processor, encoded, settings)]

    def measure_answers(
        self, model: Any, processor: Any, encoded: Encoded, answers: Sequence[Any], settings: Any
    ) -> dict[str, Any]:
        """Return BLEU, where it is defined, and chrF of the detokenized translations, their signatures, the search."""
        decoding = {"num_beams": settings.num_beams, "length_penalty": settings.length_penalty, "pairs": len(answers)}
        found = bleu_and_chrf(answers, encoded.labels)
        return found | decoding | {f"{name}_signature": signatures()[name] for name in found}

    def evaluation(
        self,
        model: Any,
        processor: Any,
        data: Rows,
        recipe: TranslationRecipe,
        beside: LearnedBaseline | None = None,
    ) -> "Evaluation":
        """Measure with the recipe's beams for validation data, by chrF if BLEU is not defined."""
        greedy = replace(recipe, num_beams=recipe.validation_beams)
        found = super().evaluation(model, processor, data, greedy, beside)
        no_bleu = found.metric == "bleu" and not is_bleu_defined(data.columns["target"])
        return replace(found, metric="chrf") if no_bleu else found

    def train(self, model: Any, processor: Any, data: Any, validation_data: Any, recipe: Any, **options: Any) -> Any:
        """Train as all tasks do; then keep the mean of the newest checkpoints if it is the best, or nothing measures.

        Raises:
            ValueError, FloatingPointError, OSError: as `Task.train`.
        """
        result = super().train(model, processor, data, validation_data, recipe, **options)
        if not recipe.average_checkpoints or result.stopped.startswith("SIG") or not is_main_process():
            return result
        baseline, none = baseline_of(self), validation_data is None
        beside = None if baseline is None else LearnedBaseline.read(baseline, result.folder)
        measured = None if none else self.evaluation(model, processor, validation_data, recipe, beside)
        found = keep_average(model, result, recipe.average_checkpoints, measured)
        if beside is not None and found.best_metric != result.best_metric:
            beside.save_pretrained(found.folder)
        return found

    def errors(self, model: Any, processor: Any, data: Rows, settings: TranslationSettings) -> Errors:
        """Return all pairs with their translations, lowest chrF of the sentence first."""
        found = self.predict(model, processor, self.encode(model, processor, data, settings), settings)
        texts, right = [translations[0].text for translations in found], data.columns["target"]
        rows = [
            {"source": source, "gold": gold, "predicted": own, "chrf": chrf, "where": data.where(row)}
            for row, (source, gold, own, chrf) in enumerate(
                zip(data.columns["source"], right, texts, chrf_of_sentences(texts, right), strict=True)
            )
        ]
        return Errors(sorted(rows, key=lambda row: row["chrf"]), len(rows), by="lowest chrF")

    def write_predictions(
        self, model: Any, processor: Any, data: Rows, settings: TranslationSettings, folder: Path
    ) -> Path:
        """Write `translations.txt`, a line for each source."""
        encoded = self.encode(model, processor, data, settings)
        texts = [translations[0].text for translations in self.predict(model, processor, encoded, settings)]
        lines = (f"{' '.join(text.splitlines())}\n" for text in texts)
        return write_file(folder / "translations.txt", "".join(lines))

    def describe(self, model: Any, settings: TranslationSettings, data: Rows | None = None) -> dict[str, Any]:
        """Add sacrebleu's signatures."""
        return super().describe(model, settings, data) | {"signatures": signatures()}


def search_of(model: Any) -> dict[str, Any]:
    """Return how a saved model searches for a translation, as fields of a recipe.

    >>> from types import SimpleNamespace
    >>> from transformers import GenerationConfig
    >>> search_of(SimpleNamespace(generation_config=GenerationConfig(num_beams=3)))
    {'num_beams': 3, 'length_penalty': 1.0}
    """
    decoding = model.generation_config
    length_penalty = 1.0 if decoding.length_penalty is None else decoding.length_penalty
    return {"num_beams": decoding.num_beams or 1, "length_penalty": length_penalty}


def _tokenizer_of_each(options: Mapping[str, Any], sources: list[str], targets: list[str]) -> TokenizerPair:
    """Return two tokenizers of equal size, so that special tokens, which come last, have the same ids in both.

    Raises:
        ValueError: as `TokenizerPair`.
    """
    both = [new_tokenizer(options, texts) for texts in (sources, targets)]
    size = min(map(len, both))
    for place, texts in enumerate((sources, targets)):
        if len(both[place]) > size:
            both[place] = new_tokenizer({**options, "vocab_size": size}, texts)
    return TokenizerPair(*both)


def _encoded(
    model: Any, processor: Any, data: Rows, max_length: int | None
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the ids of both sides of each pair; pairs with a side of more than `max_length` tokens are left out."""
    check_tokenizer(model, processor)
    sides = [
        processor(data.columns["source"], verbose=False)["input_ids"],
        target_tokenizer_of(model, processor)(text_target=data.columns["target"], verbose=False)["input_ids"],
    ]
    longest = longest_input(model, processor)
    most = longest if max_length is None else min(max_length, longest)
    kept = [index for index, pair in enumerate(zip(*sides, strict=True)) if max(map(len, pair)) <= most]
    if len(kept) < len(data) and max_length is None:
        first = min(set(range(len(data))) - set(kept))
        raise ValueError(
            f"{data.where(first)} has a side of {max(len(side[first]) for side in sides)} tokens and the model reads "
            f"{longest} at most; `max_length` {longest} leaves such pairs out"
        )
    keep_rows(data, kept, f"a side has more than {most} tokens")
    arrays = [[np.array(side[index], dtype=np.int32) for index in kept] for side in sides]
    return arrays[0], arrays[1]
