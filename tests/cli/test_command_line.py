# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Parsing, help, completion and refusals: all of it without torch, transformers and the package itself."""

import ast
import inspect
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest
import typer

import hf_lecture_cli
import hf_lecture_models
from hf_lecture_models.cli.app import read_by
from tests.forked_python import ForkedPython

ROOT = Path(__file__).resolve().parents[2]
USAGE = (ROOT / "docs" / "usage.md").read_text(encoding="utf-8")
GROUP = typer.main.get_command(hf_lecture_cli.app)

# Runs the console script's function and leaves the names of all modules that it imported.
OBSERVED = """
import json, sys
place = sys.argv.pop(1)
from hf_lecture_cli import main
try:
    main()
finally:
    with open(place, "w", encoding="utf-8") as file:
        json.dump(list(sys.modules), file)
"""
# The modules that any program of this environment has.
BARE = "import json, sys; print(json.dumps(list(sys.modules)))"


def completion(line, shell="bash"):
    """What a shell sets when somebody has typed `line` and presses Tab."""
    if shell == "bash":
        typed = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    else:
        typed = {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    return {"_HF_LECTURE_COMPLETE": f"complete_{shell}", **typed}


@pytest.mark.cases(4, 25)
@pytest.mark.parametrize(
    ("arguments", "environment", "status", "expected"),
    [
        (["--help"], {}, 0, "Train and compare the models on your own text."),
        (["score", "--help"], {}, 0, "--batch-size"),
        (["generate", "--help"], {}, 0, "otherwise greedy search"),
        (["--version"], {}, 0, f"hf-lecture-models {hf_lecture_models.__version__}\n"),
        (["scor"], {}, 2, "Did you mean 'score'?"),
        (["score", "model", "--tokns"], {}, 2, "--tokens"),
        (["score"], {}, 2, "Missing argument 'MODEL'"),
        (["score", "model", "--probability", "both"], {}, 2, "'terminated', 'prefix'"),
        (["score", "model", "no-such-file.txt"], {}, 1, "there is no file no-such-file.txt"),
        (["generate", "model", "--temperature", "2"], {}, 2, "need --sample"),
        (["see", "attention", "--help"], {}, 0, "--layer"),
        (["see", "attention", "model", "a text", "--head", "2"], {}, 2, "name --layer too"),
        (["see", "attention", "model", "a text", "--all", "--word", "a"], {}, 2, "neither --head nor --word"),
        (["see", "gradients", "model", " "], {}, 2, "blank"),
        (["see", "surprisal", "model", "-o", "bits.svg"], {}, 2, "draws one TEXT"),
        (["see", "segmentation", "model", "a text", "-o", "steps.jpg"], {}, 2, "must end in .svg"),
        ([], completion("hf-lecture see att"), 0, "attention\n"),
        ([], completion("hf-lecture see attention model text --la"), 0, "--layer\n"),
        ([], completion("hf-lecture ne"), 0, "neighbours\n"),
        ([], completion("hf-lecture score model --str"), 0, "--stream\n"),
        ([], completion("hf-lecture neighbours model cat --metric "), 0, "cosine\neuclidean\n"),
        ([], completion("hf-lecture score no-such-model no-such-file.txt --js"), 0, "--json\n"),
        ([], completion("hf-lecture exercise layer"), 0, "layer_norm_gradient\n"),
        ([], completion("hf-lecture ne", "zsh"), 0, "neighbours"),
        ([], completion("hf-lecture ne", "fish"), 0, "neighbours"),
    ],
)
def test_nothing_heavy_is_imported_before_a_verb_runs(tmp_path, arguments, environment, status, expected):
    """Importing torch and transformers takes seconds; 300 modules of Python's and typer's take a sixth of one."""
    command = [sys.executable, "-c", OBSERVED, tmp_path / "modules.json", *arguments]
    variables = os.environ | {"COLUMNS": "200"} | environment
    done = subprocess.run(command, capture_output=True, text=True, env=variables, cwd=tmp_path)
    assert expected in (done.stderr if status else done.stdout)
    assert "Traceback" not in done.stderr
    assert done.returncode == status
    bare = subprocess.run([sys.executable, "-c", BARE], capture_output=True, check=True).stdout
    modules = set(json.loads((tmp_path / "modules.json").read_text(encoding="utf-8"))) - set(json.loads(bare))
    loaded = {name.split(".")[0] for name in modules}
    assert not loaded & {"torch", "transformers", "hf_lecture_models", "numpy", "datasets"}
    assert "rich" not in loaded or environment  # typer cleans the help texts with it, for completion in zsh and fish
    assert len(modules) < (400 if environment else 250)


# Sends a signal to its own process when the module of the first argument is about to be imported.
INTERRUPTED = """
import os, signal, sys
module, number = sys.argv.pop(1), int(sys.argv.pop(1))

class Interruption:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            sys.meta_path.remove(self)
            try:
                os.kill(os.getpid(), number)
            except KeyboardInterrupt:
                if name.startswith("typer"):
                    raise  # other libraries may catch whatever their imports raise

sys.meta_path.insert(0, Interruption())
from hf_lecture_cli import main
main()
"""


@pytest.mark.cases(2, 3)
@pytest.mark.parametrize(
    ("module", "name", "status"),
    [
        ("typer", "SIGINT", 130),
        ("typer.completion", "SIGINT", 130),
        ("hf_lecture_models", "SIGINT", 130),
        ("torch", "SIGINT", 130),
        ("torch", "SIGTERM", 143),
    ],
)
def test_ctrl_c_is_quiet_while_modules_are_imported(module, name, status):
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, module, str(int(signal.Signals[name])), "score", "no-such-model"],
        capture_output=True,
        text=True,
        # A test run in the background of a shell ignores Ctrl-C, and so would its children.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    assert done.returncode == status
    assert done.stdout + done.stderr in ("", "interrupted\n")


@pytest.mark.slow
def test_ctrl_c_is_quiet_while_a_verb_is_imported():
    """The last of the imports, torch and all the others being there."""
    process = ForkedPython("-c", INTERRUPTED, "hf_lecture_models.cli.score", signal.SIGINT.value, "score", "no-model")
    assert process.communicate() in [("", ""), ("", "interrupted\n")]
    assert process.returncode == 130


def test_every_verb_is_documented():
    inner = GROUP.commands["see"].commands
    for name, command in [*GROUP.commands.items(), *((f"see {name}", command) for name, command in inner.items())]:
        assert command.help, name
        assert re.search(rf"`hf-lecture {name}[ `]", USAGE), name
        for parameter in command.params:
            assert parameter.help, f"{name} {parameter.name}"


def test_the_commands_of_the_page_are_understood():
    section = USAGE.partition("## In the terminal\n")[2].partition("\n## ")[0]
    lines = [shlex.split(line) for line in re.findall(r"(?m)^\| `(hf-lecture .*?)` \|", section)]
    assert len(lines) > 40
    context = GROUP.make_context("hf-lecture", ["score", "model"])
    known = {option for parameter in GROUP.params for option in parameter.opts}
    known.add("--columns")  # a field of a recipe: --columns.text review
    for line in lines:
        arguments = line[1 : line.index("<")] if "<" in line else line[1:]
        _, command, rest = GROUP.resolve_command(context, arguments)
        if command.name == "see":
            _, command, rest = command.resolve_command(context, rest)
        command.make_context(command.name, rest, parent=context)
        known |= {option for parameter in command.params for option in parameter.opts}
    assert set(re.findall(r"--[a-z][a-z-]*", section)) <= known


VERBS = [
    ["quickstart"],
    ["ladder", "CORPUS"],
    ["score", "MODEL"],
    ["filter", "MODEL", "--keep", "0.3"],
    ["surprisal", "MODEL"],
    ["rank", "MODEL"],
    ["rank", "MODEL", "--scores", "--weight", "1"],
    ["generate", "MODEL"],
    ["generate", "MODEL", "--interactive"],
    ["predict", "MODEL"],
    ["translate", "MODEL"],
    ["evaluate", "MODEL", "rte"],
    ["blimp", "MODEL"],
    ["prompt", "MODEL", "copa"],
    ["neighbours", "MODEL", "WORD"],
    ["see", "neighbours", "MODEL", "WORD"],
    ["see", "attention", "MODEL", "TEXT"],
    ["see", "alignment", "MODEL", "TEXT"],
    ["see", "gradients", "MODEL", "TEXT"],
    ["see", "segmentation", "MODEL", "TEXT"],
    ["see", "learning", "FOLDER"],
    ["see", "strokes", "MODEL"],
    ["see", "density", "MODEL", "FILE"],
    ["see", "smoothing", "MODEL", "WORD"],
    ["see", "surprisal", "MODEL", "TEXT"],
    ["exercise"],
    ["exercise", "lstm_cell", "MY.py"],
    ["convert", "FROM", "TO"],
    ["cut", "MODEL", "VOCABULARY", "OUT"],
    ["prune", "MODEL", "OUT", "--threshold", "1e-7"],
    ["extend", "MODEL", "WORDS", "OUT"],
    ["count", "--output", "NEW"],
    ["mix", "MODEL", "MODEL", "OUT", "--weights", "0.5,0.5"],
    ["claim"],
    ["claim", "NAME"],
    ["demo"],
    ["demo", "MODEL"],
    ["new", "TASK", "FILE"],
    ["export", "MODEL", "OUT"],
    ["live", "MODEL", "OUT"],
    ["live", "MODEL", "MODEL", "OUT", "--title", "TEXT", "--example", "TEXT", "--example", "TEXT", "--float16"],
    ["publish", "MODEL", "REPO"],
    ["publish", "--all", "FOLDER", "NAMESPACE"],
]


@pytest.mark.parametrize("arguments", VERBS, ids=" ".join)
def test_what_is_parsed_is_what_the_verbs_file_reads(monkeypatch, arguments):
    called = []
    monkeypatch.setattr(hf_lecture_cli, "_run", lambda *call: called.append(call))
    with pytest.raises(SystemExit) as stop:
        hf_lecture_cli.app(arguments, prog_name="hf-lecture")
    assert not stop.value.code
    ((verb, module, options),) = called
    assert " ".join(arguments).startswith(verb) or arguments[:2] == ["see", verb]
    run = import_module(f"hf_lecture_models.{module}").run
    inspect.signature(run).bind(**read_by(run, options))


def commands(group=GROUP):
    for command in group.commands.values():
        yield from commands(command) if hasattr(command, "commands") else [command]


def test_no_option_is_accepted_and_not_read():
    """The function of a verb reads it, or the file that it runs, or that file takes all options."""
    functions = {one.name: one for one in ast.parse(inspect.getsource(hf_lecture_cli)).body if hasattr(one, "args")}
    for command in commands():
        nodes = list(ast.walk(functions[command.callback.__name__]))
        read = {node.id for node in nodes if isinstance(node, ast.Name)}
        modules = [node.value for node in nodes if isinstance(node, ast.Constant)]
        for module in filter(re.compile(r"(cli|lab\.verbs)\.\w+").fullmatch, map(str, modules)):
            read |= set(read_by(import_module(f"hf_lecture_models.{module}").run, {p.name: 0 for p in command.params}))
        assert {one.name for one in command.params} <= read, command.name


def test_all_verbs_are_tried_above():
    assert {arguments[0] for arguments in VERBS} | {"exec", "train"} == set(GROUP.commands)
    assert {arguments[1] for arguments in VERBS if arguments[0] == "see"} == set(GROUP.commands["see"].commands)
