# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Huffman's code: frequent words get short codes, so that a choice among V words is a few choices between two."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import torch
from torch import Tensor


class _Node:
    """A node in the heap, compared by its count alone, so that the heap's order breaks ties."""

    __slots__ = ("count", "index")

    def __init__(self, count: int, index: int) -> None:
        self.count, self.index = count, index

    def __lt__(self, other: _Node) -> bool:
        return self.count < other.count


def huffman_tree(counts: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Return the binary tree of Huffman's code for these counts; words that never occur are not in it.

    Node i < V is word i. Node V + j is the j-th that was joined from the two rarest remaining nodes; the rarer of the
    two has bit 0. Joined nodes have gensim's numbers, and words gensim's codes.

    >>> parents, bits = huffman_tree([4, 2, 1, 0])
    >>> parents.tolist(), bits.tolist()
    ([5, 4, 4, -1, 5, -1, -1], [1, 1, 0, 0, 0, 0, 0])

    Args:
        counts: how often each word occurs, V numbers of at least 0.

    Returns:
        For each of the 2 V - 1 nodes, its parent (-1: the root, or not in the tree), and its bit, 0 or 1, which says
        which child of that parent it is.
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
    """Return the Huffman tree of `size` equally frequent words, in the form of `huffman_tree`.

    >>> balanced_tree(3)[0].tolist()
    [3, 3, 4, 4, -1]
    """
    nodes = torch.arange(2 * size - 1)
    parents = size + nodes // 2
    parents[-1] = -1
    return parents, (nodes % 2) * (parents >= 0)
