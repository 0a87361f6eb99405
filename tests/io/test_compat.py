# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""One file imports from the places of transformers that move with its releases, and says which release is too old."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
import tomllib
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
import transformers
from transformers import modeling_utils
from transformers.dynamic_module_utils import get_class_from_dynamic_module

from hf_lecture_models import ElmoForTokenClassification, ElmoTokenizer, Gpt1ForCausalLM, LectureViTModel
from hf_lecture_models.base.grayscale_images import GrayscaleImageProcessor
from hf_lecture_models.hub.flatten import flatten
from hf_lecture_models.io import compat, compat_files

ROOT = Path(__file__).parents[2]
# Old and documented: all that a module may import from transformers by itself. "*": any name that `compat` has not.
SETTLED = {
    "transformers": {"*"},
    "transformers.cache_utils": {"Cache", "DynamicCache", "EncoderDecoderCache", "StaticCache"},
    "transformers.generation": {"GenerationMixin"},
    "transformers.generation.stopping_criteria": {"StoppingCriteria", "StoppingCriteriaList"},
    "transformers.image_processing_base": {"ImageProcessingMixin"},
    "transformers.image_transforms": {"to_pil_image"},
    "transformers.image_utils": {"load_image"},
    "transformers.modeling_layers": {"GradientCheckpointingLayer"},
    "transformers.modeling_outputs": {"*"},
    "transformers.modeling_utils": {"PreTrainedModel"},
    "transformers.models.auto": {"modeling_auto"},
    "transformers.pipelines": {"PIPELINE_REGISTRY", "Pipeline", "TokenClassificationPipeline"}
    | {"ImageClassificationPipeline", "ImageFeatureExtractionPipeline"},
    "transformers.pipelines.base": {"ChunkPipeline"},
    "transformers.processing_utils": {"*"},
    "transformers.tokenization_utils_base": {"TruncationStrategy"},
    "transformers.utils": {"IMAGE_PROCESSOR_NAME", "PROCESSOR_NAME", "PushToHubMixin", "cached_file"}
    | {"is_vision_available", "logging"},
    "transformers.utils.generic": {"ModelOutput", "can_return_tuple"},
    "transformers.utils.logging": {"disable_progress_bar", "is_progress_bar_enabled", "set_verbosity_error"},
    # Only in the program whose module it is.
    "transformers.cli.serving": {"server"},
}


def imports_of_transformers(path: Path) -> list[tuple[str, str]]:
    """Each (module, name); for `import module` the name is "*", but for transformers itself."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(alias.name, "*") for alias in node.names if alias.name != "transformers"]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found += [(node.module or "", alias.name) for alias in node.names]
    return [(module, name) for module, name in found if module.split(".")[0] == "transformers"]


def test_young_and_private_places_are_imported_in_two_files() -> None:
    files = [Path(module.__file__ or "") for module in (compat, compat_files)]
    wrong, young = [], {name for file in files for _, name in imports_of_transformers(file)}
    sources = [*(ROOT / "hf_lecture_models").rglob("*.py"), *(ROOT / "training").rglob("*.py")]
    for path in sources:
        if path in files:
            continue
        for module, name in imports_of_transformers(path):
            allowed = SETTLED.get(module, set())
            if name in young or not {name, "*"} & allowed:
                wrong.append(f"{path.relative_to(ROOT)}: {module}.{name}")
    assert not wrong, "import it in io/compat.py, and from there; or it is old and documented: then list it here"


def test_the_checked_version_is_the_declared_one() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    assert f"transformers>={compat.OLDEST_TRANSFORMERS},<6" in declared
    assert compat.TRIED_TRANSFORMERS[0] == f"{compat.OLDEST_TRANSFORMERS}.0"


@pytest.mark.parametrize("version", ["5.20.0", "5.20.0.dev0", "5.24.1", "5.25rc1", "5.100.2"])
def test_newer_versions_pass(version: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compat.check_transformers(version)


@pytest.mark.parametrize("version", ["6.0.0", "6.0.0.dev0", "6.0rc1", "10.2"])
def test_a_later_major_version_is_named(version: str) -> None:
    with pytest.warns(UserWarning, match=rf"tried with 5\.20\.0, .*; with {re.escape(version)}, results may differ"):
        compat.check_transformers(version)


@pytest.mark.parametrize(
    ("model_class", "reference"),
    [
        (Gpt1ForCausalLM, "configuration_gpt1.Gpt1Config"),
        (Gpt1ForCausalLM, "modeling_gpt1.Gpt1ForCausalLM"),
        (ElmoForTokenClassification, "tokenization_elmo.ElmoTokenizer"),
        (LectureViTModel, "base_grayscale_images.GrayscaleImageProcessor"),
    ],
)
def test_published_code_names_the_version_that_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model_class: type, reference: str
) -> None:
    """Whichever of its files comes first, where the older transformers lacks some of the names."""
    for name, source in flatten([model_class, ElmoTokenizer, GrayscaleImageProcessor]).items():
        (tmp_path / f"{name}.py").write_text(source, encoding="utf-8")
    monkeypatch.setattr(transformers, "__version__", "5.19.3")
    for place in ("conversion_mapping", "core_model_loading", "masking_utils", "utils.output_capturing"):
        monkeypatch.setitem(sys.modules, f"transformers.{place}", None)
    for name in ("PreTrainedConfig", "PythonBackend", "TokenizersBackend", "ViTImageProcessorPil"):
        monkeypatch.delattr(transformers, name)
    with pytest.raises(ImportError, match=r"^this code needs transformers [\d.]+ or newer, not 5\.19\.3: .*,<6'$"):
        get_class_from_dynamic_module(reference, str(tmp_path))


def compat_without(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Its module, executed where `transformers.modeling_utils` lacks a name."""
    monkeypatch.delattr(modeling_utils, name, raising=False)
    spec = importlib.util.spec_from_file_location("compat_of_old", compat.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("keep", "expected"),
    [
        (0, [[0, 1, 2], [3, 4, 5]]),
        (2, [[1, 2], [4, 5]]),
        (torch.tensor([0, 2]), [[0, 2], [3, 5]]),
        (torch.tensor([[0, 2], [1, 1]]), [[0, 2], [4, 4]]),
        (torch.tensor([[True, False, True], [False, True, False]]), [0, 2, 4]),
    ],
    ids=["all", "last", "indices", "indices of each row", "mask"],
)
def test_positions_to_keep_without_transformers_own(
    keep: Any, expected: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden = torch.arange(6.0).view(2, 3, 1)
    ours = compat_without("slice_logits_to_keep", monkeypatch).slice_logits_to_keep
    assert ours.__module__ == "compat_of_old"
    for function in (ours, compat.slice_logits_to_keep):
        assert function(hidden, keep)[..., 0].tolist() == expected
