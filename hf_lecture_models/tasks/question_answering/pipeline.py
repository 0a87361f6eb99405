# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`pipeline("extractive-question-answering")`: the part of a text that answers a question.

transformers 4 had it as `question-answering`; transformers 5 has none. This file travels with exported models.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

from transformers.pipelines.base import ChunkPipeline

from hf_lecture_models.base.limits import longest_input
from hf_lecture_models.io.streams import Answers, each_input
from hf_lecture_models.io.task_file import saved_settings
from hf_lecture_models.tasks.question_answering.answers import AnswerSettings, find_prediction
from hf_lecture_models.tasks.question_answering.spans import batch_windows, cut_windows, input_names

TASK = "extractive-question-answering"
# The options of a call with their defaults, as in transformers 4; the settings in a model's task.json override them.
OPTIONS: dict[str, Any] = {
    "top_k": 1,
    "doc_stride": 128,
    "max_answer_len": 15,
    "max_seq_len": 384,
    "max_question_len": 64,
    "handle_impossible_answer": False,
    "align_to_words": True,
}


class ExtractiveQuestionAnsweringPipeline(ChunkPipeline):
    """Find answers to questions in texts, with any model that `AutoModelForQuestionAnswering` loads.

        answer = pipeline("extractive-question-answering", model=folder)
        answer(question="Who sleeps?", context="The cat sleeps.")    # {"score", "start", "end", "answer"}
        answer([{"question": ..., "context": ...}, ...])             # a list; a generator or data set gives an iterator
        answer(question=["Who sleeps?", "Where?"], context="The cat sleeps on the mat.")

    `answer` is `context[start:end]`. `score` is its probability in the window where it is greatest: the product of the
    probabilities of its first and its last token, each a softmax over the text's tokens and the one for no answer
    ([CLS]). Long texts are read in windows that overlap. Options, at construction or per call, as in transformers 4:

    - `top_k` (1): more than one gives a list, best first, with each part of the text once;
    - `handle_impossible_answer` (False): allow the empty answer "" at 0; its score is the smallest of all windows;
    - `max_answer_len` (15): the most tokens of an answer;
    - `max_seq_len` (384, or the model's longest input if that is less): tokens of a window, question included;
    - `doc_stride` (128): tokens that neighbouring windows share, at most half of the text in a window;
    - `max_question_len` (64): longer questions are cut to so many tokens, at most half of a window;
    - `align_to_words` (True): an answer begins and ends where words do;
    - `batch_size` (1): windows that the model reads together.

    Training and `hf-lecture evaluate` save the settings of their measurement in the model's task.json. These replace
    the defaults: the answers are those of `predictions.json`, with "" where the score of no answer passes the saved
    threshold, and `score` is the probability among the best answers.

    >>> from transformers import pipeline
    >>> from hf_lecture_models import LectureBertConfig, LectureBertForQuestionAnswering, WordTokenizer
    >>> tokenizer = WordTokenizer.train(["who sleeps", "the cat sleeps"], template="bert", progress=False)
    >>> config = LectureBertConfig(vocab_size=len(tokenizer), hidden_size=12, num_hidden_layers=1)
    >>> model = LectureBertForQuestionAnswering(config)
    >>> answer = pipeline("extractive-question-answering", model=model, tokenizer=tokenizer)
    >>> found = answer(question="who sleeps", context="the cat sleeps")
    >>> found["answer"] == "the cat sleeps"[found["start"] : found["end"]]
    True

    Raises:
        TypeError: the input has another form, or an option is unknown.
        ValueError: a question or a text is empty, or an option has a wrong value.
    """

    _load_tokenizer: Any = True
    _load_processor: Any = False
    _load_image_processor: Any = False
    _load_feature_extractor: Any = False

    def __call__(self, inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Answer one question, or each of several."""
        question, context = kwargs.pop("question", None), kwargs.pop("context", None)
        if args or (inputs is None) == (question is None and context is None):
            raise TypeError(f"{TASK} takes question=... and context=..., or a dict of both, or a list of such dicts")
        if inputs is None:
            inputs = _as_inputs(question, context)
        if isinstance(inputs, tuple):
            inputs = list(inputs)
        elif not isinstance(inputs, list) and (each := each_input(inputs)) is not None:
            return Answers(inputs, iter(super().__call__((example for example in each), **kwargs)), 1, list)
        return [] if inputs == [] else super().__call__(inputs, **kwargs)

    def _sanitize_parameters(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        if unknown := options.keys() - OPTIONS.keys():
            raise TypeError(
                f"{TASK} has no option {', '.join(sorted(unknown))}; its options are {', '.join(OPTIONS)}, batch_size"
            )
        for name, value in options.items():
            kind, least = type(OPTIONS[name]), 0 if name == "doc_stride" else 1
            if type(value) is not kind or (kind is int and value < least):
                wanted = "True or False" if kind is bool else f"an integer of at least {least}"
                raise ValueError(f"{name} is {value!r}; it must be {wanted}")
        if options.get("max_seq_len", 0) > (longest := longest_input(self.model, self.tokenizer)):
            raise ValueError(f"max_seq_len {options['max_seq_len']} is more than the model reads, {longest}")
        cutting = ("doc_stride", "max_seq_len", "max_question_len")
        preprocess = {name: value for name, value in options.items() if name in cutting}
        return preprocess, {}, {name: value for name, value in options.items() if name not in cutting}

    @cached_property
    def settings(self) -> AnswerSettings:
        """Return the default settings of a call: those that were saved with the model, or the pipeline's own."""
        saved = saved_settings(self.model.config, "question_answering")
        return AnswerSettings.of(saved) if saved else _with_options(AnswerSettings(by_window=True), OPTIONS)

    def preprocess(self, example: Any, **options: Any) -> Iterator[dict[str, Any]]:  # type: ignore[override]
        """Cut the text of a question into windows."""
        question, context = _checked(example)
        settings = _with_options(self.settings, options)
        length = min(settings.max_length, longest_input(self.model, self.tokenizer))
        lengths = length, settings.doc_stride, settings.max_question_length
        (windows,) = cut_windows(self.tokenizer, [question], [context], *lengths)
        for number, window in enumerate(windows, start=1):
            yield {"context": context, "window": window, "is_last": number == len(windows)}

    def _forward(self, model_inputs: dict[str, Any], **options: Any) -> dict[str, Any]:  # type: ignore[override]
        windows = model_inputs["window"] if isinstance(model_inputs["window"], list) else [model_inputs["window"]]
        batch = batch_windows([window.inputs for window in windows], input_names(self.model), self.tokenizer)
        outputs = self.model(**{name: ids.to(self.device) for name, ids in batch.items()})
        if "start_logits" not in outputs:
            raise ValueError(
                f"{type(self.model).__name__} does not say where answers are; AutoModelForQuestionAnswering loads "
                "models that do"
            )
        return {**model_inputs, "start": outputs["start_logits"].float(), "end": outputs["end_logits"].float()}

    def postprocess(  # type: ignore[override]
        self, model_outputs: list[dict[str, Any]], top_k: int = OPTIONS["top_k"], **options: Any
    ) -> dict[str, Any] | list[dict[str, Any]]:
        """Return the best answers from the scores of all windows of a text."""
        context, settings = model_outputs[0]["context"], _with_options(self.settings, options)
        # Several windows may find the same answer.
        most = (1 if top_k == 1 else None) if settings.by_window else max(settings.n_best_size or 1, top_k)
        settings = replace(settings, n_best_size=most)
        windows = [output["window"] for output in model_outputs]
        scores = [(output["start"][0].cpu().numpy(), output["end"][0].cpu().numpy()) for output in model_outputs]
        choices = find_prediction(windows, scores, context, settings).choices()
        found = [_entry(probability, one.start, one.end, context) for one, probability in choices[:top_k]]
        return found[0] if top_k == 1 else found


def _with_options(settings: AnswerSettings, options: dict[str, Any]) -> AnswerSettings:
    """Replace settings by options, which have the names of transformers 4."""
    names = {"max_answer_len": "max_answer_length", "max_seq_len": "max_length", "doc_stride": "doc_stride"}
    names |= {"max_question_len": "max_question_length", "handle_impossible_answer": "no_answer"}
    names |= {"align_to_words": "align_to_words"}
    return replace(settings, **{names[name]: value for name, value in options.items() if name in names})


def _entry(score: float, start: int, end: int, context: str) -> dict[str, Any]:
    return {"score": score, "start": start, "end": end, "answer": context[start:end]}


def _as_inputs(question: Any, context: Any) -> Any:
    """Pair questions with their texts; one text may belong to all."""
    if not isinstance(question, list | tuple):
        return {"question": question, "context": context}
    contexts = context if isinstance(context, list | tuple) else [context] * len(question)
    if len(contexts) != len(question):
        raise ValueError(f"{TASK} got {len(question)} questions and {len(contexts)} contexts")
    return [{"question": one, "context": text} for one, text in zip(question, contexts, strict=True)]


def _checked(example: Any) -> tuple[str, str]:
    if isinstance(example, dict) and example.keys() == {"text", "text_pair"}:  # of transformers' KeyPairDataset
        example = {"question": example["text"], "context": example["text_pair"]}
    if not isinstance(example, dict) or not {"question", "context"} <= example.keys():
        shown = ", ".join(map(str, example)) if isinstance(example, dict) else type(example).__name__
        raise TypeError(f"{TASK} takes dicts of question and context, not {shown or 'an empty dict'}")
    for name in ("question", "context"):
        if not isinstance(example[name], str):
            raise TypeError(f"{TASK}: {name} is a {type(example[name]).__name__}, no text")
        if not example[name].strip():
            raise ValueError(f"{TASK}: {name} is empty")
    return example["question"], example["context"]
