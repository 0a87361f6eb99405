# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`pipeline("machine-translation")`: translate texts, and align their words.

transformers 4 had it as `translation`; transformers 5 has none. This file travels with exported models.
"""

from typing import Any

from transformers.pipelines import Pipeline

from hf_lecture_models.io.streams import Answers, each_input
from hf_lecture_models.tasks.translation.alignment import align
from hf_lecture_models.tasks.translation.translate import Translation, translate_n_best
from hf_lecture_models.tokenization.pairs import with_target_tokenizer

TASK = "machine-translation"
_BATCH_SIZE = 32


class MachineTranslationPipeline(Pipeline):
    """Translate texts with any model that `AutoModelForSeq2SeqLM` loads.

        translator = pipeline("machine-translation", model=folder)
        translator("Je suis étudiant")                        # {"translation_text": "I am a student"}
        translator(["Je suis étudiant", "Il dort"], batch_size=8)
        translator(KeyDataset(dataset, "source"))             # an iterator, which reads as many texts as it translates
        translator("Je suis étudiant", alignment=True)        # also {"alignment": ...}
        translator("Je suis étudiant", num_beams=5, num_return_sequences=5)     # a list, best first

    With `alignment=True` each result has `alignment`, a dict of `source` and `target`, the words of both, and
    `weights`, a row for each target word: how much it attended to each source word. A row is the mean over layers and
    heads of the decoder's cross-attention, and adds up to one. With beam search each result also has a `score`, the
    log-probability divided by length ** length_penalty.

    Other options, at construction or per call: `max_length`, to which longer sources are cut; `max_new_tokens`, the
    most tokens of a translation, by default twice its source's and ten; and those of `model.generate`: `num_beams`,
    `length_penalty`, `num_return_sequences`, ... The defaults are those of the measurement: `max_length` from
    task.json, the others from generation_config.json. A translation does not depend on the other texts in its batch.

    >>> from transformers import pipeline
    >>> from hf_lecture_models import RecurrentSeq2SeqConfig, RecurrentSeq2SeqForConditionalGeneration, WordTokenizer
    >>> tokenizer = WordTokenizer.train(["je suis", "I am"], add_bos_token=False, add_eos_token=True, progress=False)
    >>> ids = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("eos", "pad")}
    >>> ids |= {"vocab_size": len(tokenizer), "decoder_start_token_id": tokenizer.bos_token_id}
    >>> model = RecurrentSeq2SeqForConditionalGeneration(RecurrentSeq2SeqConfig(hidden_size=4, **ids))
    >>> translator = pipeline("machine-translation", model=model, tokenizer=tokenizer)
    >>> [list(found) for found in translator(["je suis", "je"])]
    [['translation_text'], ['translation_text']]

    Raises:
        TypeError: an input is not a text.
        ValueError: a text is blank, or longer than the model reads; or the model gives no alignment.
    """

    _load_tokenizer: Any = True
    _load_processor: Any = False
    _load_image_processor: Any = False
    _load_feature_extractor: Any = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Both tokenizers of a model with two vocabularies, so that `save_pretrained` saves both.
        config: Any = self.model.config
        self.tokenizer: Any = with_target_tokenizer(self.tokenizer, config, config.name_or_path)

    def __call__(  # type: ignore[override]
        self, inputs: Any, batch_size: int | None = None, **kwargs: Any
    ) -> Any:
        """Translate a text, or each of several; a generator or a data set of texts gives an iterator."""
        preprocess, forward, postprocess = self._sanitize_parameters(**kwargs)
        size = _checked_size(batch_size if batch_size is not None else self._batch_size)
        options = {**self._forward_params, **forward, "batch_size": size}
        shown = {**self._postprocess_params, **postprocess}

        def run(texts: Any) -> list[Any]:
            encoded = self.preprocess(texts, **self._preprocess_params, **preprocess)
            return self.postprocess(self.forward(encoded, **options), **shown)

        if isinstance(inputs, str):
            return run([inputs])[0]
        if isinstance(inputs, list | tuple):
            return run(list(inputs))
        if (each := each_input(inputs)) is None:
            raise TypeError(f"{TASK} takes a text or several, not {type(inputs).__name__}")
        return Answers(inputs, each, size, run)

    def _sanitize_parameters(
        self, alignment: bool | None = None, **options: Any
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        return {}, options, {} if alignment is None else {"alignment": alignment}

    def preprocess(self, texts: list[Any]) -> dict[str, Any]:  # type: ignore[override]
        """Return the texts, after a check of their types."""
        for text in texts:
            if not isinstance(text, str):
                raise TypeError(f"{TASK} takes a text or several, and one of them is a {type(text).__name__}")
        return {"texts": texts}

    def _forward(self, input_tensors: dict[str, Any], **options: Any) -> Any:
        return {"found": translate_n_best(self.model, self.tokenizer, input_tensors["texts"], **options)}

    def postprocess(self, model_outputs: Any, alignment: bool = False) -> list[Any]:  # type: ignore[override]
        """Return a result for each text, or a list of results if there are several translations of it."""
        results = []
        for translations in model_outputs["found"]:
            entries = [_entry(one) for one in translations]
            if alignment:
                for entry, found in zip(entries, align(self.model, self.tokenizer, translations), strict=True):
                    sides = {"source": list(found.source), "target": list(found.target)}
                    entry["alignment"] = {**sides, "weights": found.of().tolist()}
            results.append(entries[0] if len(entries) == 1 else entries)
        return results


def _entry(one: Translation) -> dict[str, Any]:
    return {"translation_text": one.text} | ({} if one.score is None else {"score": one.score})


def _checked_size(batch_size: int | None) -> int:
    if batch_size is None:
        return _BATCH_SIZE
    if not isinstance(batch_size, int) or batch_size < 1:
        raise ValueError(f"batch_size is {batch_size!r}; it must be an integer of at least 1")
    return batch_size
