# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Saves, loads and programs that use a model, checked; a published copy has base/travelling_guards.py instead."""

import os
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any, cast

import torch

from hf_lecture_models.base.guards.checkpoint import (
    check_tied_weights,
    compare_with_files,
    refuse_other_shapes,
    refuse_other_types,
    refuse_unloadable,
)
from hf_lecture_models.base.guards.serving import check_served_call, refuse_unserved
from hf_lecture_models.base.guards.shortest_texts import replace_processors
from hf_lecture_models.base.guards.sizes import size_checked
from hf_lecture_models.base.travelling_guards import ModelGuards as TravellingGuards
from hf_lecture_models.base.travelling_guards import refuse_missing
from hf_lecture_models.io.files import staged_folder, weights_file_errors
from hf_lecture_models.io.saved_json import check_saved_files, refuse_outside_shards, weight_file_patterns


class ModelGuards(TravellingGuards):
    """`PreTrainedModel` with atomic saves, checked loads and a size that the memory can hold."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Check the size at each `__init__` of models; where a head brings it, it is wrapped.

        Not by a metaclass: a subclass may have one of its own, as those of `abc.ABC` and `typing.Protocol` do.
        """
        super().__init_subclass__(**kwargs)
        owner = next(base for base in cls.__mro__ if "__init__" in vars(base))
        if owner is cls:
            build = cls.__init__
        elif issubclass(owner, ModelGuards):
            return
        else:

            @wraps(owner.__init__)
            def build(self: Any, *args: Any, **kwargs: Any) -> None:
                super(cls, self).__init__(*args, **kwargs)

        setattr(cls, "__init__", size_checked(build))  # noqa: B010

    def _prepare_cache_for_generation(
        self, generation_config: Any, model_kwargs: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Any:
        named, model = generation_config.cache_implementation, cast(Any, self)
        # transformers would ignore the name, but for a line in the log.
        if named is not None and not model._supports_default_dynamic_cache():
            raise ValueError(
                f"cache_implementation={named!r} names a cache of keys and values, of which {type(self).__name__} has "
                "none; leave it out"
            )
        if named is not None and named.startswith("offloaded") and not torch.accelerator.is_available():
            raise ValueError(
                f"cache_implementation={named!r} moves keys and values from a GPU to the CPU and back, and there is no "
                "GPU; leave it out"
            )
        super()._prepare_cache_for_generation(generation_config, model_kwargs, *args, **kwargs)  # type: ignore[misc]

    def _get_logits_processor(self, generation_config: Any, *args: Any, **kwargs: Any) -> Any:
        if generation_config.guidance_scale not in (None, 1) and (generation_config.num_beams or 1) > 1:
            raise ValueError(
                f"guidance_scale={generation_config.guidance_scale} with num_beams={generation_config.num_beams}: "
                "transformers keeps the text without the prompt in the order of the first step and mixes the beams up; "
                "leave one of the two out"
            )
        processors = super()._get_logits_processor(generation_config, *args, **kwargs)  # type: ignore[misc]
        replace_processors(processors)
        return processors

    def init_continuous_batching(self, *args: Any, workload_hints: Any = None, **kwargs: Any) -> Any:
        """Begin continuous batching, as `generate_batch` and `transformers serve --continuous-batching` do.

        Raises:
            ValueError: the model keeps something else than keys and values, or cannot read as many tokens as announced.
        """
        if not (self._supports_attention_backend and self.can_generate()):
            raise ValueError(
                f"{type(self).__name__} has no keys and values, which continuous batching (generate_batch) keeps in "
                "pages; use generate(), on a padded batch"
            )
        hints = workload_hints
        prompt, new = (hints.max_prompt_length, hints.max_generated_length) if hints else (0, 0)
        # The last token is never read.
        if self.longest_input is not None and prompt + new - 1 > self.longest_input:
            raise ValueError(
                f"a prompt of {prompt} tokens and {new} new ones are more than {type(self).__name__} can read, "
                f"{self.longest_input} in all; set max_new_tokens, or cut the prompt"
            )
        manager = super().init_continuous_batching(*args, workload_hints=workload_hints, **kwargs)  # type: ignore[misc]
        if self.longest_input is not None:
            manager.add_request = self._within_positions(manager)
        return manager

    def _within_positions(self, manager: Any) -> Callable[..., Any]:
        """Limit `manager.add_request` to what the model can read; more would end the thread of all requests."""
        add_request, longest = manager.add_request, self.longest_input or 0

        def add(input_ids: list[int], request_id: Any = None, max_new_tokens: int | None = None, **kwargs: Any) -> Any:
            if len(input_ids) > longest:
                raise ValueError(
                    f"a prompt of {len(input_ids)} tokens is longer than {type(self).__name__} can read, {longest} "
                    "tokens; cut the prompt"
                )
            most = longest + 1 - len(input_ids)  # the last token is never read
            wanted = manager.generation_config.max_new_tokens if max_new_tokens is None else max_new_tokens
            return add_request(input_ids, request_id, most if wanted is None else min(wanted, most), **kwargs)

        return add

    def save_pretrained(  # type: ignore[override]
        self, save_directory: str | os.PathLike[str], is_main_process: bool = True, **kwargs: Any
    ) -> None:
        """Save under our own parameter names, written beside and renamed into place (see `staged_folder`).

        The weights of an earlier save of the same `variant` that the new one does not overwrite are removed: shards, or
        the whole file where shards were written. All other files stay.

        Raises:
            NotADirectoryError: `save_directory` is a file.
            ValueError: the configuration could not be loaded again, or asks for other weights than the model has: it
                was changed after the model was built. Nothing is written.
            OSError: the folder cannot be written; what it held before is untouched.
        """
        kwargs.setdefault("save_original_format", False)
        if not is_main_process:
            super().save_pretrained(save_directory, is_main_process=False, **kwargs)
            return
        if kwargs.get("push_to_hub"):
            kwargs.setdefault("repo_id", os.path.basename(os.path.normpath(save_directory)))
        self.config.check_loadable()
        # An adapter is saved beside the weights, which stay.
        has_adapter = getattr(self, "_hf_peft_config_loaded", False)
        if not (has_adapter or hasattr(self, "hf_device_map") or getattr(self, "hf_quantizer", None)):
            refuse_unloadable(self, kwargs.get("state_dict"))
        replaced = () if has_adapter else weight_file_patterns(kwargs.get("variant"))
        with staged_folder(save_directory, replaces=replaced) as stage:
            super().save_pretrained(stage, **kwargs)

    @classmethod
    def from_pretrained(
        cls, pretrained_model_name_or_path: str | os.PathLike[str] | None, *args: Any, **kwargs: Any
    ) -> Any:
        """Load as transformers does, with checks of the files.

        Raises:
            ValueError: the checkpoint is of another model type; a field of its JSON files has a wrong type; its index
                names files outside of its folder; its weights are damaged, of other shapes (a RuntimeError too, which
                transformers raises), or integers for floating numbers; some of the model below the head are missing;
                although it was saved by this very class, some are missing or unknown; two that are one matrix
                differ; or they are NaN or infinite.
        """
        with_info = kwargs.pop("output_loading_info", False)
        any_shape = kwargs.get("ignore_mismatched_sizes", False)
        source = f"the checkpoint {pretrained_model_name_or_path}"
        if pretrained_model_name_or_path is not None and os.path.isdir(pretrained_model_name_or_path):
            folder = os.path.join(pretrained_model_name_or_path, kwargs.get("subfolder", ""))
            check_saved_files(Path(folder), "config.json", "generation_config.json")
            refuse_outside_shards(folder)
        with weights_file_errors(source):
            # transformers' annotation leaves out the pair that output_loading_info=True returns.
            loaded: Any = super().from_pretrained(
                pretrained_model_name_or_path, *args, **kwargs | {"output_loading_info": True}
            )
        model, info = loaded
        if not any_shape:
            refuse_other_shapes(info, source)
        return (model, info) if with_info else model

    @classmethod
    def _load_pretrained_model(  # type: ignore[override]
        cls, model: Any, state_dict: Any, checkpoint_files: list[str] | None, load_config: Any, **options: Any
    ) -> Any:
        if options:  # an adapter's, into a model that is there
            return super()._load_pretrained_model(model, state_dict, checkpoint_files, load_config, **options)
        check_tied_weights(model, load_config.device_map)
        # transformers allocates whatever the files lack, and reports it afterwards. Quantised weights have other names
        # and shapes in the files.
        quantizer = load_config.hf_quantizer
        if checkpoint_files and state_dict is None and not (quantizer and quantizer.pre_quantized):
            source = f"the checkpoint {load_config.pretrained_model_name_or_path}"
            info = compare_with_files(model, checkpoint_files, load_config)
            refuse_other_types(info, source)
            if not load_config.ignore_mismatched_sizes:
                refuse_other_shapes(info, source)
            refuse_missing(model, info, source)
        return super()._load_pretrained_model(model, state_dict, checkpoint_files, load_config)

    @classmethod
    def _finalize_model_loading(cls, model: Any, load_config: Any, loading_info: Any) -> Any:
        # The shapes of what was converted while it was loaded, `from_pretrained` compares.
        load_config = replace(load_config, ignore_mismatched_sizes=True)
        return super()._finalize_model_loading(model, load_config, loading_info)

    def check_recomputes(self) -> None:
        """Check that the model can do the gradient checkpointing that its configuration asks for."""
        if not self.supports_gradient_checkpointing:
            raise ValueError(
                f"{type(self).__name__} has no gradient checkpointing; leave gradient_checkpointing out of its "
                "configuration"
            )

    def check_server(self) -> None:
        """Refuse to build a model whose attention is a server's, if the server would compute something else."""
        refuse_unserved(self)

    def check_served_call(self, *call: Any) -> None:
        """Refuse a server's call whose result would be wrong; see `base.guards.serving.check_served_call`."""
        check_served_call(self, *call)
