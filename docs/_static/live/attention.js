"use strict";
// Attention by hand: all numbers of a head for a word of the reader's text, and the next word with heads switched off.

const MOST_WORDS = 40;
const MOST_LETTERS = 20; // of a word; the rest is not shown
const NEXT_WORDS = 8;
const ATTENTION_TEXTS = ["the old cat saw the mouse and the "];

/** The page: a model, the reader's text, and the word, layer and head that are looked at. */
class AttentionPage {
  constructor(root, { title, seen, config, tensors, tokenizer }) {
    this.root = root;
    this.about = [`${title}: ${seen}.`, LIVE.about, `The page reads the first ${MOST_WORDS} words.`]
      .filter(Boolean)
      .join(" ");
    this.model = new SelfAttention(readSafetensors(fromBase64(tensors)), config);
    this.tokenizer = new WordTokenizer(LIVE.tokenizers[tokenizer]);
    this.kind = config.position_encoding;
    this.layer = this.head = 0;
    this.off = this.model.layers.map(() => Array(this.model.heads).fill(false));
    this.cell = { column: "a", s: 0 };
    this.reading = {
      full: new KeptReading(this.model, []),
      now: new KeptReading(this.model, this.off),
      without: readingsWithoutEach(this.model),
    };
  }

  show() {
    const texts = LIVE.examples ?? ATTENTION_TEXTS;
    this.box = labelled("Your text", element("textarea", { rows: 1, spellcheck: false, value: texts[0] }));
    this.box.input.addEventListener("input", () => this.read());
    this.chips = element("div", { className: "live-buttons", role: "group", "aria-label": "The word that looks back" });
    this.summary = element("p", { role: "status" });
    this.next = element("div", { className: "live-wide" });
    this.vectors = element("div");
    this.numbers = element("div", { className: "live-wide" });
    this.explained = element("div", { className: "live-explained", role: "status", tabIndex: 0 });
    const card = (colour, ...parts) =>
      element("section", { className: "live-card", style: { "--live-colour": `var(${colour})` } }, ...parts);
    this.lookWhereItMatters();
    this.root.append(
      this.box.box,
      element("div", { className: "live-buttons" }, "Try:", ...texts.map((text) => this.exampleButton(text))),
      softText(
        "Choose a word: it looks back at the words before it, and at itself. The more colour, the larger its " +
          "weight a. A dotted word is unknown to the model, which reads <unk> instead.",
      ),
      this.chips,
      this.makeChoices(),
      this.summary,
      element(
        "div",
        { className: "live-attention" },
        card("--live-c", this.vectors, element("div", {}, this.numbers, this.explained)),
        card("--live-b", this.makeHeads(), this.next),
      ),
      softText(this.about),
    );
    this.read();
  }

  exampleButton(text) {
    return button(text.trim(), () => {
      this.box.input.value = text;
      this.read();
    });
  }

  /** Takes the layer and head without which the likeliest next word changes most. */
  lookWhereItMatters() {
    const ids = this.wordsOf(this.box.input.value).map(({ id }) => id);
    const logProbs = this.model.logProbs(this.reading.full.read(ids).at(-1));
    const top = indexOfLargest(logProbs);
    let most = -1;
    this.reading.without.forEach((heads, layer) =>
      heads.forEach((reading, head) => {
        const change = Math.abs(this.model.logProbs(reading.read(ids).at(-1))[top] - logProbs[top]);
        if (change > most) [most, this.layer, this.head] = [change, layer, head];
      }),
    );
  }

  /** The first words of a text, [{id, text}], with those that the tokenizer puts before and after. */
  wordsOf(text) {
    const { before, after, tokens } = this.tokenizer;
    const special = (ids) => ids.map((id) => ({ id, text: tokens[id] }));
    const pieces = this.tokenizer.pieces(withKnownMarks(text, this.tokenizer));
    return [...special(before), ...pieces, ...special(after)].slice(0, Math.min(MOST_WORDS, this.model.longest));
  }

  /** The button that chooses the word at place t; dotted where the model does not know it. */
  chip(t) {
    const className = this.ids[t] === this.tokenizer.unknown ? "live-unknown" : "";
    return button(this.words[t], () => this.choose(t), { className });
  }

  /** Layer and head, as lists. */
  makeChoices() {
    const pick = (name) => (value) => {
      this[name] = Number(value);
      this.drawWord();
    };
    const layers = numbered(this.model.layers.length),
      heads = numbered(this.model.heads);
    const fields = [
      choice({ label: "Layer", options: layers, value: String(this.layer), onChange: pick("layer") }),
      choice({ label: "Head", options: heads, value: String(this.head), onChange: pick("head") }),
    ];
    return element("div", { className: "live-fields" }, ...fields.map(({ box }) => box));
  }

  /** A box to tick for each head, with what the next word loses without it. */
  makeHeads() {
    this.losses = this.off.map(() => []);
    const boxOf = (layer, head) => {
      const input = element("input", { type: "checkbox", checked: true, id: newId("head") });
      input.addEventListener("change", () => this.switchHead(layer, head, !input.checked));
      const loss = (this.losses[layer][head] = element("small"));
      return element("div", {}, input, element("label", { for: input.id }, ` head ${head + 1} `, loss));
    };
    const boxesOf = (heads, layer) => {
      const legend = element("legend", { textContent: `Layer ${layer + 1}` });
      return element("fieldset", { className: "live-heads" }, legend, ...heads.map((_, head) => boxOf(layer, head)));
    };
    return element(
      "div",
      {},
      element("h2", { textContent: "Switch a head off" }),
      softText(
        "Its o is then 0. Beside each head: the probability of the likeliest next word without this head alone.",
      ),
      ...this.off.map(boxesOf),
    );
  }

  switchHead(layer, head, off) {
    this.off[layer][head] = off;
    this.reading.now = new KeptReading(this.model, this.off);
    this.read();
  }

  /** Reads the text with all heads and with those that are on, and draws all. */
  read() {
    const found = this.wordsOf(this.box.input.value);
    const words = found.map(({ text }) => (text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS)}…` : text));
    const same = JSON.stringify(words) === JSON.stringify(this.words);
    if (!same) this.chosen = words.length - 1;
    const ids = found.map(({ id }) => id);
    Object.assign(this, { ids, words });
    this.full = this.reading.full.read(ids);
    this.states = this.reading.now.read(ids);
    if (!same) this.chips.replaceChildren(...this.words.map((_, t) => this.chip(t)));
    this.drawWord();
  }

  choose(t) {
    this.chosen = t;
    this.drawWord();
  }

  /** Draws what depends on the chosen word, layer and head. */
  drawWord() {
    const numbers = attentionNumbers(this.model, this.states[this.chosen], this.layer, this.head);
    this.shown = numbers;
    [...this.chips.children].forEach((chip, s) => {
      const a = numbers.rows[s]?.a ?? 0;
      chip.setAttribute("aria-pressed", s === this.chosen);
      chip.style.background = `color-mix(in srgb, var(--live-heat) ${Math.round(85 * a)}%, transparent)`;
    });
    const best = indexOfLargest(numbers.rows.map((row) => row.a));
    if (this.cell.s >= 0) this.cell = { ...this.cell, s: best };
    this.drawNumbers(numbers);
    const next = this.drawNext();
    this.summary.textContent =
      `In layer ${this.layer + 1}, head ${this.head + 1}, “${this.words[this.chosen]}” looks most at ` +
      `“${this.words[best]}”: a = ${decimal(numbers.rows[best].a, 3)}. ${next}`;
  }

  /** The table of a head, a row for each word; arrow keys move in it. */
  drawNumbers(numbers) {
    const columns = Object.entries(ATTENTION_COLUMNS);
    const cell = (column, s, text) => {
      const found = button(text, () => this.explain(column, s), { className: "live-cell" });
      found.dataset.column = column;
      found.dataset.s = s;
      return found;
    };
    const off = this.off[this.layer][this.head] ? " This head is off: 0 takes the place of o." : "";
    const rows = numbers.rows.map((row, s) =>
      rowOf(this.words[s], ...columns.map(([name, { show }]) => cell(name, s, show(row, numbers)))),
    );
    const sum = numbers.rows.reduce((total, row) => total + row.a, 0);
    const head = headOf("word", ...columns.map(([, { head: of }]) => of(numbers)));
    const table = element("table", { className: "live-numbers" }, head, element("tbody", {}, ...rows.reverse()));
    table.addEventListener("keydown", (event) => this.moveInTable(event));
    this.vectors.replaceChildren(
      element("h2", { textContent: `“${this.words[this.chosen]}” in layer ${this.layer + 1}, head ${this.head + 1}` }),
      element(
        "p",
        {},
        cell("q", -1, `q = ${vectorText(numbers.q, 3)}`),
        cell("sum", -1, `Σ a = ${decimal(sum, 3)}`),
        cell("o", -1, `o = Σ a v = ${vectorText(numbers.o, 3)}`),
        off,
      ),
      softText("Choose a number to see where it comes from; arrow keys move in the table."),
    );
    this.numbers.replaceChildren(table);
    this.explain(this.cell.column, this.cell.s);
  }

  /** Shows where the number of a cell comes from. */
  explain(column, s) {
    this.cell = { column, s };
    const inTable = s < 0 ? { column: "a", s: this.chosen } : this.cell; // where the key Tab enters the table
    for (const one of [this.vectors, this.numbers].flatMap((part) => [...part.querySelectorAll(".live-cell")])) {
      const is = (cell) => one.dataset.column === cell.column && Number(one.dataset.s) === cell.s;
      one.setAttribute("aria-pressed", is(this.cell));
      one.tabIndex = Number(one.dataset.s) < 0 || is(inTable) ? 0 : -1;
    }
    const place = {
      kind: this.kind,
      layer: this.layer + 1,
      head: this.head + 1,
      heads: this.model.heads,
      slope: this.model.slopes[this.head],
    };
    const [says, ...lines] = explainAttention(column, s, this.shown, this.words.slice(0, this.chosen + 1), place);
    this.explained.replaceChildren(
      element("p", { textContent: says }),
      ...lines.map((line) => element("p", { className: "live-sum", textContent: line })),
    );
  }

  /** An arrow key chooses the cell beside. */
  moveInTable(event) {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    const rows = [...event.currentTarget.querySelectorAll("tbody tr")].map((row) => [
      ...row.querySelectorAll("button"),
    ]);
    const row = rows.findIndex((buttons) => buttons.includes(event.target));
    const to = rows[row + step[0]]?.[rows[row].indexOf(event.target) + step[1]];
    to?.focus();
    to?.click();
  }

  /** Draws the next word's distributions, and the likeliest word's probability without each head: a sentence on them. */
  drawNext() {
    const before = this.model.logProbs(this.full[this.chosen]).map(Math.exp);
    const now = this.model.logProbs(this.states[this.chosen]).map(Math.exp);
    const top = indexOfLargest(before);
    const topWord = this.tokenizer.tokens[top];
    this.reading.without.forEach((heads, layer) =>
      heads.forEach((reading, head) => {
        const logProbs = this.model.logProbs(reading.read(this.ids)[this.chosen]);
        this.losses[layer][head].textContent = `${topWord} ${percent(Math.exp(logProbs[top]))}`;
      }),
    );
    const nameOf = (layer) => (off, head) => (off ? [`${layer + 1}.${head + 1}`] : []);
    const names = this.off.flatMap((heads, layer) => heads.flatMap(nameOf(layer))).join(", ");
    this.drawComparison(before, now, names);
    const without = names && `; without head ${names} (layer.head) ${percent(now[top])}`;
    return `Likeliest next word: “${topWord}”, ${percent(before[top])}${without}.`;
  }

  /** The next word with all heads beside those that are on; `names` are the heads that are off. */
  drawComparison(before, now, names) {
    const largest = (word) => Math.max(before[word], now[word]);
    const best = [...before.keys()].sort((x, y) => largest(y) - largest(x)).slice(0, NEXT_WORDS);
    const rows = best.map((word) => {
      const bars = [before, now].map((p) => smallBar(p[word], largest(best[0])));
      return rowOf(this.tokenizer.tokens[word], ...bars, changeText(now[word] - before[word]));
    });
    const head = headOf("next word", "all heads", names ? `without ${names}` : "heads that are on", "change, points");
    const words = this.words.slice(Math.max(0, this.chosen - 3), this.chosen + 1);
    this.next.replaceChildren(
      element("p", { textContent: `After “${words.join(" ")}”:` }),
      element("table", { className: "live-next" }, head, element("tbody", {}, ...rows)),
    );
  }
}

/** The head of a table. */
function headOf(...texts) {
  return element(
    "thead",
    {},
    element("tr", {}, ...texts.map((text) => element("th", { scope: "col", textContent: text }))),
  );
}

/** A row of a table: its name, and cells, each an element, a text or a list of these. */
function rowOf(name, ...cells) {
  const th = element("th", { scope: "row", textContent: name });
  return element("tr", {}, th, ...cells.map((cell) => element("td", {}, ...[cell].flat())));
}

/** A bar, as long as `largest` where it is full, with its probability in percent. */
function smallBar(p, largest) {
  return [element("span", { className: "live-bar-fill", style: { width: `${(100 * p) / largest}%` } }), percent(p)];
}

/** A change of a probability in points: "+3.1", "−0.4", "0". */
function changeText(change) {
  const text = decimal(100 * change, 1);
  return Number(text.replace("−", "-")) === 0 ? "0" : change > 0 ? `+${text}` : text;
}

startLivePage("attention", (root) => {
  const found = LIVE.models.find(({ config }) => config.model_type === "lecture_self_attention");
  if (!found) throw new Error("this page needs a self-attention model");
  new AttentionPage(root, found).show();
});
