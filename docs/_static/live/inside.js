"use strict";
// What is inside the models of the page "What comes next?", after the words that a TextReader has read. Each class has
// an element `box`, and a function `draw` that fills it.

const MAP_ROWS = 10;

/** A token as the page shows it. */
const nextWordShown = (token) => ({ "<unk>": "(rare word)", "</s>": "(end)", "<s>": "(start)" })[token] ?? token;

const NEXT_WORD_NUMBERS = new Intl.NumberFormat("en");
const NEXT_WORD_LARGE = new Intl.NumberFormat("en", { notation: "compact", compactDisplay: "long" });
/** "8.25", "1,020", "12 million": a perplexity, or the n of 1 in n. */
function nextWordNumber(value) {
  if (!Number.isFinite(value)) return "∞";
  const rounded = Number(value.toPrecision(3));
  return (value < 1e6 ? NEXT_WORD_NUMBERS : NEXT_WORD_LARGE).format(rounded);
}

/** The names of the words that a reader has read, with those before the text. */
const readNames = ({ ids, tokenizer }) => ids.map((id) => nextWordShown(tokenizer.tokens[id]));

/** A place for something wide, which scrolls; the arrow keys scroll it too. */
function nextWordWide(label, child) {
  return element("div", { className: "live-wide", tabIndex: 0, role: "group", "aria-label": label }, child);
}

/** Inside an n-gram model: from n-grams of which length the probabilities come. */
class NextWordBackOff {
  constructor(reader, { order }) {
    Object.assign(this, { reader, order });
    this.table = element("table", { className: "next-word-back-off" });
    this.said = softText("");
    this.box = element("div", {}, nextWordWide("Where the probabilities come from", this.table), this.said);
  }

  draw(shown) {
    const { lengths, words, mass } = this.count();
    const names = readNames(this.reader);
    const lines = Array.from({ length: this.order }, (_, i) => this.order - i).filter((n) => n - 1 <= names.length);
    const rows = lines.map((n) => {
      const context = n > 1 ? `“${names.slice(1 - n).join(" ")}”` : "any words";
      const cells = [context, words[n] ? NEXT_WORD_NUMBERS.format(words[n]) : "never seen", percent(mass[n])];
      const head = element("th", { scope: "row", textContent: `${n}-grams` });
      return element("tr", {}, head, ...cells.map((textContent) => element("td", { textContent })));
    });
    const titles = ["Counted", "after", "words", "together"];
    const heads = titles.map((textContent) => element("th", { scope: "col", textContent }));
    this.table.replaceChildren(element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
    const quoted = (w) => `“${nextWordShown(this.reader.tokenizer.tokens[w])}”`;
    const sources = lines.map((n) => [n, shown.filter((w) => lengths[w] === n)]).filter(([, found]) => found.length);
    const parts = sources.map(([n, found]) => `from ${n}-grams ${found.map(quoted).join(" ")}`);
    this.said.textContent = parts.length ? `Of the bars above: ${parts.join("; ")}.` : "";
  }

  /** {lengths, words, mass}: of each word the length of its n-gram; of each length its words and their probability. */
  count() {
    const { model, logProbs, states } = this.reader;
    const { lengths } = model.distribution(states.at(-1));
    const words = new Array(this.order + 1).fill(0);
    const mass = new Array(this.order + 1).fill(0);
    logProbs.forEach((value, w) => {
      if (value === -Infinity) return;
      words[lengths[w]]++;
      mass[lengths[w]] += Math.exp(value);
    });
    return { lengths, words, mass };
  }
}

/** Inside an LSTM: the numbers of its memory c. */
class NextWordCells {
  constructor(reader, { num_hidden_layers: layers }) {
    Object.assign(this, { reader, layer: layers - 1 });
    this.picture = svgElement("svg", { role: "img", preserveAspectRatio: "none", class: "next-word-cells" });
    const names = ["next-word-above", "next-word-below", "next-word-zero"];
    this.paths = names.map((name) => svgElement("path", { class: name }));
    this.picture.append(...this.paths);
    this.said = softText("");
    this.box = element("div", {}, this.picture, this.said);
    const onChange = (value) => {
      this.layer = Number(value);
      this.draw();
    };
    const chosen = choice({ label: "Layer", options: numbered(layers), value: String(this.layer), onChange });
    if (layers > 1) this.box.prepend(chosen.box);
  }

  draw() {
    const { states } = this.reader;
    const [before, c] = states.slice(-2).map((state) => state[this.layer].c);
    const largest = Math.max(...c.map(Math.abs)) || 1;
    const bars = (sign) => Array.from(c, (value, j) => (value * sign > 0 ? `M${j} 0h.8v${-value / largest}h-.8z` : ""));
    const lines = [bars(1).join(""), bars(-1).join(""), `M0 0h${c.length}`];
    this.paths.forEach((path, i) => path.setAttribute("d", lines[i]));
    this.picture.setAttribute("viewBox", `0 -1.05 ${c.length} 2.1`);
    this.picture.setAttribute("aria-label", `${c.length} bars, the numbers of the memory c`);
    const change = c.map((value, j) => Math.abs(value - before[j]));
    const most = indexOfLargest(change);
    const [from, to] = [before, c].map((memory) => decimal(memory[most]));
    this.said.textContent =
      `The memory c: ${c.length} numbers, a bar each, up to ±${largest.toFixed(1)}. ` +
      `“${readNames(this.reader).at(-1)}” changed number ${most + 1} most, from ${from} to ${to}.`;
  }
}

/** Inside a self-attention model: where each of the last words looks. */
class NextWordMap {
  constructor(reader, { num_hidden_layers: layers, num_attention_heads: heads }) {
    Object.assign(this, { reader, layer: String(layers - 1), head: "mean" });
    const choose = (name) => (value) => {
      this[name] = value;
      this.draw();
    };
    const layer = choice({ label: "Layer", options: numbered(layers), value: this.layer, onChange: choose("layer") });
    const options = [["mean", "mean of all"], ...numbered(heads)];
    const head = choice({ label: "Head", options, value: this.head, onChange: choose("head") });
    this.table = element("table", { className: "next-word-map" });
    this.said = softText("");
    const fields = element("div", { className: "live-fields" }, layer.box, head.box);
    this.box = element("div", {}, fields, nextWordWide("Attention weights in percent", this.table), this.said);
  }

  /** The weights a of the token at position t, on all before and on itself. */
  weights(t) {
    const heads = this.reader.states[t + 1].maps[Number(this.layer)];
    if (this.head !== "mean") return heads[Number(this.head)];
    return heads[0].map((_, s) => heads.reduce((sum, a) => sum + a[s], 0) / heads.length);
  }

  draw() {
    const names = readNames(this.reader);
    const first = Math.max(0, names.length - MAP_ROWS);
    const places = [...names.keys()].slice(first);
    const heading = (scope, t) => element("th", { scope }, element("span", { textContent: names[t] }));
    const rows = places.map((t) => {
      const a = this.weights(t);
      return element("tr", {}, heading("row", t), ...places.map((s) => this.cell(s > t ? null : a[s])));
    });
    const heads = element("tr", {}, element("td", {}), ...places.map((s) => heading("col", s)));
    this.table.replaceChildren(element("thead", {}, heads), element("tbody", {}, ...rows));
    const last = this.weights(names.length - 1);
    const most = indexOfLargest(last);
    const cut = first ? ` Shown are the last ${places.length} of ${names.length}.` : "";
    this.said.textContent =
      `Each row is a word, and says in percent where it looks.${cut} ` +
      `“${names.at(-1)}” looks most at “${names[most]}”, ${percent(last[most])}.`;
  }

  /** A cell with a weight in percent; empty for a later word, which is not seen. */
  cell(weight) {
    if (weight === null) return element("td", {});
    const background = `color-mix(in srgb, var(--live-colour) ${Math.round(45 * weight)}%, transparent)`;
    return element("td", { textContent: Math.round(100 * weight), style: { background } });
  }
}
