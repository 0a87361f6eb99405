# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Folders of this package's models from the networks' old files: AllenNLP's ELMo, and transformers' own checkpoints.

The checkpoints are those of `transfo-xl`, `openai-gpt`, `bert` and `vit`: a `config.json` with `pytorch_model.bin` or
`model.safetensors`, and a tokenizer or an image processor.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from transformers import AutoConfig

from hf_lecture_models.io.auto_classes import find_auto_class, model_classes
from hf_lecture_models.io.files import staged_folder, weights_file_errors
from hf_lecture_models.loading import check_location, load_model
from hf_lecture_models.models.bert import LectureBertConfig
from hf_lecture_models.models.elmo.conversion_elmo import convert_from_allennlp, find_allennlp
from hf_lecture_models.models.gpt1 import Gpt1Config
from hf_lecture_models.models.transformer_xl import TransfoXLConfig
from hf_lecture_models.models.vit import LectureViTConfig

# By the model type of a checkpoint.
_OWN_CONFIGS: dict[str, type] = {
    "bert": LectureBertConfig,
    "openai-gpt": Gpt1Config,
    "transfo-xl": TransfoXLConfig,
    "vit": LectureViTConfig,
}


def converter_of(source: str) -> Callable[[Path], Any] | None:
    """Return a function that writes a network's old files as a model's folder and returns the model.

    The function raises ImportError where AllenNLP's files need h5py, which is not installed, OSError where a file is
    missing or the folder cannot be written, and ValueError where a file is damaged or this package has no such model.

    Returns:
        None where the source is neither AllenNLP's files nor a folder with a checkpoint of transformers.

    Raises:
        OSError, ValueError: as `find_allennlp`; the folder's configuration cannot be read.
    """
    if (found := find_allennlp(source)) is not None:
        return partial(convert_from_allennlp, *found)
    if not (Path(source) / "config.json").is_file():
        return None
    config = AutoConfig.from_pretrained(source, local_files_only=check_location(source))
    own = _OWN_CONFIGS.get(config.model_type)
    return None if own is None else partial(_convert_checkpoint, source, config, own)


def _convert_checkpoint(source: str, config: Any, own: type, target: Path) -> Any:
    # transformers' own model too, because it is checked that no weight is missing.
    _, processor = load_model(source)
    classes = model_classes(find_auto_class(config), own)
    if not classes:
        saved = ", ".join(config.architectures or [config.model_type])
        raise ValueError(f"{source} holds {saved}, and this package has no such head; transformers itself loads it")
    model_class: Any = classes[0]
    with weights_file_errors(source):
        model = model_class.from_pretrained(source, local_files_only=True)
    with staged_folder(target) as stage:
        model.save_pretrained(stage)
        processor.save_pretrained(stage)
    return model
