# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Random attention (slide Y:601): a window, sentinels, and a few blocks of the text that are drawn once.

Zaheer et al., "Big Bird: transformers for longer sequences", 2020, section 2. The text is cut into blocks of w tokens,
and each block B of queries has r blocks R(B) outside of its window, drawn when the layer is built and saved:

    N(i) = {j: |i - j| ≤ w} ∪ G ∪ {j in a block of R(B)},  i in B

In the causal form all j ≤ i, and R(B) is drawn among the blocks before B's window; the first blocks have fewer than r.
T tokens cost O(T (w + g + r w)). In transformers' Big Bird the blocks are drawn at each training step, and evaluation
takes block 0 for all of them; here training and evaluation have the same pattern.
"""

from random import Random

import torch
from torch import Tensor

from hf_lecture_models.layers.drawn_buffers import DrawnBuffers
from hf_lecture_models.layers.efficient_attention import Part, Rows, appended, blocks_of, softmax_over
from hf_lecture_models.layers.local_attention import BidirectionalLocalAttention, CausalLocalAttention, LocalAttention
from hf_lecture_models.layers.recurrent_cache import State


class RandomAttention(DrawnBuffers, LocalAttention):
    """The base of the two forms: the blocks R(B), -1 where there are fewer than r.

    Args:
        hidden_size: width of input and output; `num_heads` must divide it.
        num_heads: heads; all have the same blocks.
        window_size: w, the tokens that a token sees on each side, and the size of a block.
        num_sentinels: g; 0 for none.
        num_random_blocks: r.
        longest: the most tokens of a text.
        seed: from which the blocks are drawn.
    """

    drawn_type = torch.long
    random_blocks: Tensor

    def __init__(
        self,
        hidden_size: int,
        num_heads: int,
        window_size: int,
        num_sentinels: int,
        num_random_blocks: int,
        longest: int,
        seed: int,
    ):
        super().__init__(hidden_size, num_heads, window_size, num_sentinels)
        self.num_blocks, self.num_random_blocks = -(-longest // window_size), num_random_blocks
        self.register_drawn(seed)

    def drawn_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return that of the table."""
        return {"random_blocks": (self.num_blocks, self.num_random_blocks)}

    def draw(self, generator: torch.Generator) -> dict[str, Tensor]:
        """Return R(B) for each block, (blocks, num_random_blocks), sorted, -1 at the end where there are fewer."""
        chance = Random(int(torch.randint(2**62, (), generator=generator)))
        table = torch.full((self.num_blocks, self.num_random_blocks), -1)
        for block in range(self.num_blocks):
            before, after = max(block - 1, 0), 0 if self.is_causal else max(self.num_blocks - block - 2, 0)
            chosen = sorted(chance.sample(range(before + after), min(self.num_random_blocks, before + after)))
            # Numbers from `before` on are those of the blocks after the window.
            places = [number if number < before else number - before + block + 2 for number in chosen]
            table[block, : len(places)] = torch.tensor(places, dtype=torch.long)
        return {"random_blocks": table}

    def may_draw(self, block: int, other: int) -> bool:
        """Return whether `other` may be a random block of `block`: it is outside of its window."""
        return other <= block - 2 or (other >= block + 2 and not self.is_causal)

    def check_drawn(self) -> None:
        """Check the seed, and that the blocks are there and outside of the windows.

        Raises:
            ValueError: they are not, because the pattern is of another kind of model.
        """
        super().check_drawn()
        for block, row in enumerate([] if self.random_blocks.is_meta else self.random_blocks.tolist()):
            for other in row:
                if other != -1 and not (0 <= other < self.num_blocks and self.may_draw(block, other)):
                    raise ValueError(
                        f"random_blocks of {type(self).__name__} let block {block} attend to block {other}, which is "
                        "in its window, after it or past the end: the pattern is of another model"
                    )

    def random_part(self, k: Tensor, v: Tensor, rows: Rows) -> Part:
        """Return the random blocks as a part of `softmax_over`, for queries in blocks from the beginning of texts."""
        w, keys, values = self.window_size, blocks_of(k, self.window_size), blocks_of(v, self.window_size)
        blocks = keys.shape[2]
        # A batch may be wider than its longest text: what is past the last block is padding.
        chosen = self.random_blocks[torch.arange(blocks, device=k.device).clamp(max=self.num_blocks - 1)]  # (blocks, r)
        there = chosen.clamp(0, blocks - 1)
        places = there[:, :, None] * w + torch.arange(w, device=k.device)  # (blocks, r, w)
        allowed = ((chosen >= 0) & (chosen < blocks))[:, :, None] & (places >= self.num_sentinels)
        real = blocks_of(rows.real[:, None], w)[:, :, there] & allowed  # (batch, 1, blocks, r, w)
        return keys[:, :, there].flatten(3, 4), values[:, :, there].flatten(3, 4), real.flatten(3)[:, :, :, None]


class BidirectionalRandomAttention(RandomAttention, BidirectionalLocalAttention):
    """N(i) as above, without a state; blocks past the end of a text do not count."""

    def parts(self, k: Tensor, v: Tensor, rows: Rows) -> list[Part]:
        """Return what the queries, in blocks, attend to."""
        return [*super().parts(k, v, rows), self.random_part(k, v, rows)]


class CausalRandomAttention(RandomAttention, CausalLocalAttention):
    """N(i) among the j ≤ i; later calls need all keys and values, because any block may be drawn."""

    def state_shapes(self, batch: int) -> list[tuple[int, ...]]:
        """Return those of all k and v, the sentinels' k° and v°, and the count of tokens."""
        every, first = ((batch, self.num_heads, length, self.head_dim) for length in (-1, self.num_sentinels))
        return [every, every, first, first, (batch,)]

    def attend_heads(self, hidden: Tensor, rows: Rows, state: State | None) -> tuple[Tensor, State]:
        """Return o_i of each head, (batch, heads, seq, head_dim), and the state after the call."""
        q, k, v = self.split_heads(self.qkv_proj(hidden), 3)
        if state is None:
            heads, (*_, own_k, own_v, count) = self.attend_window(hidden, q, k, v, rows, None)
            return heads, (k, v, own_k, own_v, count)
        k, v = (appended(old, new, rows.seen) for old, new in zip(state[:2], (k, v), strict=True))
        heads = softmax_over(q, [(k, v, self.pattern(rows.places, k.shape[2])[:, None])], self.scaling)
        own: list[Tensor] = list(state[2:4])
        if self.sentinels is not None:
            heads, own = self.sentinels.backwards(hidden, rows, heads, self.scaling, own)
        return heads, (k, v, *own, rows.seen + rows.counts)

    def parts(self, k: Tensor, v: Tensor, rows: Rows) -> list[Part]:
        """Return what the queries, in blocks, see in their windows and random blocks, at the beginning of texts."""
        w = self.window_size
        return [*super().parts(k, v, rows), self.random_part(k[:, :, w:], v[:, :, w:], rows)]

    def pattern(self, places: Tensor, length: int) -> Tensor:
        """(batch, seq, length) bool: whether the token at each of `places` (batch, seq) attends to each place."""
        keys, queries = torch.arange(length, device=places.device), places[:, :, None]
        chosen = self.random_blocks[(places // self.window_size).clamp(max=self.num_blocks - 1)]  # (batch, seq, r)
        drawn = (chosen[:, :, :, None] == keys // self.window_size).any(2)
        near = keys >= queries - self.window_size
        return (keys <= queries) & (near | (keys < self.num_sentinels) | drawn)
