# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The smoothings once more, in dictionaries and recursion, straight from the papers: slow and easy to check."""

from __future__ import annotations

import math
from collections import Counter


class ReferenceNGram:
    """p(word | context) from lists of ids; `events` are the ids that can follow something."""

    def __init__(self, texts, order, smoothing, events, bos, eos, alpha=1.0, weights=None, prune=(0,), k=5):
        self.order, self.smoothing, self.events, self.bos = order, smoothing, events, bos
        self.alpha, self.weights, self.k = alpha, weights, k
        self.raw = Counter()
        for text in texts:
            row = (bos, *text, eos)
            for end in range(1, len(row)):
                for n in range(1, min(order, end + 1) + 1):
                    self.raw[row[end + 1 - n : end + 1]] += 1
        self.pruned = {g for g, c in self.raw.items() if c <= prune[min(len(g), len(prune)) - 1]}
        self.pruned.discard((eos,))
        self.before = Counter(gram[1:] for gram in self.raw if len(gram) > 1)
        self.followers = {}
        for gram in self.raw:
            self.followers.setdefault(gram[:-1], []).append(gram)
        self.discounts = [self.discount(n) for n in range(1, order + 1)]
        self.backed_off, self.ratios = {}, []
        if smoothing in ("katz", "good_turing"):
            for n in range(1, order + 1):
                of = Counter(count for gram, count in self.raw.items() if len(gram) == n)
                self.ratios.append(self.katz_ratios(of) if smoothing == "katz" else self.good_turing_ratios(of, n))

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

    def katz_ratios(self, of):
        k = max((k for k in range(1, self.k + 1) if of[k + 1]), default=0)
        ratios = Counter(dict.fromkeys(of, 1.0))
        for r in range(1, k + 1 if of[1] else 1):
            common, turing = (k + 1) * of[k + 1] / of[1], (r + 1) * of[r + 1] / (r * of[r]) if of[r] else 2
            if common != 1 and turing <= 1 and 3e-6 < (turing - common) / (1 - common) <= 1:
                ratios[r] = (turing - common) / (1 - common)
        return ratios

    def good_turing_ratios(self, of, n):
        counts = sorted(of)
        if len(counts) < 2 or counts[0] != 1:
            return dict.fromkeys(of, 1.0)
        before = [0, *counts[:-1]]
        after = [*counts[1:], 2 * counts[-1] - counts[-2]]
        xs = [math.log(r) for r in counts]
        ys = [math.log(2 * of[r] / (t - q)) for q, r, t in zip(before, counts, after, strict=True)]
        x, y = sum(xs) / len(xs), sum(ys) / len(ys)
        slope = sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / sum((a - x) ** 2 for a in xs)
        if slope > -1 - 1e-9:
            return dict.fromkeys(of, 1.0)
        ratios, on_the_line = {}, False
        for r in counts:
            line, turing = (r + 1) * (1 + 1 / r) ** slope, (r + 1) * of[r + 1] / of[r]
            spread = (r + 1) / of[r] * math.sqrt(of[r + 1] * (1 + of[r + 1] / of[r]))
            on_the_line |= of[r + 1] == 0 or abs(turing - line) <= 1.96 * spread
            ratios[r] = line / r if on_the_line else min(turing / r, 1)
        if n > 1:
            return ratios
        scale = (sum(r * of[r] for r in of) - of[1]) / sum(r * of[r] * ratios[r] for r in of)
        return {r: ratio * scale for r, ratio in ratios.items()}

    def back_off(self, context):
        """Probabilities of what was seen after a context, and the weight of all else."""
        if context not in self.backed_off:
            grams = self.followers[context]
            total = sum(self.raw[gram] for gram in grams)
            kept = [gram for gram in grams if gram not in self.pruned]
            if self.smoothing == "witten_bell_backoff":
                total += len(grams)
                seen = {gram[-1]: self.raw[gram] for gram in kept}
                if len(seen) == len(self.events) and not context:
                    left = (total - sum(seen.values())) / len(seen)
                    seen = {word: count + left for word, count in seen.items()}
            else:
                seen = {gram[-1]: self.ratios[len(context)][self.raw[gram]] * self.raw[gram] for gram in kept}
            if len(seen) == len(self.events):
                total = sum(seen.values())
            elif sum(seen.values()) > total * (1 - 3e-6):
                total += 1
            seen = {word: count / total for word, count in seen.items()}
            others = [word for word in self.events if word not in seen]
            free = sum(self.recurse(w, context[1:]) if context else 1 / len(self.events) for w in others)
            self.backed_off[context] = seen, (1 - sum(seen.values())) / free if others else 1.0
        return self.backed_off[context]

    def recurse_back_off(self, word, context):
        if self.smoothing == "stupid_backoff":
            grams = self.followers.get(context, []) if (*context, word) not in self.pruned else []
            if (*context, word) in grams:
                return self.raw[*context, word] / sum(self.raw[gram] for gram in grams)
            return self.alpha * self.recurse(word, context[1:]) if context else 0.0
        if context not in self.followers:
            return self.recurse(word, context[1:])
        seen, weight = self.back_off(context)
        shorter = self.recurse(word, context[1:]) if context else 1 / len(self.events)
        return seen.get(word, weight * shorter)

    def recurse(self, word, context):
        if self.smoothing in ("katz", "good_turing", "stupid_backoff", "witten_bell_backoff"):
            return self.recurse_back_off(word, context)
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
        if self.smoothing == "witten_bell":
            total += len(grams)
        seen = {gram[-1]: 0.0 if gram in self.pruned else self.discounted(gram) / total for gram in grams}
        return seen.get(word, 0.0) + (1 - sum(seen.values())) * shorter

    def discounted(self, gram):
        count, n = self.count(gram), len(gram)
        if self.smoothing == "jelinek_mercer":
            return self.weights[n - 1] * count
        discounts = self.discounts[n - 1]
        return max(count - discounts[min(count, len(discounts)) - 1], 0)
