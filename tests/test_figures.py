# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Every figure of README, docs and model pages is that of its record: `python -m benchmarks.figures` fills them in."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.figures import TABLE, documents, filled, without_comments
from benchmarks.records import ROOT, record
from hf_lecture_models.tokenization.corpus import read_texts

# Documents whose figures are defaults and versions of other programs (tests/interop holds them to it), or
# are sections of papers (errata); tests/test_claims_page.py compares docs/claims.md with its records.
NO_MEASUREMENTS = {"claims.md", "clients.md", "errata.md", "speech.md", "training.md", "versions.md"}
DOCUMENTS = [path for path in documents() if path.name not in NO_MEASUREMENTS]

UNITS = r"(?:CPU |tokens |of the |)(?:seconds|minutes|times|per second)\b"
FIGURE = re.compile(
    r"(?<![\w.,:/-])[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\w)"  # thousands
    r"|(?<![\w.:/-])[-+]?\d+\.\d+(?!\w|\.\d)"  # decimals, but no sections such as 3.2.3
    rf"|(?<![\w.])\d+(?= %| {UNITS})"
)


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def without_sources(text: str) -> str:
    """The document without figures that have a source, code, which other tests run, and targets of links."""
    text = TABLE.sub("", text)
    text = re.sub(r"[-+]?\d[\d.,]*(?:e[-+]?\d+)?(?=<!--)", "¦", text)
    text = re.sub(r"```.*?```", "", without_comments(text), flags=re.DOTALL)
    text = "\n".join(line for line in text.splitlines() if not re.match(r" {4,}\S", line))
    return " ".join(re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "``", text)).split())


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_figures_are_those_of_their_records(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    assert filled(text) == text, "run python -m benchmarks.figures"


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_every_figure_has_a_source(document: Path) -> None:
    text = without_sources(document.read_text(encoding="utf-8"))
    left = [text[max(0, match.start() - 60) : match.end() + 30] for match in FIGURE.finditer(text)]
    assert not left, "no comment after these figures:\n" + "\n".join(left)


def test_the_help_of_the_quickstart_says_the_seconds_of_the_record() -> None:
    said = re.findall(r"took (\d+) seconds", " ".join((ROOT / "hf_lecture_cli.py").read_text(encoding="utf-8").split()))
    assert said == [f"{record('quickstart', 'seconds'):.0f}"]


def test_another_figure_is_filled_in() -> None:
    """A figure, a row and a sentence that are not those of the record."""
    right = 'x 2<!--= 1 + 1 --> of -3.1<!--= -6 / 2:.1f -->\n<!--= [["5"]] -->\n| |\n|---|\n| 4 |\n<!--/-->'
    assert filled(right) == right.replace("-3.1", "-3.0").replace("| 4 |", "| 5 |")
    with pytest.raises(ValueError, match=r"no longer true: 'half'"):
        filled("half<!--? 1 == 2 -->")
    with pytest.raises(ValueError, match="no figure before the comment"):
        filled("half<!--= 1 / 2 -->")
    assert FIGURE.findall(without_sources("3.5 and 4.5<!-- the paper's --> in `2.5` of 10 %")) == ["3.5", "10"]


def test_the_quickstart_names_its_python() -> None:
    path = ROOT / "benchmarks" / "results" / "quickstart.json"
    python = json.loads(path.read_text(encoding="utf-8"))["machine"]["versions"]["python"]
    assert f"Python {python}" in without_comments((ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8"))


def test_signatures_of_sacrebleu() -> None:
    text = (ROOT / "docs" / "translation.md").read_text(encoding="utf-8")
    for measure, signature in record("translation", "signatures").items():
        assert re.search(rf"^    {measure}  {re.escape(signature)}$", text, re.IGNORECASE | re.MULTILINE)


@pytest.mark.parametrize(
    "recipe",
    [f"{name}_wikitext2" for name in ("feed_forward", "recurrent", "transformer_xl", "efficient_transformer", "gpt1")]
    + [f"self_attention{kind}_wikitext2" for kind in ("", "_bpe")],
)
def test_recipes_tell_the_validation_curve_of_their_record(recipe: str) -> None:
    text = (ROOT / "training" / "recipes" / f"{recipe}.yaml").read_text(encoding="utf-8")
    measured = text.partition("# Measured: validation perplexity")[2].partition("at the last (")
    curve = record(recipe, "validation_curve")
    assert re.findall(r"\d+\.\d", measured[0]) == [f"{point['validation_perplexity']:.1f}" for point in curve]
    assert measured[2].startswith(f"{curve[-1]['step']:,})")


def test_the_first_sixth_of_wikitext_2(shared_data: Path) -> None:
    """docs/neighbours.md says how many words it has, how many different ones, and how many of them occur once."""
    lines = list(read_texts(shared_data / "wikitext-2" / "train.txt"))
    counts = Counter(word for line in lines[: len(lines) // 6] for word in line.split())
    once = sum(count == 1 for count in counts.values())
    passage = f"{counts.total():,} words, {len(counts):,} different ones, of them {once:,} that occur once"
    assert passage in " ".join(without_comments((ROOT / "docs" / "neighbours.md").read_text(encoding="utf-8")).split())
