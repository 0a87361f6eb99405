# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The smoothings once more, in dictionaries and recursion, straight from the papers: slow and easy to check."""

from __future__ import annotations

from collections import Counter


class ReferenceNGram:
    """p(word | context) from lists of ids; `events` are the ids that can follow something."""

    def __init__(self, texts, order, smoothing, events, bos, eos, alpha=1.0, weights=None, prune=(0,)):
        self.order, self.smoothing, self.events, self.bos = order, smoothing, events, bos
        self.alpha, self.weights = alpha, weights
        self.raw = Counter()
        for text in texts:
            row = (bos, *text, eos)
            for end in range(1, len(row)):
                for n in range(1, min(order, end + 1) + 1):
                    self.raw[row[end + 1 - n : end + 1]] += 1
        self.pruned = {g for g, c in self.raw.items() if c <= prune[min(len(g), len(prune)) - 1]}
        self.before = Counter(gram[1:] for gram in self.raw if len(gram) > 1)
        self.followers = {}
        for gram in self.raw:
            self.followers.setdefault(gram[:-1], []).append(gram)
        self.discounts = [self.discount(n) for n in range(1, order + 1)]

    def count(self, gram):
        if "kneser_ney" in self.smoothing and len(gram) < self.order and (len(gram) == 1 or gram[0] != self.bos):
            return self.before[gram]
        return self.raw[gram]

    def discount(self, n):
        of = Counter(self.count(gram) for gram in self.raw if len(gram) == n)
        if self.smoothing in ("absolute_discounting", "kneser_ney"):
            return [of[1] / (of[1] + 2 * of[2])] if of[1] and of[2] else [0.5]
        if self.smoothing == "modified_kneser_ney":
            if of[1] and of[2] and of[3]:
                y = of[1] / (of[1] + 2 * of[2])
                found = [1 - 2 * y * of[2] / of[1], 2 - 3 * y * of[3] / of[2], 3 - 4 * y * of[4] / of[3]]
                if all(0 <= d <= k for k, d in enumerate(found, 1)):
                    return found
            return [0.5, 1.0, 1.5]
        return [0.0]

    def prob(self, word, context):
        if word not in self.events:
            return 0.0
        context = tuple(context)[max(len(context) - self.order + 1, 0) :] if self.order > 1 else ()
        return self.recurse(word, context)

    def recurse(self, word, context):
        size, n = len(self.events), len(context) + 1
        grams = self.followers.get(context, [])
        total = sum(self.count(gram) for gram in grams)
        if self.smoothing == "add_alpha":
            if n < self.order and context[:1] != (self.bos,):
                return 1 / size
            dropped = [gram for gram in grams if gram in self.pruned]
            lost = sum(self.raw[gram] for gram in dropped) / size  # shared by all events
            count = 0 if (*context, word) in dropped else self.raw[(*context, word)]
            return (count + self.alpha + lost) / (total + self.alpha * size)
        shorter = 1 / size if n == 1 else self.recurse(word, context[1:])
        if total == 0:
            return shorter
        seen = {gram[-1]: 0.0 if gram in self.pruned else self.discounted(gram) / total for gram in grams}
        return seen.get(word, 0.0) + (1 - sum(seen.values())) * shorter

    def discounted(self, gram):
        count, n = self.count(gram), len(gram)
        if self.smoothing == "jelinek_mercer":
            return self.weights[n - 1] * count
        discounts = self.discounts[n - 1]
        return max(count - discounts[min(count, len(discounts)) - 1], 0)
