# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Looking at models and runs: attention, gradients, segmentation, neighbours of words; learning curves, comparisons.

Every `save_...` draws a picture, whose path ends in .svg, .pdf or .png. It is written beside the path and renamed. If
matplotlib is not installed, an ImportError names the extra `train`; an OSError says why a file cannot be written.
"""

from hf_lecture_models.analysis.attention_maps import (
    AttentionMaps,
    get_attention_maps,
    save_all_heads,
    save_attention_map,
    save_attention_of_word,
)
from hf_lecture_models.analysis.figures import save_learning_curve, save_table
from hf_lecture_models.analysis.gradient_flow import (
    GradientFlow,
    input_jacobians,
    measure_gradient_flow,
    save_gradient_flow,
    step_jacobians,
    untrained,
)
from hf_lecture_models.analysis.neighbours import Neighbour, WordNeighbours, nearest_neighbours, neighbour_table
from hf_lecture_models.analysis.segmentation import (
    SegmentationStep,
    WordSegmentation,
    save_segmentation,
    segmentation_steps,
)
from hf_lecture_models.analysis.surprisal_pictures import save_surprisal

__all__ = [
    "AttentionMaps",
    "GradientFlow",
    "Neighbour",
    "SegmentationStep",
    "WordNeighbours",
    "WordSegmentation",
    "get_attention_maps",
    "input_jacobians",
    "measure_gradient_flow",
    "nearest_neighbours",
    "neighbour_table",
    "save_all_heads",
    "save_attention_map",
    "save_attention_of_word",
    "save_gradient_flow",
    "save_learning_curve",
    "save_segmentation",
    "save_surprisal",
    "save_table",
    "segmentation_steps",
    "step_jacobians",
    "untrained",
]
