# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Huffman's code: frequent words get short codes, so that a choice among V words is a few choices between two."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import torch
from torch import Tensor


class _Node:
    """A node in the heap, compared by its count alone: this decides which of two equally frequent nodes comes first."""

    __slots__ = ("count", "index")

    def __init__(self, count: int, index: int) -> None:
        self.count, self.index = count, index

    def __lt__(self, other: _Node) -> bool:
        return self.count < other.count


def huffman_tree(counts: Sequence[int]) -> tuple[Tensor, Tensor]:
    """The binary tree of Huffman's code for words that occur so often; words that never occur are not in it.

    Node i < V is word i. Node V + j is the j-th one that was joined from the two rarest nodes that were left; of these
    the rarer is the one with bit 0. The joined nodes are numbered as by gensim, and the codes are the same ones.

    >>> parents, bits = huffman_tree([4, 2, 1, 0])
    >>> parents.tolist(), bits.tolist()
    ([5, 4, 4, -1, 5, -1, -1], [1, 1, 0, 0, 0, 0, 0])

    Args:
        counts: of each word, V numbers of at least 0.

    Returns:
        Of each of the 2 V - 1 nodes its parent (-1: the root, or in no tree), and its bit: which child of it it is.
    """
    size = len(counts)
    parents, bits = [-1] * (2 * size - 1), [0] * (2 * size - 1)
    heap = [_Node(count, index) for index, count in enumerate(counts) if count > 0]
    heapq.heapify(heap)
    for joined in range(size, size + len(heap) - 1):
        left, right = heapq.heappop(heap), heapq.heappop(heap)
        parents[left.index] = parents[right.index] = joined
        bits[right.index] = 1
        heapq.heappush(heap, _Node(left.count + right.count, joined))
    return torch.tensor(parents), torch.tensor(bits)


def balanced_tree(size: int) -> tuple[Tensor, Tensor]:
    """A Huffman tree of `size` equally frequent words, as `huffman_tree` describes it.

    >>> balanced_tree(3)[0].tolist()
    [3, 3, 4, 4, -1]
    """
    nodes = torch.arange(2 * size - 1)
    parents = size + nodes // 2
    parents[-1] = -1
    return parents, (nodes % 2) * (parents >= 0)
