# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Looking at models and runs: nearest neighbours of words, learning curves, comparisons, tables."""

from hf_lecture_models.analysis.comparison_chart import save_comparison
from hf_lecture_models.analysis.learning_curve import save_learning_curve, save_table
from hf_lecture_models.analysis.neighbour_pictures import save_neighbour_map, save_neighbours
from hf_lecture_models.analysis.neighbours import Neighbour, WordNeighbours, nearest_neighbours, neighbour_table

__all__ = [
    "Neighbour",
    "WordNeighbours",
    "nearest_neighbours",
    "neighbour_table",
    "save_comparison",
    "save_learning_curve",
    "save_neighbour_map",
    "save_neighbours",
    "save_table",
]
