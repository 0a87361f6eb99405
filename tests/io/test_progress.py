# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Reports of progress, by a clock that the tests move."""

import io
import logging
import sys
import threading
import weakref
from types import SimpleNamespace

import pytest
from tqdm import tqdm
from transformers.utils import logging as transformers_logging

from hf_lecture_models.cli.io import line_chunks
from hf_lecture_models.evaluation.language_model import evaluate_language_model
from hf_lecture_models.io import progress
from hf_lecture_models.io.progress import ProgressBar, hide_other_bars, no_progress
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.tokenization.word import WordTokenizer
from tests.forked_python import PATIENCE


class Clock:
    """Seconds, which the tests let pass."""

    now = 1000.0

    def __call__(self):
        return self.now


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("tqdm.std.time", clock)
    monkeypatch.setitem(progress._state, "others_hidden", False)
    shown = transformers_logging.is_progress_bar_enabled()
    transformers_logging.enable_progress_bar()
    yield clock
    if not shown:
        transformers_logging.disable_progress_bar()


class Waiting:
    """In place of the event that a bar is closed: seconds pass, in which the bar moves, and at last it is closed."""

    def __init__(self, clock, times, bar=None):
        self.clock, self.times, self.bar, self.waited = clock, times, bar, []

    def wait(self, seconds):
        self.clock.now += seconds
        self.waited.append(seconds)
        if self.bar is not None:
            self.bar.update(seconds)
        return self.is_set()

    def is_set(self):
        return len(self.waited) > self.times


@pytest.fixture
def hasty(monkeypatch):
    """Every bar of a log writes its first line at once."""

    class Thread:
        def __init__(self, target, args, daemon):
            self.bar = args[0]()

        def start(self):
            self.bar.write_line()

    monkeypatch.setattr(progress.threading, "Thread", Thread)


def run(clock, seconds, steps, **options):
    for _ in ProgressBar(range(steps), desc="counting", **options):
        clock.now += seconds


def test_a_log_has_a_line_after_five_seconds_and_then_one_in_thirty(clock, capsys):
    with ProgressBar(total=100, desc="counting") as bar:
        progress.watch(weakref.ref(bar), waiting := Waiting(clock, 4, bar))
        assert waiting.waited == [5.0, 30.0, 30.0, 30.0, 30.0]
        bar.n = 100
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert [line.split()[1] for line in lines] == ["5%", "35%", "65%", "95%", "100%"]
    assert all(line.startswith("counting: ") and "\r" not in line for line in lines)


def test_a_log_has_no_other_lines(clock, capsys):
    with ProgressBar(total=9, desc="counting") as bar:
        clock.now += 99
        bar.update(5)
        bar.set_postfix_str("at work")
        tqdm.write("a line", file=sys.stderr)
        bar.reset()
    assert capsys.readouterr() == ("", "a line\n")


def test_a_bar_that_is_closed_or_lost_writes_no_line(clock, capsys):
    with ProgressBar(total=9) as bar:
        pass
    answers = iter([False, True])  # closed while the thread wakes up
    closed = SimpleNamespace(wait=lambda seconds: next(answers), is_set=lambda: True)
    progress.watch(weakref.ref(bar), closed)
    progress.watch(lambda: None, Waiting(clock, 3))
    assert capsys.readouterr().err == ""


def test_a_thread_watches_a_log_alone_until_the_bar_is_closed(clock, monkeypatch):
    def watchers():
        watching = [one for one in threading.enumerate() if getattr(one, "_target", None) is progress.watch]
        return [one for one in watching if one not in others]

    others = []  # bars of other tests, which nothing has closed yet
    others = watchers()
    with ProgressBar(total=9):
        [thread] = watchers()
        assert thread.daemon
    thread.join(PATIENCE)
    assert not thread.is_alive()
    ProgressBar(total=9, shown=False)
    monkeypatch.setattr("sys.stderr", Terminal())
    ProgressBar(total=9).close()
    assert watchers() == []


def test_a_short_run_shows_nothing(clock, capsys, monkeypatch):
    run(clock, 0.04, 100)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    run(clock, 0.04, 100)
    assert terminal.getvalue() == ""
    run(clock, 1.0, 10)
    assert "\rcounting: " in terminal.getvalue(), "a bar on a terminal"


@pytest.mark.parametrize("switch", ["argument", "block", "logger", "transformers", "datasets", "hub"])
def test_every_switch_is_respected(clock, hasty, capsys, monkeypatch, switch):
    logger = logging.getLogger("hf_lecture_models")
    if switch == "logger":
        monkeypatch.setattr(logger, "level", logging.ERROR)
        logger.manager._clear_cache()
    elif switch == "transformers":
        transformers_logging.disable_progress_bar()
    elif switch in ("datasets", "hub"):
        name = f"HF_{switch.upper()}_DISABLE_PROGRESS_BARS"
        monkeypatch.setenv(name, "1")
    try:
        with no_progress(switch == "block"):
            run(clock, 1.0, 100, shown=switch != "argument")
    finally:
        transformers_logging.enable_progress_bar()
    assert capsys.readouterr() == ("", "")


def test_programs_hide_other_bars_but_not_these(clock, hasty, capsys):
    hide_other_bars()
    hide_other_bars()
    try:
        assert not transformers_logging.is_progress_bar_enabled()
        run(clock, 1.0, 10)
    finally:
        transformers_logging.enable_progress_bar()
    assert "100%" in capsys.readouterr().err
    transformers_logging.disable_progress_bar()
    progress._state["others_hidden"] = False
    hide_other_bars()
    run(clock, 1.0, 10)
    transformers_logging.enable_progress_bar()
    assert capsys.readouterr().err == "", "the user had switched all bars off before"


def test_estimation_evaluation_and_reading_report(clock, hasty, capsys, tmp_path):
    texts = ["the cat", "a dog", "the dog"]
    tokenizer = WordTokenizer.train(texts, progress=False)
    model = NGramForCausalLM.fit(texts, tokenizer, order=2, smoothing="add_alpha")
    assert "counting, smoothing: " in capsys.readouterr().err
    evaluate_language_model(model, tokenizer, texts)
    assert "evaluating: 100%" in capsys.readouterr().err
    path = tmp_path / "texts.txt"
    path.write_text("the cat\n" * 9, encoding="utf-8")
    assert sum(map(len, line_chunks([str(path)], batch_size=1))) == 9
    assert "reading: 9 lines" in capsys.readouterr().err


def test_a_bar_that_a_signal_left_half_made_is_deleted_in_silence() -> None:
    bar = ProgressBar.__new__(ProgressBar)
    bar.close()
    assert not bar.is_made
