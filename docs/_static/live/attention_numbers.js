"use strict";
// The numbers of one head at one word, and where each comes from:
//   score(s) = q · k_s / √size + bias(t - s),   a = softmax(score),   o = Σ_s a(s) v_s        (R:782-834, Y:485-514)

/**
 * The numbers of a head at the word that made `state`: {size, q, rows, o}. A row, for each word s ≤ t, has
 * {distance, k, v, dot, bias, score, a, av}.
 */
function attentionNumbers(model, state, layer, head) {
  const { q: allQ, keys, values, scores } = state.inside[layer];
  const size = model.width / model.heads;
  const ofHead = (vector) => vector.slice(head * size, (head + 1) * size);
  const q = ofHead(allQ);
  const o = new Float64Array(size);
  const rows = keys.map((key, s) => {
    const k = ofHead(key);
    const v = ofHead(values[s]);
    const a = state.maps[layer][head][s];
    const score = scores[head][s];
    const dot = q.reduce((sum, value, j) => sum + value * k[j], 0);
    const av = v.map((value) => a * value);
    av.forEach((value, j) => {
      o[j] += value;
    });
    return { distance: keys.length - 1 - s, k, v, dot, bias: score - dot / Math.sqrt(size), score, a, av };
  });
  return { size, q, rows, o };
}

/** Reads texts, and keeps the states: a text that goes on is not read anew. `off` are heads that are left out. */
class KeptReading {
  constructor(model, off) {
    Object.assign(this, { model, off, ids: [], states: [] });
  }
  /** The state after each word. */
  read(ids) {
    let same = 0;
    while (same < ids.length && ids[same] === this.ids[same]) same++;
    this.states.length = same;
    for (const id of ids.slice(same))
      this.states.push(this.model.next(this.states.at(-1) ?? this.model.start(), id, this.off));
    this.ids = ids;
    return this.states;
  }
}

/** A reading for each head of each layer, which leaves out this head alone: [layer][head]. */
function readingsWithoutEach(model) {
  return model.layers.map((_, layer) =>
    Array.from({ length: model.heads }, (_, head) => {
      const off = [];
      off[layer] = [];
      off[layer][head] = true;
      return new KeptReading(model, off);
    }),
  );
}

/** A vector; components after the first `most` are folded to an ellipsis. */
const vectorText = (x, most = x.length) =>
  `[${Array.from(x.slice(0, most), (value) => decimal(value)).join("  ")}${most < x.length ? " …" : ""}]`;
/** A factor, in brackets where it is negative. */
const factor = (x) => (x < 0 ? `(${decimal(x, 3)})` : decimal(x, 3));

/** The columns of the table of a head. */
const ATTENTION_COLUMNS = {
  k: { head: () => "k", show: (row) => vectorText(row.k, 2) },
  dot: { head: ({ size }) => `q·k / √${size}`, show: (row, { size }) => decimal(row.dot / Math.sqrt(size)) },
  bias: { head: () => "distance", show: (row) => decimal(row.bias) },
  score: { head: () => "score", show: (row) => decimal(row.score) },
  a: { head: () => "a", show: (row) => decimal(row.a, 3) },
  av: { head: () => "a v", show: (row) => vectorText(row.av, 2) },
};

/**
 * Where the number of a cell comes from, in lines: what it is, then the sum in numbers. `words` are the words of the
 * rows; `place` is {kind, layer, head, heads, slope}, with the kind of positions, and layer and head counted from 1.
 */
function explainAttention(column, s, numbers, words, place) {
  const asking = `“${words.at(-1)}”`;
  const ofHead = `that layer ${place.layer} reads; the ${numbers.size} numbers of head ${place.head}:`;
  if (column === "q")
    return [`q = W_q h + b_q  with h, the vector of ${asking} ${ofHead}`, `q = ${vectorText(numbers.q)}`];
  if (column === "sum") return explainSum(numbers.rows);
  if (column === "o") return explainOutput(numbers, asking, place);
  const row = numbers.rows[s],
    word = `“${words[s]}”`,
    root = Math.sqrt(numbers.size);
  if (column === "k") return [`k = W_k h + b_k  with h, the vector of ${word} ${ofHead}`, `k = ${vectorText(row.k)}`];
  if (column === "dot") return explainProduct(numbers, row, asking, word);
  if (column === "bias") return explainDistance(row, place);
  if (column === "a") return explainSoftmax(numbers.rows, s, word);
  if (column === "av")
    return [
      `v = W_v h + b_v of ${word}, times its weight a:`,
      `${decimal(row.a, 3)} · ${vectorText(row.v)} = ${vectorText(row.av)}`,
    ];
  const sum = `${decimal(row.dot / root, 3)} + ${factor(row.bias)} = ${decimal(row.score, 3)}`;
  return [`q·k / √${numbers.size} and what the distance adds:`, sum];
}

function explainProduct({ size, q }, { k, dot }, asking, word) {
  const root = decimal(Math.sqrt(size), 3);
  const products = Array.from(q, (value, j) => `${factor(value)}·${factor(k[j])}`).join(" + ");
  const quotient = `${decimal(dot, 3)} / ${root} = ${decimal(dot / Math.sqrt(size), 3)}`;
  return [
    `q of ${asking} times k of ${word}, number by number, over √${size} = ${root}:`,
    `(${products}) / ${root} = ${quotient}`,
  ];
}

function explainSum(rows) {
  const sum = rows.reduce((total, { a }) => total + a, 0);
  return ["The weights sum to one:", `${rows.map(({ a }) => decimal(a, 3)).join(" + ")} = ${decimal(sum, 3)}`];
}

function explainOutput({ rows, o }, asking, { heads }) {
  return [
    "o = Σ a v, the sum of the column, number by number; the first one:",
    `${rows.map(({ av }) => factor(av[0])).join(" + ")} = ${decimal(o[0], 3)}`,
    `o = ${vectorText(o)}`,
    `The ${heads} heads' o side by side, times the layer's output matrix, are added to the vector of ${asking}.`,
  ];
}

function explainDistance({ distance, bias }, { kind, head, heads, slope }) {
  const words = `${distance} ${distance === 1 ? "word" : "words"}`;
  if (kind === "alibi")
    return [
      `ALiBi: the slope m of head ${head} of ${heads}, times the distance of ${words}, is taken off:`,
      `−${slope} · ${distance} = ${decimal(bias, 3)}`,
    ];
  if (kind === "relative") return [`A trained number of head ${head} for a distance of ${words}: ${decimal(bias, 3)}`];
  return ["This model adds nothing here: it knows no positions, or has them in the vectors of its words."];
}

/** a as a quotient; the largest score is taken off all, which changes nothing and keeps the powers small. */
function explainSoftmax(rows, s, word) {
  const largest = Math.max(...rows.map((row) => row.score));
  const powers = rows.map((row) => Math.exp(row.score - largest));
  const all = decimal(
    powers.reduce((x, y) => x + y),
    3,
  );
  const terms = powers.map((value) => decimal(value, 3)).join(" + ");
  const power = `e^(${decimal(rows[s].score, 3)} − ${factor(largest)})`;
  return [
    `softmax: e to the score of ${word}, over the sum of these powers for all ${rows.length} words:`,
    `${power} / (${terms}) = ${decimal(powers[s], 3)} / ${all} = ${decimal(rows[s].a, 3)}`,
    "The largest score is taken off all of them first, which changes nothing.",
  ];
}
