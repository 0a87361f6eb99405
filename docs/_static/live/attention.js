"use strict";
// Attention by hand: all numbers of a head for a word of the reader's text, and the next word with heads switched off.

const MOST_WORDS = 40, NEXT_WORDS = 8;
const ATTENTION_TEXTS = ["the old cat saw the mouse and the "];

/** The page: a model, the reader's text, and the word, layer and head that are looked at. */
class AttentionPage {
  constructor(root, { title, seen, config, tensors, tokenizer }) {
    this.root = root;
    this.about = [`${title}: ${seen}.`, LIVE.about, `The page reads the first ${MOST_WORDS} words.`].filter(Boolean).join(" ");
    this.model = new SelfAttention(readSafetensors(fromBase64(tensors)), config);
    this.tokenizer = readTokenizer(LIVE.tokenizers[tokenizer]);
    this.kind = config.position_encoding;
    this.layer = this.head = 0;
    this.off = this.model.layers.map(() => Array(this.model.heads).fill(false));
    this.cell = { column: "a", s: 0 };
    this.reading = { full: new KeptReading(this.model, []), now: new KeptReading(this.model, this.off), without: readingsWithoutEach(this.model) };
  }

  show() {
    const texts = LIVE.examples ?? (LIVE.example ? [LIVE.example] : ATTENTION_TEXTS);
    this.box = labelled("Your text", element("textarea", { rows: 1, spellcheck: false, value: texts[0] }));
    this.box.input.addEventListener("input", () => this.read());
    this.chips = element("div", { className: "live-buttons", role: "group", "aria-label": "The word that looks back" });
    this.summary = element("p", { role: "status" });
    this.next = element("div", { className: "live-wide" });
    this.numbers = element("div", { className: "live-wide" });
    this.explained = element("div", { className: "live-explained", role: "status", tabIndex: 0 });
    this.lookWhereItMatters();
    this.root.append(this.box.box,
      element("div", { className: "live-buttons" }, "Try:", ...texts.map((text) => button(text.trim(), () => this.take(text)))),
      element("p", { className: "live-soft", textContent: "Choose a word: it looks back at the words before it, and at itself. The darker, the larger its weight a." }),
      this.chips, this.makeChoices(), this.summary,
      element("div", { className: "live-attention" },
        element("section", { className: "live-card", style: { "--live-colour": "var(--live-c)" } }, this.numbers, this.explained),
        element("section", { className: "live-card", style: { "--live-colour": "var(--live-b)" } }, this.makeHeads(), this.next)),
      element("p", { className: "live-soft", textContent: this.about }));
    this.read();
  }

  /** Takes the layer and head without which the likeliest next word changes most. */
  lookWhereItMatters() {
    const ids = this.wordsOf(this.box.input.value);
    const logProbs = this.model.logProbs(this.reading.full.read(ids).at(-1));
    const top = likeliestOf(logProbs);
    let most = -1;
    this.reading.without.forEach((heads, layer) => heads.forEach((reading, head) => {
      const change = Math.abs(this.model.logProbs(reading.read(ids).at(-1))[top] - logProbs[top]);
      if (change > most) [most, this.layer, this.head] = [change, layer, head];
    }));
  }

  /** The ids of a text's first words. */
  wordsOf(text) { return this.tokenizer.encode(text).slice(0, Math.min(MOST_WORDS, this.model.longest)); }

  /** Layer and head, as lists. */
  makeChoices() {
    const numbered = (count) => Array.from({ length: count }, (_, k) => [String(k), String(k + 1)]);
    const pick = (name) => (value) => { this[name] = Number(value); this.drawWord(); };
    return element("div", { className: "live-fields" },
      choice({ label: "Layer", options: numbered(this.model.layers.length), value: String(this.layer), onChange: pick("layer") }).box,
      choice({ label: "Head", options: numbered(this.model.heads), value: String(this.head), onChange: pick("head") }).box);
  }

  /** A box to tick for each head, with what the next word loses without it. */
  makeHeads() {
    this.losses = this.off.map(() => []);
    const boxOf = (layer, head) => {
      const input = element("input", { type: "checkbox", checked: true, id: newId("head") });
      input.addEventListener("change", () => { this.switchHead(layer, head, !input.checked); });
      this.losses[layer][head] = element("small");
      return element("div", {}, input, element("label", { for: input.id }, ` head ${head + 1} `, this.losses[layer][head]));
    };
    return element("div", {},
      element("h2", { textContent: "Switch a head off" }),
      element("p", { className: "live-soft" }, "Its o is then 0. Beside each head: the probability of the likeliest next word without this head alone."),
      ...this.off.map((heads, layer) => element("fieldset", { className: "live-heads" }, element("legend", { textContent: `Layer ${layer + 1}` }), ...heads.map((_, head) => boxOf(layer, head)))));
  }

  switchHead(layer, head, off) {
    this.off[layer][head] = off;
    this.reading.now = new KeptReading(this.model, this.off);
    this.read();
  }

  take(text) {
    this.box.input.value = text;
    this.read();
  }

  /** Reads the text with all heads and with those that are on, and draws all. */
  read() {
    const ids = this.wordsOf(this.box.input.value);
    const same = String(ids) === String(this.ids);
    if (!same) this.chosen = ids.length - 1;
    this.ids = ids;
    this.words = ids.map((id) => this.tokenizer.tokens[id]);
    this.full = this.reading.full.read(ids);
    this.states = this.reading.now.read(ids);
    if (!same) this.chips.replaceChildren(...this.words.map((word, t) => button(word, () => { this.chosen = t; this.drawWord(); })));
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
    const best = numbers.rows.reduce((found, row, s) => (row.a > numbers.rows[found].a ? s : found), 0);
    if (this.cell.s >= 0) this.cell = { ...this.cell, s: best };
    this.drawNumbers(numbers);
    const text = this.drawNext();
    this.summary.textContent = `In layer ${this.layer + 1}, head ${this.head + 1}, “${this.words[this.chosen]}” looks most at “${this.words[best]}”: a = ${decimal(numbers.rows[best].a, 3)}. ${text}`;
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
    const rows = numbers.rows.map((row, s) => element("tr", {}, element("th", { scope: "row", textContent: this.words[s] }),
      ...columns.map(([name, { show }]) => element("td", {}, cell(name, s, show(row, numbers))))));
    const sum = numbers.rows.reduce((total, row) => total + row.a, 0);
    const head = element("tr", {}, element("th", { scope: "col", textContent: "word" }), ...columns.map(([, { head: of }]) => element("th", { scope: "col", textContent: of(numbers) })));
    const table = element("table", { className: "live-numbers" }, element("thead", {}, head), element("tbody", {}, ...rows.reverse()));
    table.addEventListener("keydown", (event) => this.moveInTable(event));
    this.numbers.replaceChildren(
      element("h2", { textContent: `“${this.words[this.chosen]}” in layer ${this.layer + 1}, head ${this.head + 1}` }),
      element("p", {}, cell("q", -1, `q = ${vectorText(numbers.q, 3)}`), cell("sum", -1, `Σ a = ${decimal(sum, 3)}`),
        cell("o", -1, `o = Σ a v = ${vectorText(numbers.o, 3)}`), off),
      element("p", { className: "live-soft", textContent: "Choose a number to see where it comes from; arrow keys move in the table." }), table);
    this.explain(this.cell.column, this.cell.s);
  }

  /** Shows where the number of a cell comes from. */
  explain(column, s) {
    this.cell = { column, s };
    for (const one of this.numbers.querySelectorAll(".live-cell")) {
      const chosen = one.dataset.column === column && Number(one.dataset.s) === s;
      one.setAttribute("aria-pressed", chosen);
      one.tabIndex = chosen || one.dataset.s === "-1" || (s < 0 && one.dataset.column === "a" && Number(one.dataset.s) === this.chosen) ? 0 : -1;      // one of the table
    }
    const place = { kind: this.kind, layer: this.layer + 1, head: this.head + 1, heads: this.model.heads, slope: this.model.slopes[this.head] };
    const [says, ...lines] = explainAttention(column, s, this.shown, this.words.slice(0, this.chosen + 1), place);
    this.explained.replaceChildren(element("p", { textContent: says }), ...lines.map((line) => element("p", { className: "live-sum", textContent: line })));
  }

  moveInTable(event) {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    const rows = [...event.currentTarget.querySelectorAll("tbody tr")].map((row) => [...row.querySelectorAll("button")]);
    const row = rows.findIndex((buttons) => buttons.includes(event.target));
    const to = rows[row + step[0]]?.[rows[row].indexOf(event.target) + step[1]];
    to?.focus();
    to?.click();
  }

  /** Draws the next word's distributions, and the loss without each head: a sentence on them. */
  drawNext() {
    const before = this.model.logProbs(this.full[this.chosen]).map(Math.exp);
    const now = this.model.logProbs(this.states[this.chosen]).map(Math.exp);
    const largest = (word) => Math.max(before[word], now[word]);
    const best = [...before.keys()].sort((x, y) => largest(y) - largest(x)).slice(0, NEXT_WORDS);
    const top = likeliestOf(before), topWord = this.tokenizer.tokens[top];
    this.reading.without.forEach((heads, layer) => heads.forEach((reading, head) => {
      const logProbs = this.model.logProbs(reading.read(this.ids)[this.chosen]);
      this.losses[layer][head].textContent = `${topWord} ${percent(Math.exp(logProbs[top]))}`;
    }));
    const places = this.off.flatMap((heads, layer) => heads.flatMap((one, head) => (one ? [`${layer + 1}.${head + 1}`] : [])));
    const columns = ["next word", "all heads", places.length ? `without ${places.join(", ")}` : "heads that are on", "change"];
    const rows = best.map((word) => element("tr", {}, element("th", { scope: "row", textContent: this.tokenizer.tokens[word] }),
      ...[before, now].map((p) => element("td", {}, ...smallBar(p[word], largest(best[0])))), element("td", { textContent: changeText(now[word] - before[word]) })));
    this.next.replaceChildren(element("p", { textContent: `After “${this.words.slice(0, this.chosen + 1).slice(-4).join(" ")}”:` }),
      element("table", { className: "live-next" }, element("thead", {}, element("tr", {}, ...columns.map((text) => element("th", { scope: "col", textContent: text })))), element("tbody", {}, ...rows)));
    return `Likeliest next word: “${topWord}”, ${percent(before[top])}${places.length ? `; without head ${places.join(", ")} (layer.head) ${percent(now[top])}` : ""}.`;
  }
}

/** A bar, as long as `largest` where it is full, with its probability in percent. */
function smallBar(p, largest) {
  return [element("span", { className: "live-bar-fill", style: { width: `${(100 * p) / largest}%` } }), percent(p)];
}

/** The place of the largest number. */
const likeliestOf = (numbers) => numbers.indexOf(Math.max(...numbers));

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
