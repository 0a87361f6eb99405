# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture`: language models in the terminal.

What a command needs is imported inside it, so that `--help` costs no more than the package itself.
"""

import math
import os
import signal
import sys
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from hf_lecture_models.version import __version__

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@contextmanager
def plain_errors(command: str) -> Iterator[None]:
    """Turn what goes wrong into one line on standard error and an exit status, without a traceback."""
    try:
        yield
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        raise typer.Exit(130) from None
    except BrokenPipeError:
        # Nobody reads any more (`| head`). The interpreter's own flush at exit must not complain either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(141) from None
    except (typer.Exit, typer.Abort, typer.BadParameter):
        raise
    except Exception as error:
        # Other libraries' errors often mean little without their type.
        kind = "" if isinstance(error, ImportError | OSError | TypeError | ValueError) else f"{type(error).__name__}: "
        message = textwrap.shorten(kind + str(error), 600, placeholder=" ...") or type(error).__name__
        print(f"hf-lecture {command}: {message}", file=sys.stderr)
        raise typer.Exit(1) from None


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"hf-lecture-models {__version__}")
        raise typer.Exit()


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Its number.")
    ] = False,
) -> None:
    """Language models of the lectures, from the n-gram on. Log-probabilities are natural logarithms."""


def _refuse_temperature(value: float) -> float:
    if not 0 < value < math.inf:
        raise typer.BadParameter("it must be above 0; without --sample each token is the likeliest")
    return value


def _refuse_top_p(value: float) -> float:
    if not 0 < value <= 1:
        raise typer.BadParameter("it must be above 0 and at most 1")
    return value


def _refuse_minutes(value: float) -> float:
    if not 0 < value < math.inf:
        raise typer.BadParameter("it must be above 0")
    return value


class TokenKind(StrEnum):
    """What the ladder's models read and predict."""

    word = "word"
    bpe = "bpe"
    char = "char"
    byte = "byte"


class Probability(StrEnum):
    """Which of the two probabilities of a text is meant."""

    terminated = "terminated"
    prefix = "prefix"


Model = Annotated[str, typer.Argument(help="A model's folder, its name on the Hub, or an ARPA file.", metavar="MODEL")]
Files = Annotated[
    list[str] | None, typer.Argument(help="Text files (.gz too); none, or -, is standard input.", metavar="FILE")
]
Json = Annotated[
    bool, typer.Option("--json", help="One JSON object per line; null where a logarithm is minus infinity.")
]
Which = Annotated[
    Probability, typer.Option(help="Of the sentence that ends here (terminated), or of all that begin so (prefix).")
]
Tokens = Annotated[bool, typer.Option("--tokens", help="Each token's log-probability too.")]
HeldOut = Annotated[
    list[str] | None, typer.Option(help="A held-out file, may be repeated; without it, a part of FILE is held out.")
]
Seed = Annotated[int, typer.Option(help="Seed of initial weights and of the order of the data.")]
BatchSize = Annotated[int, typer.Option(min=1, help="Texts that go through the model together.")]
FusedModel = Annotated[
    str | None, typer.Option(help="Add the opinion of this model, such as an n-gram of the same vocabulary.")
]
FuseWeight = Annotated[
    float | None, typer.Option(min=0.0, help="With --fuse: ln p of the model + this * ln p of the other.")
]
Interactive = Annotated[
    bool, typer.Option("--interactive", help="Show the likeliest next words (--number, 5) as you type.")
]


@app.command()
@plain_errors("quickstart")
def quickstart(
    output: Annotated[Path, typer.Option(help="Folder for models, table and pictures.")] = Path("quickstart"),
    tiny: Annotated[bool, typer.Option("--tiny", help="Smaller models and less text: under a minute.")] = False,
    seed: Seed = 0,
) -> None:
    """Train the ladder of models on English text that comes with Python; compare, save and reload them."""
    from hf_lecture_models.comparison.quickstart import run_quickstart

    _end_at_sigterm()
    run_quickstart(output, tiny=tiny, seed=seed)


def _end_at_sigterm() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # as Ctrl-C does: what is half done is put in order


@app.command()
@plain_errors("ladder")
def ladder(
    files: Annotated[list[str], typer.Argument(help="Text files (.gz too), one text per line.", metavar="FILE")],
    output: Annotated[Path, typer.Option(help="Folder for models, table and pictures.")] = Path("ladder"),
    validation: HeldOut = None,
    test: HeldOut = None,
    tokenizer: Annotated[
        TokenKind | None, typer.Option(help="What a token is; without it words, or characters where no blanks are.")
    ] = None,
    vocab_size: Annotated[
        int | None, typer.Option(min=1, help="At most so many tokens; without it 10,000 words, or 4,000 others.")
    ] = None,
    min_count: Annotated[
        int | None, typer.Option(min=1, help="What occurs less often is unknown, or spelled; without it 2 for words.")
    ] = None,
    minutes: Annotated[
        float, typer.Option(callback=_refuse_minutes, help="To train all networks; measuring adds to it.")
    ] = 4.0,
    tiny: Annotated[bool, typer.Option("--tiny", help="The first lines only, and small networks: a try-out.")] = False,
    seed: Seed = 0,
) -> None:
    """Train the ladder of models on your own text; compare, save and reload them.

    Interrupted, the same command goes on from the models that are finished.
    """
    from hf_lecture_models.comparison.ladder import Request, run_ladder

    _end_at_sigterm()
    request = Request(
        files=files,
        validation=validation or (),
        test=test or (),
        tokenizer=tokenizer and tokenizer.value,
        vocab_size=vocab_size,
        min_count=min_count,
        minutes=minutes,
        tiny=tiny,
        seed=seed,
    )
    run_ladder(request, output)


@app.command()
@plain_errors("score")
def score(
    model: Model,
    files: Files = None,
    probability: Which = Probability.terminated,
    tokens: Tokens = False,
    stream: Annotated[
        bool, typer.Option("--stream", help="One text after the other: each is read with all lines before it in mind.")
    ] = False,
    json: Json = False,
    batch_size: BatchSize = 64,
) -> None:
    """Log-probability of each line (a blank line is a text), then perplexity and bits per byte of all.

    The summary goes to standard error, or with --json into a last line {"summary": ...}. With --stream nothing is
    printed before the last line was read.
    """
    from hf_lecture_models.terminal import score_lines

    if stream and probability is Probability.prefix:
        raise typer.BadParameter("with --stream each text ends before the next begins: not --probability prefix")
    score_lines(model, files or ["-"], probability.value, tokens, json, batch_size, stream=stream)


@app.command()
@plain_errors("rank")
def rank(
    model: Model,
    files: Files = None,
    scores: Annotated[
        bool, typer.Option("--scores", help="A line is score<TAB>sentence: rank by score + weight * ln P.")
    ] = False,
    weight: Annotated[float | None, typer.Option(help="With --scores: what ln P is multiplied by.")] = None,
    length_bonus: Annotated[float, typer.Option(help="With --scores: added for each word.")] = 0.0,
    references: Annotated[
        Path | None,
        typer.Option(help="With --scores: a file, one right sentence per group; finds --weight, or measures it."),
    ] = None,
    probability: Which = Probability.terminated,
    tokens: Tokens = False,
    json: Json = False,
    batch_size: BatchSize = 64,
) -> None:
    """Order the lines of each group by probability, best first. Blank lines separate groups.

    With --scores they are the n-best lists of a recogniser (of speech, print, spelling).
    """
    if scores:
        from hf_lecture_models.nbest import NBestRequest, rank_lists

        if weight is None and references is None:
            raise typer.BadParameter("--scores needs --weight, or --references to find the best one")
        request = NBestRequest(files or ["-"], references, weight, length_bonus, probability.value, batch_size)
        return rank_lists(model, request, tokens=tokens, json=json)
    if (weight, length_bonus, references) != (None, 0.0, None):
        raise typer.BadParameter("--weight, --length-bonus and --references need --scores")
    from hf_lecture_models.terminal import rank_groups

    rank_groups(model, files or ["-"], probability.value, tokens=tokens, json=json, batch_size=batch_size)


@app.command()
@plain_errors("generate")
def generate(
    context: typer.Context,
    model: Model,
    files: Files = None,
    prompt: Annotated[list[str] | None, typer.Option("--prompt", "-p", help="A prompt; may be repeated.")] = None,
    max_new_tokens: Annotated[int, typer.Option(min=1, help="Stop after so many tokens.")] = 50,
    sample: Annotated[bool, typer.Option("--sample", help="Draw each token, instead of the likeliest.")] = False,
    temperature: Annotated[
        float, typer.Option(callback=_refuse_temperature, help="With --sample: below 1 sharper, above 1 flatter.")
    ] = 1.0,
    top_k: Annotated[int, typer.Option(min=0, help="With --sample: among the k likeliest only; 0: all.")] = 0,
    top_p: Annotated[
        float, typer.Option(callback=_refuse_top_p, help="With --sample: among the likeliest that reach p only.")
    ] = 1.0,
    beams: Annotated[int, typer.Option(min=1, help="Beam search with so many beams.")] = 1,
    number: Annotated[int, typer.Option(min=1, help="Texts per prompt (needs --sample or --beams).")] = 1,
    seed: Annotated[int | None, typer.Option(help="Seed for --sample.")] = None,
    fuse: FusedModel = None,
    fuse_weight: FuseWeight = None,
    interactive: Interactive = False,
    json: Json = False,
    batch_size: BatchSize = 16,
) -> None:
    """Continue prompts: --prompt TEXT, or each line of files or standard input. A blank one starts from nothing."""
    if interactive:
        return _complete_what_is_typed(context, model, number)
    from hf_lecture_models.terminal import generate_lines

    options: dict[str, Any] = {"max_new_tokens": max_new_tokens, "num_beams": beams, "num_return_sequences": number}
    if sample:
        options |= {"do_sample": True, "temperature": temperature, "top_k": top_k, "top_p": top_p}
    elif (temperature, top_k, top_p, seed) != (1.0, 0, 1.0, None):
        raise typer.BadParameter("--temperature, --top-k, --top-p and --seed need --sample")
    if number > 1 and not sample and number > beams:
        raise typer.BadParameter(f"--number {number} needs --sample, or --beams {number} at least")
    if (fuse is None) != (fuse_weight is None):
        raise typer.BadParameter("--fuse MODEL and --fuse-weight go together")
    fused = None if fuse is None or fuse_weight is None else (fuse, fuse_weight)
    generate_lines(model, prompt or [], files or [], options, seed=seed, json=json, batch_size=batch_size, fused=fused)


def _complete_what_is_typed(context: typer.Context, model: str, number: int) -> None:
    from hf_lecture_models.autocomplete import run_autocomplete

    sources = {name: context.get_parameter_source(name) for name in context.params}
    given = {name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"}
    if given - {"model", "interactive", "number"}:
        raise typer.BadParameter("--interactive goes with --number alone")
    run_autocomplete(model, number if "number" in given else 5)


class TextForm(StrEnum):
    """How the sentences of a test are written."""

    plain = "plain"
    wikitext = "wikitext"


@app.command()
@plain_errors("blimp")
def blimp(
    model: Model,
    data: Annotated[
        Path | None, typer.Option(help="Folder of BLiMP's *.jsonl or *.jsonl.gz; without it, from the Hub.")
    ] = None,
    output: Annotated[Path, typer.Option(help="Folder for blimp.json and blimp.png.")] = Path("blimp"),
    text_form: Annotated[
        TextForm, typer.Option(help="wikitext: punctuation set apart, as in WikiText, for models of its words.")
    ] = TextForm.plain,
    probability: Which = Probability.terminated,
    json: Json = False,
    batch_size: BatchSize = 64,
) -> None:
    """How often the grammatical sentence of a pair is the more probable one, on BLiMP's 67 paradigms.

    Interrupted, the same command goes on after the paradigms that are finished.
    """
    from hf_lecture_models.blimp import run_blimp

    _end_at_sigterm()
    run_blimp(model, data, output, text_form.value, probability.value, json=json, batch_size=batch_size)


class Metric(StrEnum):
    """How near two vectors are."""

    cosine = "cosine"
    euclidean = "euclidean"


@app.command()
@plain_errors("neighbours")
def neighbours(
    model: Model,
    words: Annotated[list[str], typer.Argument(help="Words of the vocabulary.", metavar="WORD")],
    number: Annotated[int, typer.Option("--number", "-k", min=1, help="Neighbours of each word.")] = 10,
    output: Annotated[bool, typer.Option("--output", help="By the output embeddings, not the input's.")] = False,
    metric: Annotated[Metric, typer.Option(help="Cosine, or minus the Euclidean distance.")] = Metric.cosine,
    mean_of_pieces: Annotated[
        bool, typer.Option("--mean-of-pieces", help="A word of several tokens is the mean of their vectors.")
    ] = False,
    picture: Annotated[
        Path | None, typer.Option(help="Draw words and neighbours into this file (.png, .svg, .pdf).")
    ] = None,
    json: Json = False,
) -> None:
    """The words nearest to each word in the model's embeddings, with their similarity."""
    from hf_lecture_models.terminal import show_neighbours

    options = {"k": number, "which": "output" if output else "input", "metric": metric.value}
    show_neighbours(model, words, options | {"mean_of_pieces": mean_of_pieces}, picture, json=json)


@app.command()
@plain_errors("convert")
def convert(
    source: Annotated[str, typer.Argument(help="An ARPA file (.arpa, .arpa.gz), or a model's folder or Hub name.")],
    target: Annotated[
        Path, typer.Argument(help="A folder; an ARPA file, if the source is an n-gram model; or NAME.onnx, if not.")
    ],
) -> None:
    """ARPA file -> model folder, or back; any other model -> ONNX file."""
    from hf_lecture_models.terminal import convert_model

    convert_model(source, target)


@app.command()
@plain_errors("demo")
def demo(
    model: Model,
    model2: Annotated[str | None, typer.Argument(help="Another one, to compare.", metavar="[MODEL2]")] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; the default is this machine alone, 0.0.0.0 everybody.")
    ] = "127.0.0.1",
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port; without it the first free from 7860.")
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser, if this is a terminal.")] = True,
) -> None:
    """A page for the browser: continue a text, rank sentences, compare two models. Ctrl-C ends it."""
    from hf_lecture_models.demo.page import serve

    serve([model] if model2 is None else [model, model2], host, port, browser=browser and sys.stdout.isatty())


@app.command()
@plain_errors("publish")
def publish(
    model: Model,
    repo: Annotated[str, typer.Argument(help="Its name on the Hub: NAMESPACE/NAME.", metavar="REPO")],
    private: Annotated[bool, typer.Option("--private", help="The repository must not be public.")] = False,
    revision: Annotated[str | None, typer.Option(help="Branch to commit to, made if need be; without it main.")] = None,
    evaluate: Annotated[
        Path | None, typer.Option(help="Measure on this text file (.gz too), one text per line, for the card.")
    ] = None,
    licence: Annotated[str | None, typer.Option(help="Of the weights, as the Hub writes it: apache-2.0, ...")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show card and files, and send nothing.")] = False,
) -> None:
    """Upload a model to the Hub: weights, tokenizer, its own code and a card with measured results, in one commit.

    Log in with `hf auth login` before, or set HF_TOKEN. Interrupted, or published again, it sends only what differs.
    """
    from hf_lecture_models.terminal import publish_model

    _end_at_sigterm()
    publish_model(model, repo, evaluate, licence, private=private, revision=revision, dry_run=dry_run)


@app.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def exec(
    command: Annotated[
        list[str],
        typer.Argument(
            help="A console script and its arguments, or: python FILE | -m MODULE | -c CODE ...", metavar="COMMAND"
        ),
    ],
) -> None:
    """Run another Python program (transformers serve, lm_eval, ...) that then knows the models of this package.

    So do the processes that it starts (trl sft, accelerate launch, ...).
    """
    from hf_lecture_models.terminal import find_program, register_in_subprocesses

    with plain_errors("exec"):
        program = find_program(command)
    register_in_subprocesses()
    program()  # its errors are its own


def main() -> None:
    """Entry point of the console script."""
    warnings.formatwarning = lambda message, *_, **__: f"hf-lecture: {message}\n"
    app(prog_name="hf-lecture")
