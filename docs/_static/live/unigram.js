"use strict";
// Learning the pieces of a unigram model (slide Y:402; Kudo 2018). The pieces of a word are independent,
//
//     P(x_1 ... x_m) = p(x_1) ... p(x_m),
//
// and p is found by expectation-maximization over all segmentations of all words:
//
//     E    q(e) = forward(begin of e) p(piece of e) backward(end of e) / P(word):  the probability that the word's
//          segmentation takes the edge e, which leads over one piece
//     M    p(x) = Σ q over the edges of x / Σ q over all edges
//
// It begins with all strings that occur twice. Every two steps, a quarter of the pieces goes: those without which the
// likelihood falls least, by Σ -ln(1 - q). Single letters stay.

/** All segmentations of words over pieces: each word is {weight, length, edges: [{begin, end, piece}]}, sorted by begin. */
class SegmentedWords {
  constructor(counts, numbers, longest) {
    this.words = [...counts].map(([word, weight]) => {
      const letters = Array.from(word),
        edges = [];
      for (let begin = 0; begin < letters.length; begin++) {
        let text = "";
        for (let end = begin + 1; end <= Math.min(letters.length, begin + longest); end++) {
          text += letters[end - 1];
          if (numbers.has(text)) edges.push({ begin, end, piece: numbers.get(text) });
        }
      }
      return { weight, length: letters.length, edges };
    });
  }
  /** One step of expectation-maximization: {probs, losses} of the pieces. The least expected count of a letter is 1/2. */
  step(probs, isLetter) {
    const expected = new Float64Array(probs.length),
      losses = new Float64Array(probs.length);
    for (const { weight, length, edges } of this.words) {
      const { forward, backward } = this.sums(length, edges, probs);
      for (const { begin, end, piece } of edges) {
        const q = Math.min(1, (forward[begin] * probs[piece] * backward[end]) / forward[length]);
        expected[piece] += weight * q;
        losses[piece] -= weight * Math.log(Math.max(1 - q, Number.EPSILON));
      }
    }
    for (const piece of expected.keys()) if (isLetter[piece]) expected[piece] = Math.max(expected[piece], 0.5);
    const sum = expected.reduce((a, b) => a + b, 0);
    return { probs: expected.map((value) => value / sum), losses };
  }
  /** The sums of the probabilities of all ways from the word's begin to each place, and from there to its end. */
  sums(length, edges, probs) {
    const forward = new Float64Array(length + 1),
      backward = new Float64Array(length + 1);
    forward[0] = backward[length] = 1;
    for (const { begin, end, piece } of edges) forward[end] += forward[begin] * probs[piece];
    for (let at = edges.length - 1; at >= 0; at--)
      backward[edges[at].begin] += probs[edges[at].piece] * backward[edges[at].end];
    return { forward, backward };
  }
}

/** The first pieces, letters before longer strings: {pieces, counts}. Strings that occur once are left out. */
function seedPieces(counts, forbidden, longest) {
  const found = new Map();
  for (const [word, weight] of counts) {
    const letters = Array.from(word);
    for (let begin = 0; begin < letters.length; begin++) {
      for (let length = 1; length <= Math.min(longest, letters.length - begin); length++) {
        const text = letters.slice(begin, begin + length).join("");
        const entry = found.get(text) ?? { text, length, count: 0 };
        entry.count += weight;
        found.set(text, entry);
      }
    }
  }
  const kept = [...found.values()].filter(
    ({ text, length, count }) => length === 1 || (count >= 2 && !forbidden.includes(text)),
  );
  kept.sort((a, b) => a.length - b.length || (isBefore(a.text, b.text) ? -1 : 1));
  return {
    pieces: kept.map((one) => one.text),
    counts: kept.map((one) => one.count),
    isLetter: kept.map((one) => one.length === 1),
  };
}

/**
 * The pieces of words, [[piece, ln p]]: letters first, then the most probable ones, `size` in all, or fewer where too few
 * strings occur twice. `counts` is a Map from word to count.
 */
function learnUnigram(counts, size, longest = 16) {
  let { pieces, counts: occurrences, isLetter } = seedPieces(counts, SPECIAL_TOKENS, longest);
  const all = occurrences.reduce((a, b) => a + b, 0);
  let probs = Float64Array.from(occurrences, (count) => count / all);
  for (;;) {
    const words = new SegmentedWords(counts, new Map(pieces.map((piece, number) => [piece, number])), longest);
    const isLast = pieces.length <= size;
    let losses;
    for (let step = 0; step < (isLast ? 4 : 2); step++) ({ probs, losses } = words.step(probs, isLetter));
    if (isLast) break;
    const kept = worthKeeping(losses, isLetter, Math.max(size, Math.floor(pieces.length * 0.75)));
    pieces = kept.map((number) => pieces[number]);
    isLetter = kept.map((number) => isLetter[number]);
    const sum = kept.reduce((total, number) => total + probs[number], 0);
    probs = Float64Array.from(kept, (number) => probs[number] / sum);
  }
  const order = [...pieces.keys()].sort(
    (a, b) => isLetter[b] - isLetter[a] || (isLetter[a] ? a - b : probs[b] - probs[a]),
  );
  return order.map((number) => [pieces[number], Math.log(probs[number])]);
}

/** The numbers of the letters, and of the pieces with the greatest losses, `size` in all, in ascending order. */
function worthKeeping(losses, isLetter, size) {
  const letters = [...isLetter.keys()].filter((number) => isLetter[number]);
  const others = [...isLetter.keys()].filter((number) => !isLetter[number]).sort((a, b) => losses[b] - losses[a]);
  return [...letters, ...others.slice(0, Math.max(0, size - letters.length))].sort((a, b) => a - b);
}
