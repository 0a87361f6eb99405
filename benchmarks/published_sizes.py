# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The files and lines of code that each published model brings along.

    python -m benchmarks.published_sizes

It prints a line for each model class with its own code, of the default configuration; with the name of a class, each
of its files. `LIMITS`, which tests/hub/test_published_sizes.py holds them to, has the most of each architecture.
"""

import sys
from collections.abc import Iterator

from transformers.models.auto.configuration_auto import CONFIG_MAPPING

import hf_lecture_models  # noqa: F401
from hf_lecture_models.hub.export import published_code, registered_classes

LIMITS = {
    "lecture_bag_of_words": (15, 1_680),
    "lecture_bert": (37, 3_780),
    "lecture_efficient_transformer": (35, 4_150),
    "lecture_elmo": (39, 4_260),
    "lecture_feed_forward": (20, 2_290),
    "lecture_gpt1": (29, 3_100),
    "lecture_graves": (17, 2_040),
    "lecture_image_captioning": (48, 5_130),
    "lecture_joint_gaussian": (16, 1_930),
    "lecture_layer_per_input": (18, 1_900),
    "lecture_ngram": (16, 1_980),
    "lecture_padded_mlp": (16, 1_750),
    "lecture_recurrent": (22, 2_780),
    "lecture_recurrent_seq2seq": (34, 3_990),
    "lecture_self_attention": (30, 3_080),
    "lecture_transformer": (47, 4_880),
    "lecture_vit": (23, 2_480),
    "lecture_word2vec": (17, 1_810),
    "transfo-xl": (31, 3_430),
}
"""Model type -> the most files and lines of code, of whichever of its classes brings most."""


def published_sizes() -> Iterator[tuple[str, str, dict[str, int]]]:
    """Yield for each model class its model type, its name, and the lines of each of its files."""
    for model_type, config_class in sorted(CONFIG_MAPPING._extra_content.items()):
        if not config_class.__module__.startswith("hf_lecture_models."):
            continue
        models = {cls for auto, cls in registered_classes(config_class).items() if auto != "AutoConfig"}
        for model_class in sorted(models, key=lambda cls: cls.__name__):
            if model_class.__module__.startswith("hf_lecture_models."):
                code = published_code(model_class, config_class())
                yield model_type, model_class.__name__, {name: text.count("\n") for name, text in code.items()}


def main(shown: list[str]) -> None:
    """Print the sizes."""
    for model_type, name, files in published_sizes():
        print(f"{model_type:28} {name:44} {len(files):3} files {sum(files.values()):6,} lines")
        for file, lines in sorted(files.items(), key=lambda item: -item[1]) if name in shown else ():
            print(f"{'':8}{lines:5} {file}.py")


if __name__ == "__main__":
    main(sys.argv[1:])
