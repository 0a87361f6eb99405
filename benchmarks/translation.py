# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Translators of Multi30k: BLEU and chrF, BLEU against the length of the source, and tests of the differences.

    OMP_NUM_THREADS=1 python -m benchmarks.translation none=FOLDER reversed=FOLDER additive=FOLDER dot=FOLDER ...

A FOLDER is the output of training/train_translation.py. All models translate the same test sets with 5 beams, texts of
like length in one batch. Lengths are words of the source; a range of lengths has one BLEU, over its sentences of all
test sets. For each two models sacrebleu's paired bootstrap (Koehn 2004) gives the probability of a difference at least
as large by chance. The picture of the record "translation" is docs/translation_lengths.svg.
"""

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest
from transformers import AutoModelForSeq2SeqLM

from benchmarks.common import (
    ROOT,
    check_trained_on_committed_code,
    commit,
    data_folder,
    is_committed,
    new_parser,
    read_options,
    timed,
    training_record,
    write_results,
)
from hf_lecture_models.analysis.figures import COLOURS, MARKERS, WIDTH, slide
from hf_lecture_models.loading import be_quiet, load_model
from hf_lecture_models.tasks.translation.bleu import bleu_and_chrf, signatures
from hf_lecture_models.tasks.translation.translate import translate
from hf_lecture_models.tokenization.corpus import read_texts

TESTS = ("test_2016_flickr", "test_2017_flickr")
LENGTHS = ((1, 8), (9, 12), (13, 16), (17, 20), (21, None))
BEAMS, BATCH, SAMPLES = 5, 32, 1000
RECORD = "translation"
LANGUAGES = {"en": "English", "de": "German", "fr": "French"}
Texts = dict[str, list[str]]


def name_of(shortest: int, longest: int | None) -> str:
    """Return a range of lengths as tables have it.

    >>> name_of(9, 12), name_of(21, None)
    ('9-12', '21+')
    """
    return f"{shortest}+" if longest is None else f"{shortest}-{longest}"


def by_length(sources: Sequence[str]) -> dict[str, list[int]]:
    """Return the places of the sources in each range of lengths in words, without empty ranges.

    >>> by_length(["a b", "a " * 9, "a"])
    {'1-8': [0, 2], '9-12': [1]}
    """
    words = [len(source.split()) for source in sources]
    places = {
        name_of(least, most): [i for i, n in enumerate(words) if least <= n and (most is None or n <= most)]
        for least, most in LENGTHS
    }
    return {name: found for name, found in places.items() if found}


def bootstrap(translations: Texts, references: list[str]) -> Any:
    """Return sacrebleu's results for each model: a mean, an interval of 95 %, and p against the first model."""
    test = PairedTest(
        list(translations.items()), {"BLEU": BLEU(force=True)}, [references], test_type="bs", n_samples=SAMPLES
    )
    return dict(zip(translations, test()[1]["BLEU"], strict=True))


def compare(translations: Texts, references: list[str]) -> dict[str, Any]:
    """Return the difference in BLEU of each two models, and the probability of one as large by chance."""
    found = {}
    names = list(translations)
    for number, first in enumerate(names[:-1]):
        results = bootstrap({name: translations[name] for name in names[number:]}, references)
        for second in names[number + 1 :]:
            gain = results[second].score - results[first].score
            # Of equal scores sacrebleu counts no sample as "larger", and so calls the difference sure.
            p = results[second].p_value if gain else 1.0
            found[f"{second} against {first}"] = {"bleu": gain, "p": p}
    return found


def measure_lengths(sources: list[str], translations: Texts, references: list[str]) -> dict[str, Any]:
    """Return the number of sentences of each range of lengths, and each model's BLEU with its interval of 95 %."""
    found: dict[str, Any] = {}
    for name, places in by_length(sources).items():
        texts = {model: [lines[i] for i in places] for model, lines in translations.items()}
        results = bootstrap(texts, [references[i] for i in places])
        models = {model: {"bleu": one.score, "half_interval": one.ci} for model, one in results.items()}
        found[name] = {"sentences": len(places), "models": models}
    return found


def load(folder: str) -> tuple[Any, Any, dict[str, Any]]:
    """Return a translator, its tokenizer, and the record of its size and training."""
    model, tokenizer = load_model(folder, AutoModelForSeq2SeqLM)
    facts: dict[str, Any] = {"parameters": sum(p.numel() for p in model.parameters())}
    if training := training_record(Path(folder)):
        facts["training"] = {key: value for key, value in training.items() if not isinstance(value, list | dict)}
        facts["training"]["commit"] = training["environment"].get("commit")
    return model.eval(), tokenizer, facts


def save_picture(lengths: Mapping[str, Any], path: str | os.PathLike[str], caption: str) -> None:
    """Draw each model's BLEU against the length of the source; the bars are intervals of 95 %."""
    models = list(next(iter(lengths.values()))["models"])
    with slide(path, "BLEU against the length of the source", caption, WIDTH, 4.6, legend=True) as axes:
        for number, model in enumerate(models):
            found = [one["models"][model] for one in lengths.values()]
            places = [place + 0.06 * (number - (len(models) - 1) / 2) for place in range(len(found))]
            axes.errorbar(
                places,
                [one["bleu"] for one in found],
                [one["half_interval"] for one in found],
                color=COLOURS[number],
                marker=MARKERS[number],
                linestyle=("-", "--")[number % 2],
                linewidth=2,
                elinewidth=1,
                markersize=7,
                label=model,
            )
        ticks = [f"{name.replace('-', '–')}\n{one['sentences']:,}" for name, one in lengths.items()]
        axes.set_xticks(range(len(ticks)), ticks)
        axes.set_xlabel("words of the source, and number of sentences")
        axes.set_ylabel("BLEU")
        axes.set_ylim(bottom=0)
        axes.grid(axis="y")


def name_and_folder(text: str) -> tuple[str, str]:
    """`NAME=FOLDER` in two."""
    name, equals, folder = text.partition("=")
    if not (name and equals and folder):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=FOLDER")
    return name, folder


def read_tests(languages: str, most: int | None) -> dict[str, tuple[list[str], list[str]]]:
    """The sources and references of each test set."""
    folder = data_folder() / "multi30k"
    sides = languages.split("-")
    found = {}
    for test in TESTS:
        source, target = ([*read_texts(folder / f"{test}.{side}.txt")][:most] for side in sides)
        found[test] = source, target
    return found


def translate_all(
    folders: Mapping[str, str], tests: Mapping[str, tuple[list[str], list[str]]], dirty: bool
) -> tuple[dict[str, Any], dict[str, Texts]]:
    """Return the record and the measures of each model, and its translations of each test set."""
    models: dict[str, Any] = {}
    translations: dict[str, Texts] = {test: {} for test in tests}
    for name, folder in folders.items():
        if not dirty:
            check_trained_on_committed_code(Path(folder))
        model, tokenizer, models[name] = load(folder)
        for test, (sources, references) in tests.items():
            found, cpu_seconds, _ = timed(
                lambda sources=sources, model=model, tokenizer=tokenizer: translate(
                    model, tokenizer, sources, batch_size=BATCH, num_beams=BEAMS
                )
            )
            translations[test][name] = [one.text for one in found]
            models[name][test] = bleu_and_chrf(translations[test][name], references) | {"cpu_seconds": cpu_seconds}
            print(f"{name}, {test}: {models[name][test]}", flush=True)
    return models, translations


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument(
        "models", nargs="+", type=name_and_folder, metavar="NAME=FOLDER", help=f"at most {len(COLOURS)}"
    )
    parser.add_argument("--languages", default="en-de", help="source and target, as the files of Multi30k name them")
    parser.add_argument("--record", default=RECORD, help="results/RECORD.json")
    parser.add_argument("--sentences", type=int, help="only so many of each test set, to try it")
    parser.add_argument("--picture", type=Path, help="in place of that in docs, or of none")
    options = read_options(parser)
    folders = dict(options.models)
    be_quiet()
    torch.set_num_threads(1)
    tests = read_tests(options.languages, options.sentences)
    models, translations = translate_all(folders, tests, options.dirty)
    sources, references = ([text for test in tests.values() for text in test[side]] for side in (0, 1))
    joined = {name: [text for found in translations.values() for text in found[name]] for name in folders}
    lengths = measure_lengths(sources, joined, references)
    compared = {test: compare(found, tests[test][1]) for test, found in translations.items()}
    compared["all"] = compare(joined, references)
    for pair, found in compared["all"].items():
        print(f"{pair}: {found['bleu']:+.1f} BLEU, p = {found['p']:.3f}")
    source, target = (LANGUAGES[side] for side in options.languages.split("-"))
    published = is_committed(commit()) and options.record == RECORD
    picture = options.picture or (ROOT / "docs" / "translation_lengths.svg" if published else None)
    if picture:
        shown = f"Multi30k, {source} to {target}: {' and '.join(tests)}; {BEAMS} beams; bars: intervals of 95 %"
        save_picture(lengths, picture, shown)
    settings = {"languages": options.languages, "num_beams": BEAMS, "bootstrap_samples": SAMPLES}
    settings |= {"signatures": signatures(), "sentences": {test: len(texts[0]) for test, texts in tests.items()}}
    write_results(options.record, settings | {"models": models, "lengths": lengths, "compared": compared})


if __name__ == "__main__":
    main()
