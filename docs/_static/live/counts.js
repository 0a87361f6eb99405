"use strict";
// Counts of n-grams and what the smoothings make of them (slides Y:156-225).
//
// With c(hw) the count of an n-gram, h' the context h without its first word, and |V| the number of words that can follow:
//
//     P(w | h) = kept(hw) / C(h) + γ(h) P(w | h'),      P(w | no context) = kept(w) / C + γ / |V|
//     γ(h) = 1 - Σ_w kept(hw) / C(h):  what the words that were seen after h leave to the shorter context
//
// A text is <s> w_1 ... w_L </s>. <s> is context only; </s> and <unk>, any word that the texts lack, are predicted.

/** The counts of all n-grams of texts, each a list of words: `after(h)` is a Map from word to count. */
class Counts {
  constructor(texts, order) {
    this.order = order;
    this.words = new Set(["<unk>", "</s>"]);
    this.tables = Array.from({ length: order + 1 }, () => new Map()); // tables[n]: context of n - 1 words -> its followers
    for (const text of texts) {
      const stream = ["<s>", ...text, "</s>"];
      for (let end = 1; end < stream.length; end++) {
        this.words.add(stream[end]);
        for (let n = 1; n <= Math.min(order, end + 1); n++) this.add(n, stream.slice(end - n + 1, end), stream[end]);
      }
    }
  }
  add(n, context, word) {
    const key = context.join(" ");
    if (!this.tables[n].has(key)) this.tables[n].set(key, new Map());
    const followers = this.tables[n].get(key);
    followers.set(word, (followers.get(word) ?? 0) + 1);
  }
  /** The words after a context with their counts; undefined where nothing followed it. */
  after(context) {
    return this.tables[context.length + 1]?.get(context.join(" "));
  }

  /** The words of a text that the counts know; <unk> in place of the others. */
  known(text) {
    return text.map((word) => (this.words.has(word) ? word : "<unk>"));
  }
}

/** The counts of Kneser-Ney: below the highest order, how many different words come before hw. After <s> nothing does. */
class PrecedingWords extends Counts {
  constructor(counts) {
    super([], counts.order);
    this.words = counts.words;
    this.tables[this.order] = counts.tables[this.order];
    for (let n = this.order; n > 1; n--) {
      for (const [key, followers] of counts.tables[n]) {
        const context = key.split(" ");
        for (const word of followers.keys()) this.add(n - 1, context.slice(1), word);
        if (n < this.order && context[0] === "<s>") this.tables[n].set(key, followers);
      }
    }
  }
}

/** What all smoothings here share: P(w | h) = kept(hw) / C(h) + γ(h) P(w | h'). */
class Interpolation {
  constructor(counts) {
    this.counts = counts;
    this.sums = new Map();
  }

  /** The part of a count that stays with the word; n is the length of the n-gram. */
  kept(count, n) {
    return count;
  }
  /** C(h), from the sum of the counts and the number T(h) of different words. */
  total(sum, different, context) {
    return sum;
  }

  /** {total, gamma} of a context: C(h) and γ(h). Where nothing followed it, the shorter context has all the probability. */
  left(context) {
    const key = context.join(" ");
    if (!this.sums.has(key)) this.sums.set(key, this.computeLeft(context));
    return this.sums.get(key);
  }
  computeLeft(context) {
    const followers = this.counts.after(context);
    if (!followers) return { total: 0, gamma: 1 };
    let sum = 0,
      kept = 0;
    for (const count of followers.values()) {
      sum += count;
      kept += this.kept(count, context.length + 1);
    }
    const total = this.total(sum, followers.size, context);
    return total ? { total, gamma: Math.max(0, (total - kept) / total) } : { total: 0, gamma: 1 };
  }
  /** P(w | h), with the last words of `context` as h. */
  prob(word, context) {
    return this.probAfter(word, this.counts.order > 1 ? context.slice(1 - this.counts.order) : []);
  }
  probAfter(word, context) {
    const { total, gamma } = this.left(context);
    const shorter =
      gamma === 0 ? 0 : context.length ? this.probAfter(word, context.slice(1)) : 1 / this.counts.words.size;
    const count = this.counts.after(context)?.get(word) ?? 0;
    return (total ? this.kept(count, context.length + 1) / total : 0) + gamma * shorter;
  }
  /** Perplexity exp(-1/N Σ ln P(w | h)) of the words and ends of texts; infinite if one has no probability. */
  perplexity(texts) {
    let sum = 0,
      events = 0;
    for (const text of texts) {
      const stream = ["<s>", ...this.counts.known(text), "</s>"];
      for (let at = 1; at < stream.length; at++) {
        sum -= Math.log(this.prob(stream[at], stream.slice(0, at)));
        events++;
      }
    }
    return Math.exp(sum / events);
  }
}

/** Relative frequencies:  P(w | h) = c(hw) / c(h). An h that never occurred uses its longest end that did. */
class MaximumLikelihood extends Interpolation {}

/** Add-α:  P(w | h) = (c(hw) + α) / (c(h) + α |V|), for whole contexts alone; after any other one, 1 / |V|. */
class AddAlpha extends Interpolation {
  constructor(counts, alpha) {
    super(counts);
    this.alpha = alpha;
  }
  total(sum, different, context) {
    const whole = context.length === this.counts.order - 1 || context[0] === "<s>";
    return whole ? sum + this.alpha * this.counts.words.size : 0;
  }
}

/** Jelinek-Mercer:  P(w | h) = λ c(hw) / c(h) + (1 - λ) P(w | h'),  here with one λ for all orders. */
class JelinekMercer extends Interpolation {
  constructor(counts, lambda) {
    super(counts);
    this.lambda = lambda;
  }
  kept(count) {
    return this.lambda * count;
  }
}

/** Witten-Bell:  C(h) = c(h) + T(h), with T(h) the number of different words after h: each was new once. */
class WittenBell extends Interpolation {
  total(sum, different) {
    return sum + different;
  }
}

/** Absolute discounting:  kept(hw) = max(c(hw) - D, 0)  (Ney, Essen, Kneser 1994). */
class AbsoluteDiscounting extends Interpolation {
  /** `discount` is one D for all orders; without it, D = n_1 / (n_1 + 2 n_2) of each order, n_k the n-grams with count k. */
  constructor(counts, discount) {
    super(counts);
    this.discounts = counts.tables.map((table) => discount ?? estimateDiscount(table));
  }
  kept(count, n) {
    return Math.max(count - this.discounts[n], 0);
  }
}

/** Kneser-Ney (1995): absolute discounting; below the highest order, c(hw) is the number of different words before hw. */
class KneserNey extends AbsoluteDiscounting {
  constructor(counts, discount) {
    super(new PrecedingWords(counts), discount);
  }
}

/** D = n_1 / (n_1 + 2 n_2); 0.5 where no n-gram has the count 1, or none the count 2. */
function estimateDiscount(table) {
  let once = 0,
    twice = 0;
  for (const followers of table.values()) {
    for (const count of followers.values()) {
      once += count === 1;
      twice += count === 2;
    }
  }
  return once && twice ? once / (once + 2 * twice) : 0.5;
}
