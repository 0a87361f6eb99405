"use strict";
// The numbers of one head at one word, and where each comes from:
//   score(s) = q · k_s / √size + bias(t - s),   a = softmax(score),   o = Σ_s a(s) v_s            (R:782-834, Y:485-514)

/** The numbers of a head at the word that made `state`: {size, q, rows, o}; a row for each word s ≤ t has {distance, k, v, dot, bias, score, a, av}. */
function attentionNumbers(model, state, layer, head) {
  const { q: allQ, keys, values, scores } = state.inside[layer];
  const size = model.width / model.heads;
  const ofHead = (vector) => vector.slice(head * size, (head + 1) * size);
  const q = ofHead(allQ), o = new Float64Array(size);
  const rows = keys.map((key, s) => {
    const k = ofHead(key), v = ofHead(values[s]), a = state.maps[layer][head][s], score = scores[head][s];
    const dot = q.reduce((sum, value, j) => sum + value * k[j], 0);
    const av = v.map((value) => a * value);
    av.forEach((value, j) => { o[j] += value; });
    return { distance: keys.length - 1 - s, k, v, dot, bias: score - dot / Math.sqrt(size), score, a, av };
  });
  return { size, q, rows, o };
}

/** Reads texts with some heads left out (see SelfAttention.next), and keeps what it has read: a text that goes on is not read anew. */
class KeptReading {
  constructor(model, off) {
    Object.assign(this, { model, off, ids: [], states: [] });
  }
  /** The state after each word. */
  read(ids) {
    let same = 0;
    while (same < ids.length && ids[same] === this.ids[same]) same++;
    this.states.length = same;
    for (const id of ids.slice(same)) this.states.push(this.model.next(this.states.at(-1) ?? this.model.start(), id, this.off));
    this.ids = ids;
    return this.states;
  }
}

/** A reading for each head of each layer, which leaves out this head alone: [layer][head]. */
function readingsWithoutEach(model) {
  return model.layers.map((_, layer) => Array.from({ length: model.heads }, (_, head) => {
    const off = [];
    off[layer] = [];
    off[layer][head] = true;
    return new KeptReading(model, off);
  }));
}

/** A number with so many decimals and a minus of its own width. */
const decimal = (x, places = 2) => { const text = x.toFixed(places); return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−"); };
/** A vector; components after the first `most` are folded to an ellipsis. */
const vectorText = (x, most = x.length) => `[${Array.from(x.slice(0, most), (value) => decimal(value)).join("  ")}${most < x.length ? " …" : ""}]`;
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

/** Where the number of a cell comes from, in lines; `words` are the words of the rows, `place` names layer, head and heads (from 1). */
function explainAttention(column, s, numbers, words, { kind, layer, head, heads, slope }) {
  const { size, q, rows, o } = numbers;
  const row = rows[s], word = `“${words[s]}”`, asking = `“${words.at(-1)}”`;
  const root = Math.sqrt(size);
  const terms = (values) => values.join(" + ");
  return {
    q: () => [`q = W_q h + b_q  with h, the vector of ${asking} that layer ${layer} reads; the ${size} numbers of head ${head}:`, `q = ${vectorText(q)}`],
    k: () => [`k = W_k h + b_k  with h, the vector of ${word} that layer ${layer} reads; the ${size} numbers of head ${head}:`, `k = ${vectorText(row.k)}`],
    dot: () => [`q of ${asking} times k of ${word}, number by number, over √${size} = ${decimal(root, 3)}:`,
      `(${terms(Array.from(q, (value, j) => `${factor(value)}·${factor(row.k[j])}`))}) / ${decimal(root, 3)} = ${decimal(row.dot, 3)} / ${decimal(root, 3)} = ${decimal(row.dot / root, 3)}`],
    bias: () => explainDistance(kind, row, head, heads, slope),
    score: () => [`q·k / √${size} and what the distance adds:`, `${decimal(row.dot / root, 3)} + ${factor(row.bias)} = ${decimal(row.score, 3)}`],
    a: () => [`softmax: e to the score of ${word}, over the sum of these powers for all ${rows.length} words, so that the weights sum to 1:`,
      softmaxLine(rows, s)],
    av: () => [`v = W_v h + b_v of ${word}, times its weight a:`, `${decimal(row.a, 3)} · ${vectorText(row.v)} = ${vectorText(row.av)}`],
    sum: () => [`The weights sum to one:`, `${terms(rows.map((one) => decimal(one.a, 3)))} = ${decimal(rows.reduce((sum, one) => sum + one.a, 0), 3)}`],
    o: () => [`o = Σ a v, the sum of the column, number by number; the first one:`,
      `${terms(rows.map((one) => factor(one.av[0])))} = ${decimal(o[0], 3)}`, `o = ${vectorText(o)}`,
      `The ${heads} heads' o side by side, times the layer's output matrix, are added to the vector of ${asking}.`],
  }[column]();
}

function explainDistance(kind, row, head, heads, slope) {
  const words = `${row.distance} ${row.distance === 1 ? "word" : "words"}`;
  if (kind === "alibi") return [`ALiBi: the slope m of head ${head} of ${heads}, times the distance of ${words}, is taken off:`, `−${slope} · ${row.distance} = ${decimal(row.bias, 3)}`];
  if (kind === "relative") return [`A trained number of head ${head} for a distance of ${words}: ${decimal(row.bias, 3)}`];
  return ["This model knows positions from its word vectors, and adds nothing here."];
}

/** a as a quotient in numbers; the largest score is taken off all, which changes nothing and keeps the powers small. */
function softmaxLine(rows, s) {
  const largest = Math.max(...rows.map((row) => row.score));
  const powers = rows.map((row) => Math.exp(row.score - largest));
  const exponent = `e^(${decimal(rows[s].score, 3)} − ${factor(largest)})`;
  return `${exponent} / (${powers.map((value) => decimal(value, 3)).join(" + ")}) = ${decimal(powers[s], 3)} / ${decimal(powers.reduce((x, y) => x + y), 3)} = ${decimal(rows[s].a, 3)}`;
}
