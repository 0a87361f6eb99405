# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The command line of `hf-lecture`: its verbs, their options, and what is refused before anything runs.

This file is outside the package, because importing the package imports torch and transformers, which takes seconds.
Help, shell completion and refusals need neither. Here alone stand the names, types, defaults and help of the options.
After a command line is understood, `_run` imports the file of the verb and calls its `run`, whose parameters are the
options that it reads.
"""

try:
    import gc
    import math
    import os
    import signal
    import sys
    import warnings
    from collections.abc import Iterator
    from contextlib import contextmanager
    from enum import StrEnum
    from importlib.util import find_spec
    from pathlib import Path
    from types import ModuleType
    from typing import Annotated, Any

    import typer
    from typer import Argument, Option
except KeyboardInterrupt:  # before `main` begins, nothing else catches it
    raise SystemExit(130) from None

# The default of what may be repeated: nothing.
_NONE: list[str] = []
# The demo's page has a column for each model.
_MOST_MODELS = 8

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)
see = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
app.add_typer(
    see,
    name="see",
    short_help="Look inside: attention, gradients, segmentation, smoothing, surprisal, neighbours, learning, ...",
    help="Look inside a model: print its attention, gradients, ... for a text; --output PICTURE.svg draws them.",
)


def main() -> None:
    """Entry point of the console script."""
    _open_closed_streams()
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as a shell's background jobs ignore Ctrl-C
            signal.signal(number, _exit_at_once)
    warnings.formatwarning = lambda message, *_, **__: f"hf-lecture: {message}\n"
    app(prog_name="hf-lecture")


def _open_closed_streams() -> None:
    """Open the null device in place of each standard stream that is closed (`<&-`, `>&-`).

    Python has None in its place, and the next file that is opened would get its number.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            mode = "w" if number else "r"
            stream = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115  (it stays open until the end)
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)


def _exit_at_once(number: int, _: Any) -> None:
    # Before a verb runs there is nothing to clean up, and an import could swallow an exception.
    if number == signal.SIGINT:
        os.write(2, b"interrupted\n")
    os._exit(128 + number)


def _run(verb: str, module: str, options: dict[str, Any]) -> None:
    """Call `run` of `hf_lecture_models.MODULE` with those of the options that are its parameters."""
    _import_package()
    from hf_lecture_models.cli.app import run_verb
    from hf_lecture_models.loading import be_quiet

    be_quiet()
    run_verb(
        verb, module, {name: value.value if isinstance(value, StrEnum) else value for name, value in options.items()}
    )


def _import_package() -> None:
    """Import the package without the collection of garbage: all new objects stay, and searching them takes long."""
    if "hf_lecture_models" not in sys.modules:
        gc.disable()
        import hf_lecture_models  # noqa: F401

        gc.freeze()
        gc.enable()


@contextmanager
def _package_without_torch() -> Iterator[None]:
    """Within the block, modules of the package are imported without its `__init__`, which imports torch.

    They are forgotten afterwards, so that the next import is that of the whole package.
    """
    spec = None if "hf_lecture_models" in sys.modules else find_spec("hf_lecture_models")
    if spec is None or not spec.submodule_search_locations:
        yield
        return
    package = ModuleType("hf_lecture_models")
    package.__path__ = list(spec.submodule_search_locations)
    sys.modules["hf_lecture_models"] = package
    try:
        yield
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "hf_lecture_models"]:
            del sys.modules[name]


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"hf-lecture-models {version('hf-lecture-models')}")
        raise typer.Exit()


def _refuse_unreadable_files(context: typer.Context, files: list[str]) -> list[str]:
    """Return the files, or end with status 1 where one of them cannot be read; `-` is standard input."""
    problems = (_problem_of(file, context.info_name) for file in files if file != "-")
    problem = next(filter(None, problems), None)
    if problem is not None and not context.resilient_parsing:  # which is shell completion
        print(f"hf-lecture {context.info_name}: {problem}", file=sys.stderr)
        raise typer.Exit(1)
    return files or ([] if context.info_name == "generate" else ["-"])


def _problem_of(file: str, verb: str | None) -> str | None:
    if Path(file).is_dir():
        # It may hold images, or a data set.
        return None if verb in ("predict", "filter", "count") else f"{file} is a folder: name text files"
    if not Path(file).exists():
        advice = "a prompt itself goes after --prompt, or" if verb == "generate" else "text itself goes"
        return f"there is no file {file}; {advice} to standard input"
    return None if os.access(file, os.R_OK) else f"the file {file} may not be read; change its permissions"


def _refuse_unreadable_file(context: typer.Context, file: Path | None) -> Path | None:
    if file is not None and str(file) != "-" and not file.exists() and not context.resilient_parsing:
        print(f"hf-lecture {context.info_name}: there is no file {file}", file=sys.stderr)
        raise typer.Exit(1)
    _refuse_unreadable_files(context, [str(file)] if file else [])
    return file


def _refuse_unreadable_sample(context: typer.Context, file: Path | None) -> Path | None:
    if file is not None and str(file) == "-":
        raise typer.BadParameter("a sample is read before the texts: name a file")
    return _refuse_unreadable_file(context, file)


def _two_numbers(text: str) -> tuple[float, float]:
    """Return two numbers, written `LOW,HIGH`."""
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not two numbers, such as 30,60") from None
    if not low <= high:
        raise typer.BadParameter(f"{text!r}: the first number must not be above the second")
    return low, high


def _refuse_temperature(value: float) -> float:
    if not 0 < value < math.inf:
        raise typer.BadParameter("it must be above 0; for greedy search leave --sample out")
    return value


def _refuse_top_p(value: float) -> float:
    if not 0 < value <= 1:
        raise typer.BadParameter("it must be above 0 and at most 1")
    return value


def _refuse_minutes(value: float) -> float:
    if not 0 < value < math.inf:
        raise typer.BadParameter("it must be above 0")
    return value


def _refuse_other_pictures(file: Path | None) -> Path | None:
    if file is not None and file.suffix not in (".svg", ".pdf", ".png"):
        raise typer.BadParameter(f"{file} must end in .svg or .pdf, which can be enlarged, or in .png")
    return file


def _refuse_other_reports(file: Path | None) -> Path | None:
    known = (".csv", ".tsv", ".jsonl", ".svg", ".pdf", ".png")
    if file is not None and file.suffix.lower() not in known:
        raise typer.BadParameter(f"{file} must end in .csv, .tsv or .jsonl for errors, or in .svg, .pdf or .png")
    return file


def _refuse_blank_text(text: str | None) -> str | None:
    if text is not None and not text.strip():
        raise typer.BadParameter("it is blank; give some words")
    return text


# The values of options, of which typer takes no other.
TokenKind = StrEnum("TokenKind", ["word", "bpe", "char", "byte"])
Decoder = StrEnum("Decoder", ["flashlight", "kaldi", "pocketsphinx", "pyctcdecode"])
Probability = StrEnum("Probability", ["terminated", "prefix"])
Segmentations = StrEnum("Segmentations", ["best", "marginal"])
TextForm = StrEnum("TextForm", ["plain", "wikitext"])
PromptTask = StrEnum("PromptTask", ["copa", "balanced_copa", "piqa", "arc_easy", "arc_challenge"])
# Those of `hf_lecture_models/lab/exercises/registry.py`, in its order.
EXERCISE_NAMES = (
    *("bpe_merge", "unigram_viterbi", "kneser_ney_discounts", "lstm_cell", "backpropagation_through_time"),
    *("skip_gram_update", "attention", "layer_norm_gradient", "mask_tokens", "beam_search", "relative_shift"),
    *("linear_attention_step", "all"),
)
Metric = StrEnum("Metric", ["cosine", "euclidean"])
Criterion = StrEnum("Criterion", ["entropy", "weighted_difference"])
Measure = StrEnum("Measure", ["perplexity", "word_perplexity", "bits_per_byte", "perplexity_without_unk"])
KenlmType = StrEnum("KenlmType", ["probing", "trie"])

Model = Annotated[str, Argument(help="A model's folder, its name on the Hub, or an ARPA file.", metavar="MODEL")]
AtMost = Annotated[
    str | None,
    Option(
        "--at-most",
        "--at_most",
        help="With --counts: per order, remove n-grams counted at most so often, such as 0,1,2. The last number "
        "holds for higher orders; 1-grams stay, so the first is 0.",
    ),
]
HistoryModel = Annotated[
    str | None,
    Option(
        "--history-model",
        "--history_model",
        "--history",
        help="An n-gram model for the probabilities of contexts, as Kneser-Ney needs it; by default MODEL itself.",
        metavar="MODEL",
    ),
]
ConvertedSource = Annotated[
    str,
    Argument(
        help="An ARPA file, also packed or a pipe; one of KenLM's binary files; a file of word2vec, fastText (.vec) or "
        "GloVe (.bin, .vec, .txt, also .gz); AllenNLP's ELMo (weights.hdf5 beside options.json, or their folder); a "
        "folder with a checkpoint of transfo-xl, openai-gpt, bert or vit; or a model's folder or Hub name.",
        metavar="SOURCE",
    ),
]
ConvertedTarget = Annotated[
    Path,
    Argument(
        help="A new folder, for a file; a new file, for an n-gram (.arpa, .lm; .bin, .klm of KenLM; .fst.txt) or "
        "word vectors (.bin, .vec, .txt); else NAME.onnx.",
        metavar="TARGET",
    ),
]
KenlmTypeOption = Annotated[
    KenlmType | None,
    Option(
        "--kenlm-type",
        "--kenlm_type",
        help="Of KenLM's file: probing (hash tables, faster, the default) or trie (smaller).",
        show_default=False,
    ),
]
ProbingMultiplier = Annotated[
    float | None,
    Option(
        "--probing-multiplier",
        "--probing_multiplier",
        help="How many times as large as what they hold hash tables are: above 1, by default 1.5.",
        show_default=False,
    ),
]
QuantisedProbs = Annotated[
    int | None,
    Option(
        "--quantise-probs",
        "--quantise_probs",
        help="Bits of each probability of a trie, 2 to 25; by default not quantised.",
        show_default=False,
    ),
]
QuantisedBackoffs = Annotated[
    int | None,
    Option(
        "--quantise-backoffs",
        "--quantise_backoffs",
        help="Bits of each back-off weight, 2 to 25; by default as many as of a probability.",
        show_default=False,
    ),
]
ArrayCompress = Annotated[
    int | None,
    Option(
        "--array-compress",
        "--array_compress",
        help="The most bits of a trie's pointers that an array holds, 0 to 255; by default there is no array.",
        show_default=False,
    ),
]
DecoderOption = Annotated[
    Decoder | None,
    Option("--for", help="The speech recogniser that reads the ARPA file: it gets what this one needs."),
]
UnknownWord = Annotated[
    str | None,
    Option(
        "--unknown-word",
        "--unknown_word",
        help="How the ARPA file spells the unknown word; by default <unk>, and for pocketsphinx <UNK>.",
        metavar="WORD",
    ),
]
NewNGrams = Annotated[
    Path,
    Argument(
        help="An ARPA file (.arpa or .lm, also .gz, .bz2, .xz, .zst), one of KenLM's binary files (.bin, .klm), or a "
        "new folder.",
        metavar="OUT",
    ),
]
Files = Annotated[
    list[str],
    Argument(
        help="Text files (.gz too); none, or -, is standard input.", metavar="FILE", callback=_refuse_unreadable_files
    ),
]
Tables = Annotated[
    list[str], Argument(help="Text files (.gz too), or tables; none, or -, is standard input.", metavar="FILE")
]
Inputs = Annotated[
    list[str], Argument(help="Text files (.gz too), tables, or images; none, or -, is standard input.", metavar="FILE")
]
Json = Annotated[bool, Option("--json", help="One JSON object per line; null stands for minus infinity.")]
JsonOfWords = Annotated[
    bool, Option("--json", help="One JSON object per line; null stands for infinite and for missing bits.")
]
RowsHeldOut = Annotated[
    bool,
    Option(
        "--held-out",
        help="Only the training rows that the run held out for validation. FILE: its training files; none: those that "
        "it was trained on.",
    ),
]
Store = Annotated[
    bool,
    Option(
        "--store",
        help="Save the measured setting (the best threshold for no answer) in MODEL, if it has none: predictions and "
        "later measures use it. For validation data.",
    ),
]
WhichProbability = Annotated[
    Probability, Option(help="terminated: of the text with its end; prefix: of all texts that begin with it.")
]
SentencePiece = Annotated[
    Path | None,
    Option(
        help="A sentencepiece model (.model) whose pieces are the words of an n-gram, as CCNet has them.",
        metavar="FILE",
        callback=_refuse_unreadable_file,
    ),
]
CorpusFiles = Annotated[
    list[str],
    Argument(
        help="Text files (.gz too), .jsonl, .csv, .tsv or .parquet, or a folder with a data set; none, or -, is "
        "standard input.",
        metavar="FILE",
        callback=_refuse_unreadable_files,
    ),
]
CountedFiles = Annotated[
    list[str],
    Argument(
        help="Texts, one per line; count files NAME.counts (all may be packed); folders of Google's Web 1T; none, "
        "or -, is standard input.",
        metavar="FILE",
        callback=_refuse_unreadable_files,
    ),
]
CountFile = Annotated[
    Path | None,
    Option("--output", "-o", help="The count file to write, as SRILM does; packed if it ends in .gz, .bz2, .xz, .zst."),
]
CountedOrder = Annotated[
    int | None, Option(min=1, max=64, help="Words in the longest n-grams; 3 for texts, those of the count files.")
]
ModelOfCounts = Annotated[
    Path | None, Option(help="Estimate a model from the counts too: a new folder, or an ARPA file.", metavar="OUT")
]
HeldOutTexts = Annotated[
    Path | None,
    Option(
        "--held-out",
        "--held_out",
        help="With --smoothing jelinek_mercer: texts to set its weights by.",
        callback=_refuse_unreadable_file,
    ),
]
Keep = Annotated[float | None, Option(help="Keep this fraction of the texts, such as 0.3: those of lowest perplexity.")]
MaxPerplexity = Annotated[
    float | None, Option(min=0, help="Keep texts of at most this perplexity; each is printed when scored.")
]
MinPerplexity = Annotated[
    float | None, Option(min=0, help="Keep texts of at least this perplexity; also with --max-perplexity.")
]
Minus = Annotated[
    str | None,
    Option(help="Another model, of texts in general: compare by MODEL's cross-entropy minus its.", metavar="MODEL"),
]
MaxDifference = Annotated[
    float | None,
    Option(
        "--max-difference", "--max_difference", help="With --minus: keep texts of at most this difference, in bits."
    ),
]
SampleOfTexts = Annotated[
    Path | None,
    Option(
        help="A file of texts from which --percentile and --buckets are taken.",
        metavar="FILE",
        callback=_refuse_unreadable_sample,
    ),
]
Percentile = Annotated[
    float | None, Option(help="Keep texts of at most this percentile of the sample's perplexities, such as 30.")
]
Buckets = Annotated[
    Any,
    Option(
        help="Divide into head, middle and tail at two percentiles, of the sample or of the input: 30,60 as CCNet.",
        metavar="LOW,HIGH",
        parser=_two_numbers,
    ),
]
Cutoffs = Annotated[
    Any,
    Option(
        help="Divide into head, middle and tail at these two perplexities (differences with --minus).",
        metavar="LOW,HIGH",
        parser=_two_numbers,
    ),
]
WhichMeasure = Annotated[
    Measure, Option(help="What is compared: perplexity per token, per word, bits per byte, or without unknown words.")
]
TextColumn = Annotated[str, Option(help="The field or column that holds the text.")]
KeptRows = Annotated[
    Path | None, Option("--output", "-o", help="A file for the kept rows, in the form of the input; .gz compresses.")
]
FilterBatchSize = Annotated[int | None, Option(min=1, help="Texts per batch of a network, by default 64.")]
TextFormOption = Annotated[
    TextForm, Option(help="wikitext: with spaces around punctuation, as in WikiText, for models trained on its words.")
]
Tokens = Annotated[bool, Option("--tokens", help="Print the log-probability of each token too.")]
HeldOut = Annotated[
    list[str],
    Option(help="A file for this part; may be repeated. Without it, lines of FILE are held out.", metavar="FILE"),
]
Seed = Annotated[int, Option(help="Random seed of initial weights, dropout and the order of the data.")]
CacheWeight = Annotated[
    float | None, Option(min=0, max=0.999, help="With --stream: weight of a cache of the last words, such as 0.1.")
]
ContinuousCacheWeight = Annotated[
    float | None, Option(min=0, max=0.999, help="With --stream: weight of a cache that compares hidden states.")
]
CacheWindow = Annotated[int, Option(min=1, help="Tokens that a cache holds.")]
DynamicEvaluationRate = Annotated[
    float | None, Option(min=0, help="With --stream: a copy of the network learns each segment, at this learning rate.")
]
BatchSize = Annotated[int, Option(min=1, help="Texts per batch.")]
Prompts = Annotated[list[str], Option("--prompt", "-p", metavar="TEXT", help="A text to continue; may be repeated.")]
MaxNewTokens = Annotated[
    int | None,
    Option(min=1, help="Most new tokens after a prompt; by default 50, or fewer if the model can read no more."),
]
Temperature = Annotated[
    float, Option(callback=_refuse_temperature, help="With --sample: below 1 favours likely tokens, above 1 unlikely.")
]
TopK = Annotated[int, Option(min=0, help="With --sample: only from the k most probable tokens; 0: from all.")]
TopP = Annotated[
    float, Option(callback=_refuse_top_p, help="With --sample: from the likeliest tokens that add up to p (nucleus).")
]
NumberOfTexts = Annotated[int, Option(min=1, help="Continuations of each prompt; needs --sample, or as many --beams.")]
Interactive = Annotated[
    bool, Option("--interactive", help="Suggest the likeliest next words as you type; --number of them, by default 5.")
]
FusedModel = Annotated[
    str | None,
    Option(help="A second model of the same vocabulary, added to the scores (shallow fusion).", metavar="MODEL"),
]
FuseWeight = Annotated[
    float | None, Option(min=0.0, help="With --fuse: multiplies the log-probabilities of the second model.")
]

OutputFolder = Annotated[Path, Option(help="Folder for models, table and pictures.")]
Beams = Annotated[
    int | None, Option(min=1, help="Number of beams; 1: greedy search; by default the model's own choice.")
]
MaxLength = Annotated[
    int | None, Option("--max-length", "--max_length", min=1, help="Tokens to keep of an input that has more.")
]
Layer = Annotated[int | None, Option(min=1, help="Counted from 1; by default the mean over all.")]
Head = Annotated[int | None, Option(min=1, help="With --layer: counted from 1; by default the mean over all.")]
Text = Annotated[str, Argument(help="One text, in quotes.", metavar="TEXT", callback=_refuse_blank_text)]
Picture = Annotated[
    Path | None,
    Option("--output", "-o", help="Draw it into this file (.svg, .pdf, .png).", callback=_refuse_other_pictures),
]
Report = Annotated[
    Path | None,
    Option(
        "--output",
        "-o",
        help="Write the wrong predictions into this table (.csv, .tsv, .jsonl), the most confident first; or draw the "
        "confusion matrix of a classifier (.svg, .pdf, .png).",
        callback=_refuse_other_reports,
    ),
]
Beside = Annotated[list[str], Option(help="Another model, for the same text; may be repeated.", metavar="MODEL")]
PromptTaskName = Annotated[
    PromptTask | None, Argument(help="A task of the package; or leave it out and give --template.", metavar="TASK")
]
PromptTemplateFile = Annotated[
    Path | None, Option(help="A template of your own, a YAML file.", callback=_refuse_unreadable_file)
]
PromptRows = Annotated[
    list[str],
    Option(
        help="A file of rows to score (.jsonl, .csv, .parquet, ...), in place of the template's; may be repeated. "
        "Files are searched here, then in the folder that HF_LECTURE_DATA names.",
        metavar="FILE",
    ),
]
ShotRows = Annotated[
    list[str], Option(help="A file of rows that examples are drawn from; may be repeated.", metavar="FILE")
]
Shots = Annotated[
    list[int] | None,
    Option(
        min=0,
        help="Examples before each prompt; may be repeated. By default 0, 1 and 4, or only 0 if there are no rows to "
        "draw them from.",
    ),
]
UnigramTexts = Annotated[
    str | None,
    Option(
        help="A text file, such as the model's training text: a unigram model of its tokens is measured too.",
        metavar="FILE",
    ),
]


@app.callback()
def options(
    version: Annotated[
        bool, Option("--version", is_eager=True, callback=_print_version, help="Show the version and exit.")
    ] = False,
) -> None:
    """All models of the NLP lectures, from the n-gram to the Transformer: train, measure, look inside, publish.

    They continue and score texts, classify texts and images, tag words, fill in masked words, choose, answer questions,
    translate, describe images and draw. Models of transformers work too.

    Start with `hf-lecture quickstart`. All log-probabilities are natural logarithms.
    """


@app.command(short_help="Train and compare the models on text that comes with Python.")
def quickstart(
    output: OutputFolder = Path("quickstart"),
    tiny: Annotated[bool, Option("--tiny", help="Less text and smaller networks: under a minute.")] = False,
    seed: Seed = 0,
) -> None:
    """Train six language models on English text that comes with Python; compare, save and reload them.

    They are two n-grams, a feed-forward and a recurrent network, an LSTM and a Transformer. It works offline and
    took 74 seconds on one core.
    """
    _run("quickstart", "lab.verbs.quickstart", locals())


@app.command(short_help="Train and compare the models on your own text.")
def ladder(
    files: Annotated[list[str], Argument(help="Text files (.gz too), one text per line.", metavar="FILE")],
    output: OutputFolder = Path("ladder"),
    validation: HeldOut = _NONE,
    test: HeldOut = _NONE,
    tokenizer: Annotated[
        TokenKind | None,
        Option(help="What a token is; bpe: a piece of a word. By default word, or char in text without spaces."),
    ] = None,
    vocab_size: Annotated[
        int | None, Option(min=1, help="Most tokens in the vocabulary; by default 10,000 words, 4,000 of the others.")
    ] = None,
    min_count: Annotated[
        int | None,
        Option(min=1, help="Words, characters or (bpe) pairs that are rarer get no token; by default 2, bpe 5."),
    ] = None,
    minutes: Annotated[
        float, Option(callback=_refuse_minutes, help="Training time of all networks together; the whole takes longer.")
    ] = 4.0,
    tiny: Annotated[
        bool, Option("--tiny", help="Try it out: the first 400 lines of each file only, and small networks.")
    ] = False,
    seed: Seed = 0,
) -> None:
    """Train the models of `hf-lecture quickstart` on your own text; compare, save and reload them.

    If it is interrupted, the same command goes on after the models that are finished.
    """
    _run("ladder", "lab.verbs.ladder", locals())


@app.command(short_help="Log-probability of each line, perplexity of all lines.")
def score(
    name: Model,
    files: Files = _NONE,
    probability: WhichProbability = Probability.terminated,
    tokens: Tokens = False,
    stream: Annotated[
        bool, Option("--stream", help="Score each line given all lines before it; otherwise each by itself.")
    ] = False,
    segmentations: Annotated[
        Segmentations,
        Option(
            help="best: the tokens that the tokenizer gives; marginal: the sum over all segmentations of a unigram "
            "tokenizer, exact for n-gram models, a lower bound for networks."
        ),
    ] = Segmentations.best,
    cache: CacheWeight = None,
    continuous_cache: ContinuousCacheWeight = None,
    cache_window: CacheWindow = 1000,
    dynamic_evaluation: DynamicEvaluationRate = None,
    sentencepiece: SentencePiece = None,
    json: Json = False,
    batch_size: BatchSize = 64,
) -> None:
    """Print the log-probability of each line, then perplexity and bits per byte of all lines.

    A blank line is an empty text. The summary goes to standard error, with --json into a last line {"summary": ...}.
    With --stream nothing is printed before the last line is read.
    """
    is_adapted = (cache, continuous_cache, dynamic_evaluation) != (None, None, None)
    if is_adapted and not stream:
        raise typer.BadParameter("a cache and dynamic evaluation follow lines that come after each other: add --stream")
    if stream and probability is Probability.prefix:
        raise typer.BadParameter("with --stream each text ends before the next begins: not --probability prefix")
    if segmentations is Segmentations.marginal and (stream or tokens or sentencepiece):
        raise typer.BadParameter("--segmentations marginal goes with neither --stream nor --tokens nor --sentencepiece")
    is_plain = segmentations is Segmentations.best and not is_adapted
    _run("score", "cli.score" if is_plain else "lab.verbs.score", locals())


@app.command("filter", short_help="Keep the texts of a corpus that a model finds probable.")
def filter_texts(
    name: Model,
    files: CorpusFiles = _NONE,
    minus: Minus = None,
    keep: Keep = None,
    max_perplexity: MaxPerplexity = None,
    min_perplexity: MinPerplexity = None,
    max_difference: MaxDifference = None,
    sample: SampleOfTexts = None,
    percentile: Percentile = None,
    buckets: Buckets = None,
    cutoffs: Cutoffs = None,
    measure: WhichMeasure = Measure.perplexity,
    text_column: TextColumn = "text",
    jsonl: Annotated[bool, Option("--jsonl", help="Lines are JSON objects, whatever the file's name.")] = False,
    split: Annotated[str, Option(help="The part of a folder's data set.")] = "train",
    sentencepiece: SentencePiece = None,
    output: KeptRows = None,
    scores: Annotated[Path | None, Option(help="A file for the figure of each row, one per line.")] = None,
    json: Annotated[bool, Option("--json", help="The summary on standard error is a JSON object.")] = False,
    batch_size: FilterBatchSize = None,
) -> None:
    """Print the texts with the lowest perplexity, in their order; whole rows of tables, unchanged.

    With --minus, texts are compared by the difference of two cross-entropies (Moore and Lewis 2010), in bits.

    Blank texts and texts of probability 0 are never kept. A summary goes to standard error. With --keep, and with
    --buckets without --sample, the input is read twice; standard input is copied to a temporary file. All other ways
    read it once.
    """
    _check_filter_limits(minus, max_perplexity, min_perplexity, max_difference)
    limits = [limit for limit in (max_perplexity, min_perplexity, max_difference) if limit is not None]
    _check_filter_ways(keep, limits, percentile, buckets, cutoffs)
    _check_filter_sample(sample, percentile, buckets)
    if (buckets or cutoffs) and output is None:
        raise typer.BadParameter("--buckets and --cutoffs need --output NAME: three files NAME.head, .middle and .tail")
    if (files).count("-") > 1:
        raise typer.BadParameter("standard input can be read only once: name - once")
    _run("filter", "lab.verbs.filter", locals())


def _check_filter_limits(minus: str | None, most: float | None, least: float | None, difference: float | None) -> None:
    if minus is None and difference is not None:
        raise typer.BadParameter("--max-difference needs --minus, the model whose cross-entropy is subtracted")
    if minus is not None and (most, least) != (None, None):
        raise typer.BadParameter("with --minus texts are compared by a difference: give --max-difference as the limit")


def _check_filter_ways(keep: float | None, limits: list[float], *others: Any) -> None:
    if sum(way is not None for way in (keep, *others)) + bool(limits) != 1:
        raise typer.BadParameter(
            "give either --keep FRACTION, or --max-perplexity, --min-perplexity or both, or --max-difference with "
            "--minus, or --percentile with --sample, or --buckets, or --cutoffs"
        )
    if keep is not None and not 0 < keep <= 1:
        raise typer.BadParameter(f"--keep is {keep}; it must be above 0 and at most 1")


def _check_filter_sample(sample: Path | None, percentile: float | None, buckets: tuple[float, float] | None) -> None:
    if sample is not None and percentile is None and buckets is None:
        raise typer.BadParameter("--sample needs --percentile or --buckets, which are taken from it")
    if percentile is not None and sample is None:
        raise typer.BadParameter(
            "--percentile needs --sample FILE; for a part of the input itself give --keep FRACTION"
        )
    for number in (percentile, *(buckets or ())):
        if number is not None and not 0 < number <= 100:
            raise typer.BadParameter(f"the percentile {number} must be above 0 and at most 100")


@app.command("surprisal", short_help="Bits of each word, as CSV.")
def surprisal_of_words(
    name: Model,
    files: Files = _NONE,
    beside: Annotated[
        list[str], Option(help="Another model, with columns of its own; may be repeated.", metavar="MODEL")
    ] = _NONE,
    stream: Annotated[
        bool, Option("--stream", help="Score each line given all lines before it; otherwise each by itself.")
    ] = False,
    json: JsonOfWords = False,
    batch_size: BatchSize = 64,
) -> None:
    """Print a row for each word of each line, split at white space: -log2 P given the words before it; CSV.

    For a model of masked words (BERT), P is that of each token given all others, masked one by one. Each line ends with
    a row of kind end, word </s>, without bits if the model gives the end no probability.

    A token counts for the word in which its last visible character stands, white space alone for the word after it.
    Where tokens begin with the blank, a word's end is thus paid by the next word or by </s>. A line's bits add up to
    its ln P of hf-lecture score, divided by -ln 2. inf: probability 0; an empty cell: no token counts for the word.

    Sums go to standard error, with --json into a last line {"summary": ...}. A text longer than the model's longest
    input is read in windows that overlap by half, which the sums say. With --stream nothing is printed before the last
    line is read.
    """
    _run("surprisal", "lab.verbs.surprisal", locals())


@app.command(short_help="Order sentences by probability.")
def rank(
    name: Model,
    files: Files = _NONE,
    scores: Annotated[
        bool, Option("--scores", help="Lines are score<TAB>sentence: order by score + weight * ln P.")
    ] = False,
    weight: Annotated[float | None, Option(help="With --scores: multiplies ln P.")] = None,
    length_bonus: Annotated[float, Option(help="With --scores: added for each word of the sentence.")] = 0.0,
    references: Annotated[
        Path | None,
        Option(
            help="With --scores: a file with the correct sentence of each group; gives word error rates and --weight.",
            callback=_refuse_unreadable_file,
        ),
    ] = None,
    probability: WhichProbability = Probability.terminated,
    tokens: Tokens = False,
    json: Json = False,
    batch_size: BatchSize = 64,
) -> None:
    """Order the lines of each group by probability, the most probable first. Blank lines separate groups.

    With --scores the groups are n-best lists, for example of a speech recogniser, to be rescored.
    """
    if not scores:
        if (weight, length_bonus, references) != (None, 0.0, None):
            raise typer.BadParameter("--weight, --length-bonus and --references need --scores")
        return _run("rank", "cli.rank", locals())
    if weight is None and references is None:
        raise typer.BadParameter("--scores needs --weight, or --references to find the best one")
    _run("rank", "lab.verbs.nbest", locals())


@app.command(short_help="Continue prompts, or suggest next words as you type.")
def generate(
    context: typer.Context,
    name: Model,
    files: Files = _NONE,
    prompts: Prompts = _NONE,
    max_new_tokens: MaxNewTokens = None,
    sample: Annotated[bool, Option("--sample", help="Sample each token; otherwise greedy search.")] = False,
    temperature: Temperature = 1.0,
    top_k: TopK = 0,
    top_p: TopP = 1.0,
    beams: Annotated[int, Option(min=1, help="Number of beams in beam search; 1: no beam search.")] = 1,
    number: NumberOfTexts = 1,
    seed: Annotated[int | None, Option(help="With --sample: random seed.")] = None,
    fuse: FusedModel = None,
    fuse_weight: FuseWeight = None,
    interactive: Interactive = False,
    json: Json = False,
    batch_size: BatchSize = 16,
) -> None:
    """Continue each --prompt, or each line of files or of standard input. An empty prompt starts a new text."""
    if interactive:
        number = _number_of_words(context, number)
        return _run("generate", "cli.autocomplete", locals())
    options: dict[str, Any] = {"num_beams": beams, "num_return_sequences": number}
    if sample:
        options |= {"do_sample": True, "temperature": temperature, "top_k": top_k, "top_p": top_p}
    elif (temperature, top_k, top_p, seed) != (1.0, 0, 1.0, None):
        raise typer.BadParameter("--temperature, --top-k, --top-p and --seed need --sample")
    if number > 1 and not sample and number > beams:
        raise typer.BadParameter(f"--number {number} needs --sample, or --beams {number} at least")
    if (fuse is None) != (fuse_weight is None):
        raise typer.BadParameter("--fuse MODEL and --fuse-weight NUMBER go together, for example --fuse-weight 0.3")
    _run("generate", "cli.generate", locals())


def _number_of_words(context: typer.Context, number: int) -> int:
    sources = {name: context.get_parameter_source(name) for name in context.params}
    given = {name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"}
    if given - {"name", "interactive", "number"}:
        raise typer.BadParameter("--interactive goes with --number alone")
    return number if "number" in given else 5


@app.command(
    short_help="Classes, tags, masked words, choices or answers for each line.",
    context_settings={"ignore_unknown_options": True},  # _split_data_options reads them as words of FILE
)
def predict(
    context: typer.Context,
    name: Model,
    files: Inputs = _NONE,
    top_k: Annotated[
        int | None, Option("--top-k", "-k", min=1, help="Predictions for each line; by default 1, for a masked word 5.")
    ] = None,
    aggregate: Annotated[bool, Option("--aggregate", help="Print entities in place of words with tags.")] = False,
    jsonl: Annotated[
        bool, Option("--jsonl", help='Lines are JSON objects {"text": ...}, for a pair with "text_pair" too.')
    ] = False,
    max_length: MaxLength = None,
    json: Json = False,
    batch_size: BatchSize = 64,
) -> None:
    """Print a model's predictions for each line: label, score and text, with tabs between them.

    A classifier reads a text, or two texts with a tab between them. A tagger reads a sentence, and predicts a tag for
    each word. A masked language model reads a text with the mask token. Models of multiple choice and of question
    answering read JSON objects, {"context": ..., "choices": [...]} and {"question": ..., "context": ...}.

    A model of images reads image files, a folder of them, or lines with their paths. Files named .csv, .tsv, .json,
    .jsonl, .parquet, .conll or .conllu are tables. Their columns are read as by the verb evaluate; --columns.COLUMN
    NAME names another column.
    """
    files, fields = _split_data_options(files)
    files = _refuse_unreadable_files(context, files)
    _run("predict", "cli.predict", locals())


@app.command(
    short_help="Translate each line.",
    context_settings={"ignore_unknown_options": True},  # _split_data_options reads them as words of FILE
)
def translate(
    context: typer.Context,
    name: Model,
    files: Tables = _NONE,
    beams: Beams = None,
    length_penalty: Annotated[
        float | None, Option(help="Beam search compares log P / length ** PENALTY; above 0 favours long texts.")
    ] = None,
    number: Annotated[int, Option(min=1, help="Translations of each line, best first; needs as many --beams.")] = 1,
    max_new_tokens: Annotated[
        int | None,
        Option(min=1, help="Most tokens of a translation; by default twice as many as the line has, and ten."),
    ] = None,
    max_length: Annotated[
        int | None, Option("--max-length", "--max_length", min=2, help="Tokens to keep of a line that has more.")
    ] = None,
    json: Json = False,
    batch_size: BatchSize = 32,
) -> None:
    """Print the translation of each line of files or of standard input; any encoder-decoder can translate.

    An empty line gives as many empty lines as other lines have translations, so that both sides stay aligned. Files
    named .csv, .tsv, .json, .jsonl or .parquet are tables; --columns.source NAME names the column to translate.
    """
    files, fields = _split_data_options(files)
    if number > 1 and number > (beams or 1):
        raise typer.BadParameter(f"--number {number} needs --beams {number} at least")
    given = {"num_beams": beams, "length_penalty": length_penalty, "max_new_tokens": max_new_tokens}
    options = {name: value for name, value in {**given, "max_length": max_length}.items() if value is not None}
    options |= {"num_return_sequences": number} if number > 1 else {}
    files = _refuse_unreadable_files(context, files)
    _run("translate", "cli.translate", locals())


@app.command(
    short_help="Measures of a model on a task: GLUE, tagging, multiple choice, ...",
    context_settings={"ignore_unknown_options": True},  # _split_data_options reads them as words of FILE
)
def evaluate(
    name: Model,
    task: Annotated[
        str,
        Argument(
            help="A benchmark: cola, sst2, rte, ewt, wnut17, copa, ...; or a kind of task, for data of your own: "
            "text_classification, causal_lm, ... Another name lists them all.",
            metavar="TASK",
        ),
    ],
    files: Annotated[
        list[str],
        Argument(
            help="Files of the benchmark, or files with the columns of the recipe that trained the model; relative to "
            "this folder, or to the one that HF_LECTURE_DATA names. None: the benchmark's data on the Hub.",
            metavar="FILE",
        ),
    ] = _NONE,
    split: Annotated[str | None, Option(help="Split of the data on the Hub; by default those for validation.")] = None,
    max_length: MaxLength = None,
    output: Report = None,
    store: Store = False,
    json: Json = False,
    held_out: RowsHeldOut = False,
) -> None:
    """Print the measures of a model on a task, the official one first.

    --output errors.csv writes the wrong predictions: input, right answer (gold), predicted one, score and place. Of
    numbers and translations it writes all, the worst first. --output confusion.svg draws the confusion matrix of a
    classifier. Classes of the data and of the model are matched by their names. Options of recipes describe the files:
    --columns.COLUMN NAME, --label_names.LABEL NAME, --label_columns NAME,NAME, --scheme plain|entities, --thresholds.
    """
    files, fields = _split_data_options(files)
    _run("evaluate", "cli.evaluate", locals())


def _split_data_options(words: list[str]) -> tuple[list[str], dict[str, str]]:
    """Return the files, and the fields of a recipe by their dotted names.

    >>> _split_data_options(["a.tsv", "--label_names.1", "good", "--columns.text=review"])
    (['a.tsv'], {'label_names.1': 'good', 'columns.text': 'review'})
    """
    files, fields, rest = [], {}, list(words)
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        if not name.startswith("--"):
            files.append(f"{name}{equals}{value}")
            continue
        if name[2:].partition(".")[0] not in ("columns", "label_columns", "label_names", "scheme", "thresholds"):
            raise typer.BadParameter(f"there is no option {name}")
        if not equals and not rest:
            raise typer.BadParameter(f"{name} needs a value: {name} VALUE")
        fields[name[2:]] = value if equals else rest.pop(0)
    return files, fields


@app.command(short_help="Grammar: accuracy on the minimal pairs of BLiMP.")
def blimp(
    name: Model,
    data: Annotated[
        Path | None, Option(help="Folder with BLiMP's *.jsonl or *.jsonl.gz; without it, they come from the Hub.")
    ] = None,
    output: Annotated[Path, Option(help="Folder for results and picture, blimp.json and blimp.png.")] = Path("blimp"),
    text_form: TextFormOption = TextForm.plain,
    probability: WhichProbability = Probability.terminated,
    json: Json = False,
    batch_size: BatchSize = 64,
) -> None:
    """Print the accuracy on BLiMP's 67 paradigms: how often the grammatical sentence of a pair is more probable.

    If it is interrupted, the same command goes on after the paradigms that are finished.
    """
    _run("blimp", "lab.verbs.blimp", locals())


@app.command(short_help="Prompts: how often the answer that a model finds best is right.")
def prompt(
    name: Model,
    task: PromptTaskName = None,
    template: PromptTemplateFile = None,
    data: PromptRows = _NONE,
    shots_data: ShotRows = _NONE,
    shots: Shots = None,
    seed: Annotated[int, Option(min=0, help="Random seed from which examples are drawn.")] = 0,
    text_form: TextFormOption = TextForm.plain,
    generate: Annotated[
        bool, Option("--generate/--no-generate", help="Also let the model write an answer, which takes longer.")
    ] = True,
    unigram: UnigramTexts = None,
    output: Annotated[
        Path | None, Option(help="Folder for prompting.json and prompting_items.jsonl, a line for each item.")
    ] = None,
    json: Json = False,
    batch_size: BatchSize = 32,
) -> None:
    """Print how often the right answer of several has the highest score after a prompt, with 0, 1 and 4 examples.

    The scores of an answer are ln p(answer given prompt), the same per token and per character, and its difference to
    ln p(answer given "Answer:"). Chance, the most frequent answer and standard errors (s.e.) are printed too.
    """
    if (task is None) == (template is None):
        raise typer.BadParameter("give a TASK, or --template with a file of your own")
    _run("prompt", "lab.verbs.prompt", locals())


@app.command(short_help="Words with the most similar embeddings.")
@see.command(short_help="Words with the most similar embeddings.")
def neighbours(
    name: Model,
    words: Annotated[list[str], Argument(help="Words of the vocabulary.", metavar="WORD")],
    number: Annotated[int, Option("--number", "-k", min=1, help="Neighbours to print for each word.")] = 10,
    output_embeddings: Annotated[
        bool, Option("--output-embeddings", help="Compare output embeddings in place of input embeddings.")
    ] = False,
    metric: Annotated[Metric, Option(help="Similarity: the cosine, or minus the Euclidean distance.")] = Metric.cosine,
    mean_of_pieces: Annotated[
        bool, Option("--mean-of-pieces", help="Allow words of several tokens: the mean of their vectors.")
    ] = False,
    output: Annotated[
        Path | None,
        Option(
            "--output",
            "-o",
            "--picture",
            help="Draw words and neighbours in two dimensions into this file (.svg, .pdf, .png).",
            callback=_refuse_other_pictures,
        ),
    ] = None,
    analogy: Annotated[
        bool, Option("--analogy", help="Three words a, b, c: print the words d such that a is to b as c is to d.")
    ] = False,
    json: Json = False,
) -> None:
    """Print the words nearest to each WORD in the model's embeddings, with their similarity."""
    if analogy and (metric is not Metric.cosine or mean_of_pieces or output is not None):
        raise typer.BadParameter(
            "--analogy compares whole words by the cosine and draws nothing; leave the other options out"
        )
    _run("neighbours", "lab.verbs.neighbours", locals())


@see.command(short_help="How much each token attends to each.")
def attention(
    name: Model,
    text: Text,
    pair: Annotated[
        str | None, Option(help="A second text, for models that read pairs.", callback=_refuse_blank_text)
    ] = None,
    layer: Layer = None,
    head: Head = None,
    all_heads: Annotated[
        bool, Option("--all", help="Draw a small picture of each head, of all layers or of --layer.")
    ] = False,
    word: Annotated[str | None, Option(help="Only this token of the text, and what it attends to.")] = None,
    output: Picture = None,
    json: Json = False,
) -> None:
    """Print for each token the three that it attends to most; draw the map. Layers and heads are counted from 1."""
    if head is not None and layer is None:
        raise typer.BadParameter("--head belongs to a layer: name --layer too")
    if all_heads and (head is not None or word is not None):
        raise typer.BadParameter("--all goes with neither --head nor --word")
    if all_heads and output is None and not json:
        raise typer.BadParameter("--all needs --output PICTURE.svg or --json")
    _run("see attention", "cli.see_attention", locals())


@see.command(short_help="Which words of the source each word of a translation attends to.")
def alignment(
    name: Model,
    text: Annotated[
        str | None, Argument(help="One text, in quotes.", metavar="TEXT", callback=_refuse_blank_text)
    ] = None,
    image: Annotated[
        Path | None, Option(help="An image, in place of TEXT: which patches each word of its caption attends to.")
    ] = None,
    target: Annotated[
        str | None, Option(help="A translation or caption of your own, not the model's.", callback=_refuse_blank_text)
    ] = None,
    beams: Beams = None,
    layer: Layer = None,
    head: Head = None,
    output: Picture = None,
    json: Json = False,
) -> None:
    """Translate TEXT; print for each word of the target the three of the source that it attends to most; draw the map.

    Rows are the target's words and columns the source's, as in figure 3 of Bahdanau et al. 2015. With --image, write
    its caption and draw the image for each word, bright where the word attends to a patch.
    """
    if (text is None) == (image is None):
        raise typer.BadParameter("give TEXT to translate, or --image FILE to caption: one of them")
    if head is not None and layer is None:
        raise typer.BadParameter("--head belongs to a layer: name --layer too")
    if target is not None and beams is not None:
        raise typer.BadParameter("--beams search a translation; --target gives it: leave one out")
    _run("see alignment", "cli.see_alignment", locals())


@see.command(short_help="How much the last state depends on each word, by distance.")
def gradients(
    name: Model,
    text: Text,
    beside: Beside = _NONE,
    with_untrained: Annotated[
        bool, Option("--untrained", help="Also show each model before training, with new random weights.")
    ] = False,
    output: Picture = None,
    json: Json = False,
) -> None:
    """Print |dh_L/du_l|, the norm of the last state's gradient by each word's vector, against the distance L - l.

    For recurrent networks, also print the singular values of one step's Jacobian; below 1 they make gradients vanish.
    """
    _run("see gradients", "cli.see_gradients", locals())


@see.command(short_help="How a text is split into tokens: merges, longest matches, or the best segmentations.")
def segmentation(name: Model, text: Text, output: Picture = None, json: Json = False) -> None:
    """Print each merge of byte-pair encoding, or each longest match of WordPiece, from the characters to the tokens.

    For a unigram tokenizer, print the most probable segmentations of each word with their shares, the best one last.
    """
    _run("see segmentation", "cli.see_segmentation", locals())


@see.command(short_help="How an n-gram model moves probability to unseen words.")
def smoothing(
    name: Model,
    words: Annotated[
        list[str], Argument(help="The last words of a context; none: no context.", metavar="WORD")
    ] = _NONE,
    beside: Beside = _NONE,
    number: Annotated[int, Option("--number", "-k", min=0, help="Words to print of each group.")] = 3,
    output: Picture = None,
    json: Json = False,
) -> None:
    """Print how n-gram models divide probability: words seen after all WORDs, after the last ones, and all others.

    Relative frequencies would give all of it to the first group.
    """
    _run("see smoothing", "cli.see_smoothing", locals())


@see.command(short_help="Loss and measures of a training run, step by step.")
def learning(
    folder: Annotated[Path, Argument(help="The folder that a training has written.", metavar="FOLDER")],
    output: Picture = None,
    json: Json = False,
) -> None:
    """Print the loss and the measure that chose the weights, by optimizer steps; draw the learning curve."""
    _run("see learning", "cli.see_learning", locals())


@see.command(short_help="What a model of pen strokes draws.")
def strokes(
    name: Model,
    number: Annotated[int, Option("--number", "-k", min=1, help="Drawings.")] = 20,
    points: Annotated[int, Option(min=1, help="Points of each drawing.")] = 30,
    temperature: Annotated[float, Option(help="Below 1 favours likely points.", callback=_refuse_temperature)] = 1.0,
    seed: Annotated[int, Option(help="The same seed draws the same.")] = 0,
    output: Annotated[Path | None, Option("--output", "-o", help="Draw all into this file, .svg.")] = None,
    json: Json = False,
) -> None:
    """Print drawings of a model of points, each a line [[dx, dy, pen], ...]; draw them side by side."""
    _run("see strokes", "cli.see_strokes", locals())


@see.command(short_help="Where a model of pen strokes expects the next point.")
def density(
    name: Model,
    file: Annotated[str, Argument(help="Sequences of points, .jsonl or .npz.", metavar="FILE")],
    row: Annotated[int, Option(min=1, help="Which sequence of the file.")] = 1,
    output: Picture = None,
    json: Json = False,
) -> None:
    """Print the mixture of Gaussians of the point after a sequence; draw where each of its points was expected."""
    _run("see density", "cli.see_density", locals())


@see.command(short_help="Bits of each word under one model or several.")
def surprisal(
    name: Model,
    text: Annotated[
        str | None,
        Argument(
            help="One text, in quotes; without it the lectures' pairs of sentences are compared.",
            metavar="TEXT",
            callback=_refuse_blank_text,
        ),
    ] = None,
    beside: Beside = _NONE,
    output: Picture = None,
    json: Json = False,
) -> None:
    """Print -log2 P of each word under each model, given the words before it; for BERT, given all other words."""
    if text is None and output is not None:
        raise typer.BadParameter("--output draws one TEXT; give it")
    _run("see surprisal", "cli.see_surprisal", locals())


@app.command(short_help="Functions of the lectures to write yourself, and their check.")
def exercise(
    name: Annotated[
        str | None,
        Argument(
            help="An exercise, or all; without it they are listed.",
            metavar="NAME",
            autocompletion=lambda incomplete: [name for name in EXERCISE_NAMES if name.startswith(incomplete)],
        ),
    ] = None,
    file: Annotated[
        Path | None,
        Argument(help="Your Python file with the function; without it the blank function is printed.", metavar="MY.py"),
    ] = None,
) -> None:
    """List twelve exercises; print the blank function of one, to write its body; or check the function in your file.

    It is compared with the package's own code on fixed inputs, in values and gradients. The status is 0 if it is right,
    and 1 if not; a typical mistake gets a hint. Your file is run: use only files that you trust.
    """
    _run("exercise", "lab.verbs.exercise", locals())


@app.command(short_help="ARPA, KenLM's and word2vec files to models, and back; others to ONNX.")
def convert(
    source: ConvertedSource,
    target: ConvertedTarget,
    kenlm_type: KenlmTypeOption = None,
    probing_multiplier: ProbingMultiplier = None,
    quantise_probs: QuantisedProbs = None,
    quantise_backoffs: QuantisedBackoffs = None,
    array_compress: ArrayCompress = None,
    decoder: DecoderOption = None,
    unknown_word: UnknownWord = None,
) -> None:
    """Convert old files into folders (docs/old_weights.md); n-grams and word vectors to such files, others to ONNX."""
    _run("convert", "cli.convert", locals())


@app.command(short_help="Remove the n-grams that change a model least: by a threshold, a number, or bytes.")
def prune(
    name: Model,
    output: NewNGrams,
    threshold: Annotated[
        float | None,
        Option(help="Remove n-grams whose removal makes the perplexity larger by a smaller part, such as 1e-7."),
    ] = None,
    ngrams: Annotated[int | None, Option(min=1, help="Keep at most so many n-grams, 1-grams included.")] = None,
    bytes: Annotated[
        str | None, Option(help="Keep tables of at most this size, such as 10MB: that of OUT's model.safetensors.")
    ] = None,
    at_most: AtMost = None,
    criterion: Annotated[
        Criterion,
        Option(help="What is below the threshold: the change by relative entropy, or Seymore and Rosenfeld's weights."),
    ] = Criterion.entropy,
    history: HistoryModel = None,
    counts: Annotated[
        Path | None,
        Option(
            help="A text, or a count file NAME.counts, for --at-most and weighted_difference.",
            callback=_refuse_unreadable_file,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Write a smaller n-gram model to OUT, and compute its back-off weights again; all contexts sum to one.

    Give one of --threshold, --ngrams, --bytes and --at-most.
    """
    if sum(value is not None for value in (threshold, ngrams, bytes, at_most)) != 1:
        raise typer.BadParameter("give one of --threshold, --ngrams, --bytes and --at-most")
    _run("prune", "cli.prune", locals())


@app.command(short_help="Cut an n-gram model to the words of a vocabulary.")
def cut(
    name: Model,
    vocabulary: Annotated[
        Path,
        Argument(
            help="A file with a word in each line; what follows it, such as a pronunciation, is not read.",
            metavar="VOCABULARY",
        ),
    ],
    output: NewNGrams,
    json: Json = False,
) -> None:
    """Write an n-gram model without the words that a vocabulary lacks; <unk> gets their probability."""
    _run("cut", "cli.cut", locals())


@app.command(short_help="Add words to an n-gram model.")
def extend(
    name: Model,
    words: Annotated[
        str,
        Argument(
            help="New words with commas between: WORD, WORD:PROBABILITY, or WORD:WORD2 for a word like WORD2; or a "
            "file of lines WORD, WORD PROBABILITY, or WORD WORD2.",
            metavar="WORDS",
        ),
    ],
    output: NewNGrams,
    from_unk: Annotated[
        bool,
        Option(
            "--from-unk",
            "--from_unk",
            help="Take the probabilities from <unk> alone, not from all words in proportion.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Write an n-gram model that knows further words; a word without a probability gets the least one of a word."""
    _run("extend", "cli.extend", locals())


@app.command(short_help="Counts of n-grams, from texts and count files of SRILM and Google; models from them.")
def count(
    files: CountedFiles = _NONE,
    output: CountFile = None,
    order: CountedOrder = None,
    counts: Annotated[bool, Option("--counts", help="All files are count files, whatever their names.")] = False,
    model: ModelOfCounts = None,
    smoothing: Annotated[str | None, Option(help="That of the model, by default modified_kneser_ney.")] = None,
    held_out: HeldOutTexts = None,
    json: Annotated[bool, Option("--json", help="Print what was counted as one JSON object.")] = False,
) -> None:
    """Count the n-grams of all files together, and write a count file in SRILM's form, a model, or both.

    Each line is a text of its own, between <s> and </s>. Counts of several corpora are added.
    """
    if output is None and model is None:
        raise typer.BadParameter("give --output COUNTS, --model OUT or both")
    if model is None and (smoothing is not None or held_out is not None):
        raise typer.BadParameter("--smoothing and --held-out need --model")
    if (smoothing == "jelinek_mercer") != (held_out is not None):
        raise typer.BadParameter("--smoothing jelinek_mercer needs --held-out, and no other does")
    if counts and "-" in files:
        raise typer.BadParameter("standard input is a text: name count files")
    _run("count", "cli.count", locals())


@app.command(short_help="Mix n-gram models into one, with weights given or set by a text.")
def mix(
    names: Annotated[
        list[str],
        Argument(
            help="Two or more n-gram models: folders, names on the Hub, ARPA files, or KenLM's binary files.",
            metavar="MODEL",
        ),
    ],
    output: NewNGrams,
    weights: Annotated[
        str | None, Option(help="The weight of each model, together 1: 0.3,0.7.", metavar="NUMBERS", show_default=False)
    ] = None,
    held_out: Annotated[
        Path | None,
        Option(
            "--held-out",
            "--held_out",
            help="A text, one sentence per line: its probability sets the weights, if none are given, and its "
            "perplexities are printed.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    static: Annotated[
        bool, Option("--static", help="Write one back-off model, not several that are mixed at each word; for files.")
    ] = False,
    json: Annotated[bool, Option("--json", help="Print one JSON object; null stands for infinite.")] = False,
) -> None:
    """Mix n-gram models, also of different words, into one: at each word, or as one back-off model (--static)."""
    if weights is None and held_out is None:
        raise typer.BadParameter("give --weights, or --held-out FILE, a text that sets them")
    _run("mix", "cli.mix", locals())


@app.command(short_help="Serve a web page with a tab for all that the models do.")
def demo(
    names: Annotated[
        list[str],
        Argument(
            help="Folders, names on the Hub, or ARPA files; several to compare; none: small ones, trained once.",
            metavar="MODEL",
            show_default=False,
        ),
    ] = _NONE,
    host: Annotated[
        str, Option(help="Address to listen on: by default this machine only; 0.0.0.0 for all that reach it.")
    ] = "127.0.0.1",
    port: Annotated[
        int | None, Option(min=1, max=65535, help="Port to listen on; by default the first free one from 7860.")
    ] = None,
    browser: Annotated[bool, Option(help="Open the page in a browser, if this is a terminal.")] = True,
) -> None:
    """Serve a web page with tabs by what the models do: classify, tag, answer, continue, rank, ... Ctrl-C ends it."""
    if len(names) > _MOST_MODELS:
        raise typer.BadParameter(f"there are {len(names)} models; the page takes at most {_MOST_MODELS}")
    _run("demo", "lab.verbs.demo", locals())


@app.command(short_help="Write a web page on which n-gram, LSTM and self-attention models read along.")
def live(
    names: Annotated[
        list[str],
        Argument(
            help="N-gram, LSTM and self-attention language models of words: folders, names on the Hub, or ARPA files.",
            metavar="MODEL",
        ),
    ],
    output: Annotated[Path, Argument(help="A new file, which ends in .html.", metavar="OUT")],
    title: Annotated[
        str | None, Option(help="Heading of the page; by default that of the site.", show_default=False)
    ] = None,
    example: Annotated[
        list[str],
        Option(help="A text for a button of the page, the first to begin with; may be repeated.", metavar="TEXT"),
    ] = _NONE,
    float16: Annotated[
        bool,
        Option("--float16", help="Store the networks' numbers in 16 bits: half the size, nearly the same answers."),
    ] = False,
) -> None:
    """Write one HTML file on which the models read along while one types: the next word, and what is inside.

    It holds the models and needs no server and no network; any browser opens it, also from a mail or a course's page.
    """
    _run("live", "lab.verbs.live", locals())


@app.command(short_help="Write a model with its code and card into a folder that needs no package.")
def export(
    name: Model,
    output: Annotated[Path, Argument(help="A new folder.", metavar="OUT")],
    licence: Annotated[str | None, Option(help="Licence of the weights, as the Hub writes it: apache-2.0, ...")] = None,
) -> None:
    """Write a folder that loads where this package is missing: weights, tokenizer, the model's code, and a card.

    It is what the verb publish uploads, for people without an account of the Hub. `from_pretrained` loads it with
    trust_remote_code=True; transformers and torch are enough.
    """
    _run("export", "cli.export", locals())


@app.command(short_help="Upload a model with its code and card to the Hub.")
def publish(
    name: Model,
    repo: Annotated[str, Argument(help="Its name: NAMESPACE/NAME; with --all, NAMESPACE.", metavar="REPO")],
    all: Annotated[
        bool, Option("--all", help="Upload every trained model below the folder MODEL, and collect them.")
    ] = False,
    collection: Annotated[str, Option(help="Title of the collection, with --all.")] = "Models of the NLP lectures",
    private: Annotated[bool, Option("--private", help="The repository must be private; a new one will be.")] = False,
    revision: Annotated[str | None, Option(help="Branch to commit to, created if need be; by default main.")] = None,
    evaluate: Annotated[
        Path | None,
        Option(
            help="A text file (.gz too), one text per line: measure the model on it, for the card.",
            callback=_refuse_unreadable_file,
        ),
    ] = None,
    licence: Annotated[str | None, Option(help="Licence of the weights, as the Hub writes it: apache-2.0, ...")] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Show the card or the plan; upload nothing.")] = False,
) -> None:
    """Upload a model to the Hub: weights, tokenizer, its own code and a card with measured results, in one commit.

    Before that, log in with `hf auth login`, or set HF_TOKEN. A second run uploads only the differences.
    """
    if all and evaluate is not None:
        raise typer.BadParameter("--evaluate measures one model; leave --all or --evaluate out")
    _run("publish", "cli.publish_all" if all else "cli.publish", locals())


@app.command(short_help="What the lectures assert, and whether it is so.")
def claim(
    name: Annotated[str | None, Argument(help="Its name; without one, all claims are listed.", metavar="NAME")] = None,
) -> None:
    """List the claims of the lectures with their verdicts; or show one, and run a small experiment on it.

    The verdict is that of an experiment on real data, which is recorded (docs/claims.md). The small experiment takes
    two minutes at most and decides nothing; a line says whether it points in the same direction.
    """
    _run("claim", "lab.verbs.claim", locals())


@app.command(
    short_help="Look at files of your own, and write a recipe that trains on them.",
    context_settings={"ignore_unknown_options": True},  # _split_data_options reads them as words of FILE
)
def new(
    task: Annotated[
        str,
        Argument(
            help="A task: text_classification, token_classification, question_answering, multiple_choice, translation, "
            "causal_lm, ...; or a script, as `hf-lecture train` lists them.",
            metavar="TASK",
        ),
    ],
    files: Annotated[
        list[str],
        Argument(
            help="Files of rows: .csv, .tsv, .json, .jsonl, .parquet, .conllu, .conll or .txt. Those with dev, valid "
            "or test in their names are for validation and test, the others to train on.",
            metavar="FILE",
        ),
    ],
    validation: Annotated[
        list[str], Option(help="A file to measure on during training; may be repeated.", metavar="FILE")
    ] = _NONE,
    test: Annotated[
        list[str], Option(help="A file to measure on at the end; may be repeated.", metavar="FILE")
    ] = _NONE,
    output: Annotated[Path | None, Option("--output", "-o", help="The recipe; by default TASK.yaml.")] = None,
    force: Annotated[bool, Option("--force", help="Write over a recipe that is there already.")] = False,
) -> None:
    """Print what is in the files, and write a recipe for `hf-lecture train`, with a reason above each field.

    The report has columns, classes and their counts, lengths, words, letters, equal rows, rows without a label, and
    an estimate of time and memory, for which a model is trained for a few steps. Columns are found by their usual
    names; --columns.COLUMN NAME names one, --label_names.LABEL NAME a class. If training would refuse the data, the
    report says why, and the status is 1.

    For example: hf-lecture new text_classification reviews.csv, then hf-lecture train text_classification.yaml
    """
    files, fields = _split_data_options(files)
    if not files:
        raise typer.BadParameter("name a file to look at")
    name = task
    _run("new", "cli.new", locals())


@app.command(
    short_help="Train a model by a recipe, or run one task's script.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
def train(
    arguments: Annotated[
        list[str],
        Argument(
            help="A recipe's name or file, or a task and its options; then --name value for each field to change. "
            "Without arguments, recipes and tasks are listed. TASK --help lists the task's fields.",
            metavar="RECIPE|TASK ...",
        ),
    ] = _NONE,
) -> None:
    """Train a model by one of the package's recipes, by your own, or by options alone, as the scripts of training/ do.

    For example: hf-lecture train recurrent_tiny --output_dir tiny

    `hf-lecture new TASK FILE` writes a recipe for files of your own.
    """
    with _package_without_torch():
        from hf_lecture_models.cli import train as light

        if light.answer_at_once(arguments):
            return
    from hf_lecture_models.cli.train import run_training

    run_training(arguments)


@app.command(
    short_help="Run another Python program with the models registered.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
def exec(
    command: Annotated[
        list[str],
        Argument(help="A console script, or python FILE | -m MODULE | -c CODE, and arguments", metavar="COMMAND"),
    ],
) -> None:
    """Run another Python program (transformers serve, lm_eval, ...) with the models of this package registered.

    Processes that it starts have them, too (trl sft, accelerate launch, ...).
    """
    from hf_lecture_models.cli.exec import run_program

    run_program(command)
