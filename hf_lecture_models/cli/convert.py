# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture convert`: ARPA file to model folder and back, and any other model to ONNX."""

from pathlib import Path

from transformers import AutoConfig

from hf_lecture_models.loading import be_quiet, check_location, is_arpa_name, load_model
from hf_lecture_models.models.ngram import NGramConfig
from hf_lecture_models.models.ngram.conversion_ngram import convert_from_arpa, convert_to_arpa


def run(source: str, target: Path) -> None:
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
    local_only = check_location(source)
    if is_arpa_name(target):
        _refuse_other_models(source, local_only)
    counts = convert_to_arpa(source, target) if is_arpa_name(target) else convert_from_arpa(source, target)
    print(f"{target}: {', '.join(f'{count:,} {order}-grams' for order, count in enumerate(counts, start=1))}")


def _convert_to_onnx(source: str, target: Path) -> None:
    from hf_lecture_models.hub.onnx import export_onnx

    _refuse_existing(target)
    model, _ = load_model(source)
    difference = export_onnx(model, target)
    checked = "not compared with the model: onnxruntime is not installed"
    if difference is not None:
        checked = f"outputs differ from the model's by at most {difference:.1g}"
    print(f"{target}: {target.stat().st_size:,} bytes; {checked}")


def _refuse_other_models(source: str, local_only: bool) -> None:
    config = AutoConfig.from_pretrained(source, local_files_only=local_only)
    if not isinstance(config, NGramConfig):
        saved = ", ".join(config.architectures or [config.model_type])
        raise ValueError(
            f"{source} holds {saved}, and only n-grams are written as ARPA files; name a file .onnx for this model"
        )


def _refuse_existing(target: Path) -> None:
    if target.exists() and (target.is_file() or any(target.iterdir())):
        raise FileExistsError(f"{target} is there already; remove it or name another")
