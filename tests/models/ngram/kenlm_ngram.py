# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A writer of KenLM's binary files, number by number, for tests of the reader; it shares no code with it."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from tests.models.ngram.arpa_ngram import SMALL

MASK = 2**64 - 1
# An n-gram, from its first word to its last, and its log10 p and back-off weight.
Grams = dict[tuple[str, ...], tuple[float, float]]


def grams_of(arpa: str = SMALL) -> Grams:
    found: Grams = {}
    for line in arpa.splitlines():
        columns = line.split("\t")
        if len(columns) > 1:
            words = tuple(columns[1].split())
            found[words] = (float(np.float32(columns[0])), float(np.float32(columns[2] if len(columns) > 2 else 0)))
    return found


def murmur(word: bytes) -> int:
    """The hash of A. Appleby's MurmurHash64A, seed 0."""
    factor = 0xC6A4A7935BD1E995
    found = len(word) * factor & MASK
    whole = len(word) // 8 * 8
    for place in range(0, whole, 8):
        block = int.from_bytes(word[place : place + 8], "little") * factor & MASK
        block ^= block >> 47
        found = (found ^ (block * factor & MASK)) * factor & MASK
    if word[whole:]:
        found = (found ^ int.from_bytes(word[whole:], "little")) * factor & MASK
    found ^= found >> 47
    found = found * factor & MASK
    return found ^ (found >> 47)


def header(kind: int, version: int, counts: list[int], multiplier: float = 1.5, has_words: int = 1) -> bytes:
    magic = b"mmap lm http://kheafield.com/code format version 5\n"
    text = magic.ljust(56, b"\0") + struct.pack("<3f3IQ", 0, 1, -0.5, 1, 2**32 - 1, 0, 1)
    text += struct.pack("<BxxxfiBxxxI", len(counts), multiplier, kind, has_words, version)
    text += struct.pack(f"<{len(counts)}Q", *counts)
    return text + bytes(-len(text) % 8)


def by_order(grams: Grams) -> list[list[tuple[str, ...]]]:
    return [[gram for gram in grams if len(gram) == n] for n in range(1, max(map(len, grams)) + 1)]


def probing_file(grams: Grams, multiplier: float = 1.5) -> bytes:
    orders = by_order(grams)
    words = ["<unk>", *(word for (word,) in orders[0] if word != "<unk>")]
    number = {word: i for i, word in enumerate(words)}

    def buckets(count: int) -> int:
        return max(count + 1, int(np.float32(multiplier) * np.float32(count)))

    def hash_table(entries: list[tuple[int, bytes]], count: int) -> bytes:
        places: list[bytes | None] = [None] * buckets(count)
        for key, rest in entries:
            place = key % len(places)
            while places[place] is not None:
                place = (place + 1) % len(places)
            places[place] = struct.pack("<Q", key) + rest
        size = 8 + len(entries[0][1])
        return b"".join(bytes(size) if entry is None else entry for entry in places)

    text = header(0, 0, list(map(len, orders)), multiplier) + struct.pack("<II", 0, len(words))
    text += hash_table([(murmur(word.encode()), struct.pack("<I", i)) for word, i in number.items() if i], len(words))
    # Without its sign, log10 p says that a longer n-gram may end with this one.
    text += b"".join(struct.pack("<2f", abs(grams[word,][0]), grams[word,][1]) for word in words) + bytes(8)
    for order in orders[1:]:
        entries = []
        for gram in order:
            key = number[gram[-1]]
            for word in gram[-2::-1]:
                key = (key * 8978948897894561157 ^ (1 + number[word]) * 17894857484156487943) & MASK
            longest = order is orders[-1]
            p, backoff = grams[gram]
            weights = struct.pack("<f", p) if longest else struct.pack("<2f", abs(p), backoff)
            entries.append((key, weights))
        text += hash_table(entries, len(order))
    return text + b"".join(word.encode() + b"\0" for word in words)


def codebook(values: list[float], bits: int, reserved: int = 0) -> list[float]:
    """The values themselves, or as many of them as fit: readers must take any."""
    places = np.linspace(0, len(set(values)) - 1, 2**bits - reserved).round().astype(int)
    ordered = sorted(set(values))
    return [-0.0, 0.0][:reserved] + [ordered[i] for i in places]


def trie_file(grams: Grams, bits: int | None = None, chop: int | None = None) -> bytes:
    """A trie; quantised with codebooks of `bits`; array-compressed if `chop` is given."""
    orders = by_order(grams)
    words = ["<unk>", *sorted((word for (word,) in orders[0] if word != "<unk>"), key=lambda w: murmur(w.encode()))]
    number = {word: i for i, word in enumerate(words)}
    # Reversed: the words of an n-gram from the last one on.
    levels = [sorted(tuple(number[word] for word in reversed(gram)) for gram in order) for order in orders]
    counts = list(map(len, levels))
    kind = 2 + (bits is not None) + 2 * (chop is not None)
    text = header(kind, 1, counts) + struct.pack("<Q", len(words) - 1)
    text += b"".join(struct.pack("<Q", murmur(word.encode())) for word in words[1:]) + bytes(8)

    def weights(record: tuple[int, ...]) -> tuple[float, float]:
        return grams[tuple(words[i] for i in reversed(record))]

    def next_of(n: int, record: tuple[int, ...]) -> int:
        return sum(child[: n + 1] < record for child in levels[n + 1])

    books = []
    if bits is not None:
        text += bytes([2, bits, bits, 0, 0, 0, 0, 0])
        for order in orders[1:]:
            probs = codebook([grams[gram][0] for gram in order], bits)
            backoffs = codebook([grams[gram][1] for gram in order], bits, 2) if order is not orders[-1] else []
            books.append((probs, backoffs))
            text += struct.pack(f"<{len(probs) + len(backoffs)}f", *probs, *backoffs)
    for record in levels[0]:
        text += struct.pack("<2fQ", *weights(record), next_of(0, record))
    text += struct.pack("<2fQ", 0, 0, counts[1]) + bytes(16)
    for n, level in enumerate(levels[1:], 1):
        longest = n == len(levels) - 1
        fields = []
        for record in level:
            p, backoff = weights(record)
            if bits is None:
                numbers = [(struct.unpack("<I", struct.pack("<f", p))[0] & 0x7FFFFFFF, 31)]
                numbers += [] if longest else [(struct.unpack("<I", struct.pack("<f", backoff))[0], 32)]
            else:
                # The first 0 of back-offs would say that no longer n-gram begins with this one.
                nearest = [
                    min(range(len(book)), key=lambda i, book=book, value=value: (abs(book[i] - value), i == 0))
                    for book, value in zip(books[n - 1], (p, backoff), strict=True)
                    if book
                ]
                numbers = [(i, bits) for i in reversed(nearest)]
            fields.append([(record[-1], counts[0].bit_length()), *numbers])
        if not longest:
            text = add_next(text, [next_of(n, record) for record in level], counts[n + 1], fields, chop)
        packed, place = 0, 0
        for record in fields:
            for value, width in record:
                packed |= value << place
                place += width
        width = sum(width for _, width in fields[0])
        text += packed.to_bytes(((1 + len(level)) * width + 7) // 8 + 8, "little")
    return text + b"".join(word.encode() + b"\0" for word in words)


def add_next(
    text: bytes, begins: list[int], children: int, fields: list[list[tuple[int, int]]], chop: int | None
) -> bytes:
    """Add the field "next" to each record and one more record; return the text with the array, if there is one."""
    begins = [*begins, children]
    width = children.bit_length()
    if chop is not None:
        costs = [(children >> (width - drop)) * 64 - len(begins) * drop for drop in range(min(width, chop) + 1)]
        width -= costs.index(min(costs))
        size = (children >> width) + 1
        firsts = [
            min((i for i, begin in enumerate(begins) if begin >> width >= high), default=0) for high in range(size)
        ]
        whole = len(text) + 8 * (size + 1) + 7
        text = (text + b"\0" + bytes([chop])).ljust(-(-len(text) // 8) * 8 + 8, b"\0")
        text = (text + struct.pack(f"<{size}Q", *firsts)).ljust(whole, b"\0")
    fields.append([(0, bits) for _, bits in fields[0]])
    for record, begin in zip(fields, begins, strict=True):
        record.append((begin & (2**width - 1), width))
    return text


def all_files(grams: Grams | None = None) -> dict[str, bytes]:
    """A file of each kind."""
    grams = grams or grams_of()
    return {
        "probing": probing_file(grams),
        "probing, multiplier 1.2": probing_file(grams, 1.2),
        "probing, multiplier 3": probing_file(grams, 3),
        "trie": trie_file(grams),
        "quantised": trie_file(grams, bits=4),
        "array": trie_file(grams, chop=22),
        "quantised array": trie_file(grams, bits=3, chop=2),
    }


SENTENCES = ["dog dog cat", "dog sat sat", "the dog sat", "sat dog the", "the cat sat", "dog the cat"]
# Unknown words, and log10 p of the known ones, by hand: none; one, -1.204, -1.502, -1.806, -2.931; two.
ORDER = ["the cat sat", "the dog sat", "dog the cat", "dog sat sat", "sat dog the", "dog dog cat"]


def files_without_unknown(folder: Path) -> dict[str, Path]:
    """`SMALL` without `<unk>`: as SRILM's ARPA file, as a model's folder, and as KenLM's two binary files."""
    text = SMALL.replace("ngram 1=7", "ngram 1=6").replace("ngram 2=8", "ngram 2=7").replace("ngram 3=5", "ngram 3=4")
    text = "".join(line for line in text.splitlines(keepends=True) if "<unk>" not in line)
    paths = {name: folder / name for name in ("lm.arpa", "folder", "lm.trie", "lm.probing")}
    paths["lm.arpa"].write_text(text, encoding="utf-8")
    for part in NGramForCausalLM.from_arpa(paths["lm.arpa"]):
        part.save_pretrained(paths["folder"])
    grams = {("<unk>",): (-100.0, 0.0), **grams_of(text)}  # as KenLM adds it
    paths["lm.trie"].write_bytes(trie_file(grams))
    paths["lm.probing"].write_bytes(probing_file(grams))
    return paths


def random_grams(seed: int = 0, words: int = 12) -> Grams:
    """A 3-gram in which the first and the last words of each n-gram are stored; 1 and 2 words have 0 weights too."""
    rng = np.random.default_rng(seed)
    names = ["<unk>", "<s>", "</s>", *(f"w{i}" * (1 + i % 3) for i in range(words))]

    def weights() -> tuple[float, float]:
        values = np.float32([-4 * rng.random(), rng.choice([0, -rng.random()])])
        return float(values[0]), float(values[1])

    grams: Grams = {(name,): weights() for name in names}
    starts, ends = [n for n in names if n != "</s>"], [n for n in names if n != "<s>"]
    grams |= {(one, two): weights() for one in starts for two in ends if rng.random() < 0.7}
    pairs = [gram for gram in grams if len(gram) == 2]
    longer = [(*one, two[1]) for one in pairs for two in pairs if one[1] == two[0] and rng.random() < 0.3]
    return grams | {gram: (weights()[0], 0.0) for gram in longer}


def arpa_of(grams: Grams) -> str:
    orders = by_order(grams)
    lines = ["\\data\\", *(f"ngram {n}={len(order)}" for n, order in enumerate(orders, 1))]
    for n, order in enumerate(orders, 1):
        lines += ["", f"\\{n}-grams:"]
        for gram in order:
            p, backoff = map(np.float32, grams[gram])
            lines.append(f"{p}\t{' '.join(gram)}" + (f"\t{backoff}" if n < len(orders) else ""))
    return "\n".join([*lines, "", "\\end\\", ""])


def ngrams(model, tokenizer):
    """All n-grams by their words, with their weights as they are stored."""
    tables, words = model.tables(), tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    found, before = {}, [(word,) for word in words]
    for n in range(1, tables.order + 1):
        if n > 1:
            keys = tables.keys[n - 2].tolist()
            before = [(*before[key // len(words)], words[key % len(words)]) for key in keys]
        backoffs = tables.log10_backoffs[n - 1].tolist() if n < tables.order else [0.0] * len(before)
        found |= dict(zip(before, zip(tables.log10_probs[n - 1].tolist(), backoffs, strict=True), strict=True))
    return found
