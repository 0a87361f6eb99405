# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What the commands of `hf-lecture` do: text in from files or a pipe, results out line by line as they are ready."""

import os
import queue
import runpy
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from difflib import get_close_matches
from importlib.metadata import entry_points
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from hf_lecture_models.analysis.neighbour_pictures import save_neighbour_map
from hf_lecture_models.analysis.neighbours import nearest_neighbours, shown
from hf_lecture_models.evaluation.language_model import PerplexityAccumulator, evaluate_language_model
from hf_lecture_models.evaluation.scoring import TextScore, score_stream, score_texts
from hf_lecture_models.evaluation.strict_json import strict_json
from hf_lecture_models.generation.fusion import NGramLogitsProcessor
from hf_lecture_models.hub.card import LEARNING_CURVE
from hf_lecture_models.hub.facts import facts_of, missing_facts
from hf_lecture_models.hub.publish import prepare, publish
from hf_lecture_models.io.files import check_files
from hf_lecture_models.loading import be_quiet, check_location, is_arpa_name, load_model
from hf_lecture_models.models.ngram.conversion_ngram import convert_from_arpa, convert_to_arpa
from hf_lecture_models.pipelines.sentence_ranking import SentenceRankingPipeline
from hf_lecture_models.tokenization.corpus import read_texts

# Lines that a chunk of a file holds per line of a batch: sorted by length, batches then waste little on padding.
_BATCHES_PER_CHUNK = 4


def score_lines(
    name: str, files: list[str], probability: str, tokens: bool, json: bool, batch_size: int, stream: bool = False
) -> None:
    """Print the log-probability of each line, and at the end the measures of all; of a `stream`, after its end."""
    check_files(files)
    model, tokenizer = load_model(name, AutoModelForCausalLM)
    tally = PerplexityAccumulator(model, tokenizer, stream)
    if not json:
        print(f"{'log_prob':>14} {'per token':>10} {'tokens':>7} {'unknown':>7}  text", file=sys.stderr)
    chunks: Iterable[list[str]] = line_chunks(files, batch_size)
    for texts in [list(chain.from_iterable(chunks))] if stream else chunks:
        scores = (
            score_stream(model, tokenizer, texts, batch_size)
            if stream
            else score_texts(model, tokenizer, texts, probability, batch_size)
        )
        for score in scores:
            tally.add(score)
            _print_score(score, tokenizer, tokens, json)
        sys.stdout.flush()
    measures = tally.measures()
    if probability == "prefix":  # perplexity is one of texts that end
        measures = {key: measures[key] for key in ("texts", "tokens", "unknown", "log_prob", "vocab_size", "unk_token")}
    if json:
        print_json({"summary": measures})
    else:
        for key, value in measures.items():
            if value is None:
                continue
            print(f"{key:>26}  {value:.6g}" if isinstance(value, float) else f"{key:>26}  {value}", file=sys.stderr)


def _print_score(score: TextScore, tokenizer: Any, tokens: bool, json: bool) -> None:
    detail = score.tokens(tokenizer) if tokens else []
    if json:
        row = {
            "text": score.encoded.text,
            "log_prob": score.log_prob,
            "log_prob_per_token": score.log_prob_per_token,
            "tokens": len(score.ids),
            "unknown": len(score.encoded.unknown_words),
        }
        print_json({**row, "token_log_probs": detail} if tokens else row)
        return
    unknown = len(score.encoded.unknown_words)
    print(
        f"{score.log_prob:14.4f} {score.log_prob_per_token:10.4f} {len(score.ids):7} {unknown:7}  {score.encoded.text}"
    )
    print_tokens(detail)


def rank_groups(name: str, files: list[str], probability: str, tokens: bool, json: bool, batch_size: int) -> None:
    """Print each group's lines, best first."""
    check_files(files)
    model, tokenizer = load_model(name, AutoModelForCausalLM)
    ranker = SentenceRankingPipeline(model=model, tokenizer=tokenizer, task="sentence-ranking", device=model.device)
    number = 0
    chunks = line_chunks(files, batch_size, between_files="")
    for groups in complete_groups([line if line.strip() else "" for line in lines] for lines in chunks):
        for ranking in ranker(groups, probability=probability, return_tokens=tokens, batch_size=batch_size):
            if json:
                print_json({"group": number, "ranking": ranking})
            else:
                _print_ranking(ranking, first=number == 0)
            number += 1
        sys.stdout.flush()
    if not number:
        raise ValueError("nothing to rank: give sentences, one per line, and a blank line between groups")


def complete_groups(chunks: Iterable[list[Any]]) -> Iterator[list[list[Any]]]:
    """The groups that each chunk of lines completes, parted by what is empty; the last one ends with the input."""
    group: list[Any] = []
    for lines in chunks:
        complete = []
        for line in lines:
            if line:
                group.append(line)
            elif group:
                complete.append(group)
                group = []
        if complete:
            yield complete
    if group:
        yield [group]


def _print_ranking(ranking: list[dict[str, Any]], first: bool) -> None:
    if not first:
        print()
    for place, entry in enumerate(ranking, start=1):
        print(f"{place:4} {entry['log_prob']:14.4f} {entry['log_prob_per_token']:10.4f}  {entry['sequence']}")
        print_tokens(entry.get("tokens", []))


def print_tokens(detail: list[dict[str, Any]]) -> None:
    """Print a line for each token that a score has as detail."""
    for token in detail:
        print(f"{token['log_prob']:25.4f}  {token['token']}")


def generate_lines(
    name: str,
    prompts: list[str],
    files: list[str],
    options: dict[str, Any],
    seed: int | None,
    json: bool,
    batch_size: int,
    fused: tuple[str, float] | None = None,
) -> None:
    """Print each prompt with its continuation; `fused` names a second model and its weight."""
    check_files(files, "a prompt itself goes after --prompt, or to standard input")
    model, tokenizer = load_model(name, AutoModelForCausalLM)
    if fused is not None:
        options = options | {"logits_processor": [_fusion(*fused, tokenizer)]}
    sampled = options.get("do_sample", False)
    if sampled:
        torch.seed() if seed is None else torch.manual_seed(seed)
        batch_size = 1  # what is drawn for a prompt must not depend on which others happen to stand beside it
    chunks = iter([prompts]) if prompts and not files else line_chunks(files or ["-"], batch_size, before=prompts)
    for chunk in chunks:
        for start in range(0, len(chunk), batch_size):
            batch = chunk[start : start + batch_size]
            for result in complete(model, tokenizer, batch, **options):
                print_json(result) if json else print(result["text"])
            sys.stdout.flush()


def _fusion(name: str, weight: float, tokenizer: Any) -> NGramLogitsProcessor:
    model, model_tokenizer = load_model(name, AutoModelForCausalLM)
    return NGramLogitsProcessor(model, tokenizer, weight, model_tokenizer)


@torch.no_grad()
def complete(model: Any, tokenizer: Any, prompts: list[str], **options: Any) -> list[dict[str, Any]]:
    """Continue prompts by `model.generate(**options)`; the empty prompt starts from `<s>`.

    Returns:
        Per continuation {"prompt", "completion", "text", "tokens" (new ones, the end included), "finished"}.

    Raises:
        ValueError: prompt and continuation are longer than the model's longest input, or the tokenizer has no end.
    """
    start = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    if start is None:
        raise ValueError(
            "the tokenizer has neither bos_token nor eos_token, so nothing says where a text begins or ends"
        )
    rows = [tokenizer(prompt)["input_ids"] or [start] for prompt in prompts]
    width = max(map(len, rows))
    longest = getattr(model.config, "max_position_embeddings", None)
    if longest and width + options["max_new_tokens"] > longest:
        raise ValueError(
            f"a prompt of {width} tokens and {options['max_new_tokens']} new ones exceed the model's longest input, "
            f"{longest}; shorten the prompt or lower --max-new-tokens"
        )
    pad = start if tokenizer.pad_token_id is None else tokenizer.pad_token_id
    ids = torch.tensor([[pad] * (width - len(row)) + row for row in rows], device=model.device)
    mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows], device=model.device)
    output = model.generate(input_ids=ids, attention_mask=mask, pad_token_id=pad, **options).tolist()
    copies = options.get("num_return_sequences", 1)
    return [
        _completion(tokenizer, prompts[number // copies], rows[number // copies], generated[width:], {start, pad})
        for number, generated in enumerate(output)
    ]


def _completion(tokenizer: Any, prompt: str, row: list[int], new: list[int], hidden: set[int]) -> dict[str, Any]:
    finished = tokenizer.eos_token_id in new
    new = new[: new.index(tokenizer.eos_token_id)] if finished else new
    # The prompt stays as it was typed; what follows is spaced as the tokenizer spaces the whole.
    before = [token for token in row if token not in hidden]
    whole = tokenizer.decode(before + [token for token in new if token not in hidden])
    completion = whole[len(tokenizer.decode(before)) :]
    return {
        "prompt": prompt,
        "completion": completion,
        "text": prompt + completion,
        "tokens": len(new) + finished,
        "finished": finished,
    }


def show_neighbours(name: str, words: list[str], options: dict[str, Any], picture: Path | None, json: bool) -> None:
    """Print each word's nearest neighbours with their similarity; `options` as for `nearest_neighbours`."""
    model, tokenizer = load_model(name)
    found = nearest_neighbours(model, tokenizer, words, **options)
    for one in found:
        near = "  ".join(f"{shown(n.word)} {n.similarity:.3f}" for n in one.neighbours)
        print_json(asdict(one)) if json else print(f"{shown(one.word)}\t{near}")
    if picture is not None:
        save_neighbour_map(model, found, picture, options["which"], options["metric"])


def convert_model(source: str, target: Path) -> None:
    """ARPA file -> folder, the folder of an n-gram model -> ARPA file, or any other model -> ONNX file.

    Raises:
        FileExistsError: the target is there already.
        FileNotFoundError: there is no such source.
        ImportError: an ONNX file, and what writes it is not installed.
        ValueError: neither side, or both, is an ARPA file; the ARPA file is damaged; or the model is no n-gram, or for
            ONNX is one.
    """
    if target.suffix == ".onnx":
        _convert_to_onnx(source, target)
        return
    if is_arpa_name(source) == is_arpa_name(target):
        raise ValueError(f"one of {source} and {target} must be an ARPA file (.arpa or .arpa.gz), the other a folder")
    _refuse_existing(target)
    be_quiet()
    check_location(source)
    counts = convert_to_arpa(source, target) if is_arpa_name(target) else convert_from_arpa(source, target)
    print(f"{target}: {', '.join(f'{count:,} {order}-grams' for order, count in enumerate(counts, start=1))}")


def _convert_to_onnx(source: str, target: Path) -> None:
    from hf_lecture_models.hub.onnx import export_onnx

    _refuse_existing(target)
    model, _ = load_model(source)
    difference = export_onnx(model, target)
    checked = "not compared with the model: onnxruntime is not installed"
    if difference is not None:
        checked = f"logits differ from the model's by at most {difference:.1g}"
    print(f"{target}: {target.stat().st_size:,} bytes; {checked}")


def _refuse_existing(target: Path) -> None:
    if target.exists() and (target.is_file() or any(target.iterdir())):
        raise FileExistsError(f"{target} is there already; remove it or name another")


def find_program(command: list[str]) -> Callable[[], Any]:
    """Return what runs `command` in this process, with `sys.argv` as the program expects it.

    Raises:
        FileNotFoundError: there is no such program of Python.
        ValueError: no such console script or module is installed here.
    """
    name, *arguments = command
    if name in ("python", "python3"):
        return _find_python(arguments)
    scripts = entry_points(group="console_scripts")
    if name not in scripts.names:
        near = get_close_matches(name, scripts.names, n=3)
        hint = f"; did you mean {' or '.join(near)}?" if near else "; is it installed in this environment?"
        raise ValueError(f"no console script {name}{hint} (python FILE, -m MODULE and -c CODE work too)")
    program = scripts[name].load()
    sys.argv = command

    def run() -> None:
        sys.exit(program())

    return run


def register_in_subprocesses() -> None:
    """Let the processes that this one starts know the models too; see `startup/sitecustomize.py`."""
    folder = str(Path(__file__).with_name("startup"))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))


def _find_python(arguments: list[str]) -> Callable[[], Any]:
    """What `python FILE ...`, `python -m MODULE ...` or `python -c CODE ...` runs, `sys.path` as Python sets it."""
    if arguments and not arguments[0].startswith("-"):
        file = Path(arguments[0])
        if not file.exists():
            raise FileNotFoundError(f"there is no file {file}")
        sys.argv = arguments
        sys.path.insert(0, str(file.resolve().parent))
        return lambda: runpy.run_path(str(file), run_name="__main__")
    if len(arguments) < 2 or arguments[0] not in ("-m", "-c"):
        raise ValueError(
            "python runs here as python FILE ..., python -m MODULE ... or python -c CODE ..., nothing else"
        )
    flag, program = arguments[:2]
    sys.path.insert(0, "")
    if flag == "-c":
        sys.argv = ["-c", *arguments[2:]]
        return lambda: _run_code(program)
    if not _is_module(program):
        raise ValueError(f"there is no module {program}; is it installed in this environment?")
    sys.argv = arguments[1:]
    return lambda: runpy.run_module(program, run_name="__main__", alter_sys=True)


def _run_code(code: str) -> None:
    sys.modules["__main__"] = main = ModuleType("__main__")
    exec(compile(code, "<string>", "exec"), vars(main))


def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # of the package around it
        return False


def line_chunks(
    files: list[str], batch_size: int, before: list[str] | None = None, between_files: str | None = None
) -> Iterator[list[str]]:
    """Lines of the files in lists; those of standard input (`-`) as soon as they have come in."""
    if before:
        yield before
    size = _BATCHES_PER_CHUNK * batch_size
    for file in files:
        if file == "-":
            yield from _as_they_come(_stdin_lines(), size)
        else:
            lines = read_texts(file)
            while chunk := list(islice(lines, size)):
                yield chunk
        if between_files is not None:
            yield [between_files]


def _stdin_lines() -> Iterator[str]:
    # A reader of its own: at Ctrl-C the interpreter would wait for the lock that a blocked read of sys.stdin holds.
    with open(sys.stdin.fileno(), "rb", closefd=False) as lines:
        for number, line in enumerate(lines, start=1):
            try:
                text = line.decode()
                yield text.removesuffix("\r\n") if text.endswith("\r\n") else text.removesuffix("\n")
            except UnicodeDecodeError as error:
                raise ValueError(f"standard input, line {number}: not UTF-8 ({error.reason})") from None


def _as_they_come(lines: Iterator[str], most: int) -> Iterator[list[str]]:
    """Lists of what has come in so far, at most `most` and at least one, without waiting for more."""
    waiting: queue.Queue[str | BaseException | None] = queue.Queue(maxsize=most)

    def read() -> None:
        try:
            for line in lines:
                waiting.put(line)
            waiting.put(None)
        except BaseException as error:  # handed on to the thread that prints
            waiting.put(error)

    threading.Thread(target=read, daemon=True).start()
    while True:
        items = [waiting.get()]
        while len(items) < most and not waiting.empty():
            items.append(waiting.get())
        chunk = [item for item in items if isinstance(item, str)]
        if chunk:
            yield chunk
        if isinstance(items[-1], BaseException):
            raise items[-1]
        if items[-1] is None:
            return


def print_json(value: dict[str, Any]) -> None:
    """Print one line for programs."""
    print(strict_json(value))


def publish_model(
    name: str,
    repo: str,
    evaluate: Path | None,
    licence: str | None,
    private: bool,
    revision: str | None,
    dry_run: bool,
) -> None:
    """Upload a model with its card, and say what was sent; what the card lacks goes to standard error."""
    model, tokenizer = load_model(name)
    facts = facts_of(name, model, tokenizer)
    if evaluate is not None:
        facts |= _measured_on(evaluate, model, tokenizer, facts)
    facts["licence"] = licence or facts.get("licence")
    for missing in missing_facts(facts):
        print(f"the card lacks {missing}", file=sys.stderr)
    curve = Path(name) / LEARNING_CURVE
    picture = curve if curve.is_file() else None
    if dry_run:
        with TemporaryDirectory() as folder:
            stage = prepare(model, tokenizer, repo, Path(folder) / "stage", facts, picture)
            print((stage / "README.md").read_text(encoding="utf-8"))
            for path in sorted(stage.iterdir()):
                print(f"{path.stat().st_size:>14,}  {path.name}")
        return
    done = publish(model, tokenizer, repo, facts, learning_curve=picture, private=private, revision=revision)
    for what, names in (("uploaded", done.uploaded), ("deleted", done.deleted), ("left alone", done.left_alone)):
        if names:
            print(f"{what}: {', '.join(names)}")
    print(f"{done.url} is at commit {done.commit}{'' if done.uploaded or done.deleted else ': nothing had changed'}")


def _measured_on(path: Path, model: Any, tokenizer: Any, facts: dict[str, Any]) -> dict[str, Any]:
    texts = list(read_texts(path))
    # A network that was trained on one stream is measured on one.
    stream = facts["recipe"].get("layout", "texts") != "texts"
    known = facts["data"] or {"name": path.name}
    return {
        "results": evaluate_language_model(model, tokenizer, texts, stream=stream),
        "data": {**known, "split": path.name},
    }
