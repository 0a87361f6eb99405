"use strict";
// What comes next? (slides Y:88-134, R:164-291, R:627). The models of LIVE read along while the reader types.
//
// After the words before, a model gives each word w of its vocabulary a probability P(w). A word of the text with the
// probability P took -log2 P bits; the perplexity of the text is 2 to the mean of the bits.

const NEXT_WORD = { mostWords: 200, bars: 8, written: 10, rows: 10 };

/** The card of a model, or one with the reason why there is none. */
function nextWordCardOrReason(model, page) {
  try {
    return new NextWordCard(model, page);
  } catch (error) {
    const card = element(
      "section",
      { className: "live-card" },
      element("h2", { textContent: model.title }),
      element("p", { textContent: `This model does not run here: ${error.message}.` }),
    );
    return { root: card, draw() {}, rewrite() {}, summary: () => "" };
  }
}

/** One sentence on what each model expects. */
function nextWordSummary({ cards }) {
  return cards
    .map((card) => card.summary())
    .filter(Boolean)
    .join(" · ");
}

function nextWordLegend() {
  const steps = [0, 3, 6, 9, 12].map((bits) =>
    element("span", {
      className: "next-word-step",
      textContent: bits === 12 ? "12 or more" : bits,
      style: { background: heat(bits) },
    }),
  );
  return element(
    "p",
    { className: "next-word-legend" },
    "Under each word are its bits, −log₂ of its probability: ",
    ...steps,
    " (1 bit: 1 in 2; 10 bits: 1 in 1,024). A ",
    element("span", { className: "live-unknown", textContent: "dotted" }),
    " word is unknown to the model.",
  );
}

function nextWordSettings(page, rewrite) {
  const temperature = slider({
    label: "Temperature",
    min: 0.1,
    max: 2,
    step: 0.1,
    value: 1,
    show: (value) => value.toFixed(1),
    onChange: (value) => {
      page.temperature = value;
      rewrite();
    },
  });
  const seed = labelled("Seed", element("input", { type: "number", min: 0, max: 9999, step: 1, value: 1 }));
  seed.input.addEventListener("input", () => {
    page.seed = Math.trunc(Number(seed.input.value)) || 0;
    rewrite();
  });
  const all = button(`All write ${NEXT_WORD.written} words`, () => page.cards.forEach((card) => card.write?.()));
  return element(
    "div",
    { role: "group", "aria-label": "How words are drawn" },
    element("div", { className: "live-fields" }, temperature.box, seed.box, all),
    element("p", {
      className: "live-soft",
      textContent:
        "“Write” draws one word after another in proportion to P(w)^(1/temperature): below 1 the likely words become " +
        "likelier, above 1 all words become more alike. The same seed draws the same words again. Unknown words are never drawn.",
    }),
  );
}

/** A token as the page shows it. */
const nextWordShown = (token) => ({ "<unk>": "(rare word)", "</s>": "(end)", "<s>": "(start)" })[token] ?? token;

/** "8.25", "1,024", "12 million": a perplexity, or 1 in so many. */
function nextWordNumber(value) {
  if (!Number.isFinite(value)) return "∞";
  return value < 100
    ? String(Number(value.toPrecision(3)))
    : Number(value.toPrecision(3)).toLocaleString("en", { notation: value < 1e6 ? "standard" : "compact" });
}

/** The card of one model. Its elements stay; what they say changes. */
class NextWordCard {
  constructor({ title, seen, config, tensors, tokenizer }, page) {
    const kind = NEXT_WORD_KINDS[config.model_type];
    if (!kind) throw new Error(`the page has no code for the type ${config.model_type}`);
    const model = new kind.make(readSafetensors(fromBase64(tensors)), config);
    this.title = title;
    this.page = page;
    this.tokenizer = readTokenizer(LIVE.tokenizers[tokenizer]);
    this.reader = new TextReader(model, this.tokenizer);
    this.inside = new kind.inside(this.reader, config);
    this.words = element("div", { className: "next-word-text" });
    this.measure = element("p", { className: "next-word-measure" });
    this.problem = element("p", { hidden: true });
    this.note = element("p", { className: "live-soft", hidden: true });
    this.heading = element("h3", {});
    this.bars = Array.from({ length: NEXT_WORD.bars }, (_, i) => bar("", 0, () => this.append([this.shown[i]])));
    this.written = element("p", { className: "next-word-written", hidden: true });
    this.take = button("Add them to the text", () => this.append(this.drawn), { hidden: true });
    const write = button(`Write ${NEXT_WORD.written} words`, () => this.write(), {
      "aria-label": `Write ${NEXT_WORD.written} words with ${title}`,
    });
    this.answer = element(
      "div",
      {},
      this.words,
      this.measure,
      this.note,
      this.heading,
      element("div", {}, ...this.bars),
      element("div", { className: "next-word-write" }, write, this.take),
      this.written,
      element("details", { open: true }, element("summary", { textContent: "Inside" }), this.inside.box),
    );
    this.root = element(
      "section",
      { className: "live-card next-word-card", style: { "--live-colour": `var(${kind.colour})` } },
      element("h2", { textContent: title }),
      element("p", { className: "live-soft", textContent: nextWordAbout(kind.memory(config), seen, config) }),
      this.problem,
      this.answer,
    );
  }

  /** Reads a text, and shows what the model makes of it, or why it makes nothing of it. */
  draw(text) {
    const { words, prefix, left } = typedWords(text, this.tokenizer, NEXT_WORD.mostWords);
    this.prefix = prefix;
    this.failed = false;
    try {
      this.reader.read(words);
    } catch (error) {
      this.failed = true;
      this.problem.textContent = `The model cannot read this text: ${error.message}.`;
    }
    this.problem.hidden = !this.failed;
    this.answer.hidden = this.failed;
    if (this.failed) return;
    this.clearWritten();
    this.drawText(left + this.reader.left);
    this.drawBars();
    this.inside.draw(this.shown);
  }

  drawText(left) {
    const { pieces, perplexity } = this.reader;
    this.words.replaceChildren(
      ...pieces.map(nextWordPiece),
      ...(this.prefix ? [element("span", { className: "live-word", textContent: `${this.prefix}…` })] : []),
    );
    this.measure.textContent = pieces.length
      ? `Perplexity of ${pieces.length === 1 ? "this word" : `these ${pieces.length} words`}: ${nextWordNumber(perplexity)}, as uncertain as among so many equally probable words.`
      : "";
    this.note.hidden = !left;
    this.note.textContent = `Only the first ${pieces.length} words are read; the last ${left} are left out.`;
  }

  drawBars() {
    const { reader, prefix } = this;
    const { ids, share } = reader.best(NEXT_WORD.bars, prefix);
    this.shown = ids;
    this.heading.textContent = !prefix
      ? "Next word"
      : ids.length
        ? `Words with “${prefix}” (${percent(share)} of all)`
        : `No word begins with “${prefix}”`;
    this.bars.forEach((one, i) => {
      one.hidden = i >= ids.length;
      if (one.hidden) return;
      const word = nextWordShown(this.tokenizer.tokens[ids[i]]);
      const p = Math.exp(reader.logProbs[ids[i]]) / (prefix ? share : 1);
      const [name, track, value] = one.children;
      name.textContent = word;
      track.firstChild.style.width = `${100 * p}%`;
      value.textContent = percent(p);
      one.title = this.appendable(ids[i]) ? `Add “${word}” to the text` : word;
      one.setAttribute("aria-disabled", String(!this.appendable(ids[i])));
    });
  }

  /** True for an ordinary word, which can be added to the text. */
  appendable(id) {
    return id !== this.tokenizer.unknown && id !== this.tokenizer.end && !this.tokenizer.before.includes(id);
  }

  /** Adds words to the reader's text, in the place of an unfinished one. */
  append(ids) {
    const words = ids.filter((id) => this.appendable(id)).map((id) => this.tokenizer.tokens[id]);
    if (!words.length) return;
    const { input } = this.page;
    const kept = this.prefix ? input.value.slice(0, -this.prefix.length) : input.value;
    const joint = this.prefix || !kept || WHITE_SPACE.test(kept.at(-1)) ? "" : " ";
    input.value = `${kept}${joint}${words.join(" ")} `;
    this.page.draw();
  }

  /** Draws a continuation, and shows it. */
  write() {
    if (this.failed) return;
    const { temperature, seed } = this.page;
    this.drawn = this.reader.write({ number: NEXT_WORD.written, prefix: this.prefix, temperature, seed });
    const words = this.drawn.map((id) => nextWordShown(this.tokenizer.tokens[id]));
    this.written.replaceChildren(
      element("span", { className: "live-soft", textContent: "… " }),
      words.join(" ") || "No word can be drawn.",
    );
    this.written.hidden = false;
    this.take.hidden = !this.drawn.some((id) => this.appendable(id));
  }

  /** Draws again with other settings, where a continuation is shown. */
  rewrite() {
    if (!this.written.hidden) this.write();
  }

  clearWritten() {
    this.written.hidden = true;
    this.take.hidden = true;
  }

  /** "Trigram: king 12 %", for the summary. */
  summary() {
    if (this.failed || !this.shown.length) return "";
    return `${this.title}: ${nextWordShown(this.tokenizer.tokens[this.shown[0]])} ${this.bars[0].lastChild.textContent}`;
  }
}

/** What a model remembers, knows and has seen, in one line. */
function nextWordAbout(memory, seen, config) {
  return `${[memory, `knows ${config.vocab_size.toLocaleString("en")} words`, seen && `has seen ${seen}`].filter(Boolean).join(" · ")}.`;
}

/** A word of the reader's text with its bits. */
function nextWordPiece({ text, bits, known }) {
  const shown = bits === Infinity ? "∞" : bits.toFixed(1);
  return element(
    "span",
    {
      className: "live-word next-word-piece",
      title: `${shown} bits: 1 in ${nextWordNumber(2 ** bits)}${known ? "" : "; unknown to the model"}`,
      style: { background: heat(bits) },
    },
    element("span", { className: known ? "" : "live-unknown", textContent: text }),
    element("small", { textContent: known ? shown : `? ${shown}` }),
  );
}

/** Inside an n-gram: from n-grams of which length the probabilities come. */
class NextWordBackOff {
  constructor(reader, { order }) {
    Object.assign(this, { reader, order });
    this.table = element("table", {});
    this.said = element("p", { className: "live-soft" });
    this.box = element(
      "div",
      {},
      element(
        "div",
        { className: "live-wide", tabIndex: 0, role: "group", "aria-label": "Where the probabilities come from" },
        this.table,
      ),
      this.said,
    );
  }

  draw(shown) {
    const { model, tokenizer, ids, logProbs, states } = this.reader;
    const { lengths } = model.distribution(states.at(-1));
    const words = new Array(this.order + 1).fill(0);
    const mass = new Array(this.order + 1).fill(0);
    logProbs.forEach((value, w) => {
      if (value === -Infinity) return;
      words[lengths[w]]++;
      mass[lengths[w]] += Math.exp(value);
    });
    const cell = (tag, text) => element(tag, { textContent: text });
    const rows = Array.from({ length: this.order }, (_, i) => this.order - i)
      .filter((n) => n - 1 <= ids.length)
      .map((n) => {
        const context =
          n > 1
            ? ids
                .slice(1 - n)
                .map((id) => nextWordShown(tokenizer.tokens[id]))
                .join(" ")
            : "";
        return element(
          "tr",
          {},
          element("th", { scope: "row", textContent: `${n}-grams` }),
          cell("td", n > 1 ? `“${context} …”` : "“…”"),
          cell("td", words[n] ? words[n].toLocaleString("en") : "never seen"),
          cell("td", percent(mass[n])),
        );
      });
    const heads = ["Read from", "after", "words", "probability"].map((text) =>
      element("th", { scope: "col", textContent: text }),
    );
    this.table.replaceChildren(element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
    this.said.textContent = shown.length
      ? `The bars above come from: ${shown.map((w) => `${nextWordShown(tokenizer.tokens[w])} ${lengths[w]}-gram`).join(", ")}.`
      : "";
  }
}

/** Inside an LSTM: the numbers of its memory c. */
class NextWordCells {
  constructor(reader, { num_hidden_layers: layers }) {
    Object.assign(this, { reader, layer: layers - 1 });
    this.picture = nextWordSvg("svg", { role: "img", preserveAspectRatio: "none", class: "next-word-cells" });
    this.paths = ["next-word-above", "next-word-below"].map((name) => nextWordSvg("path", { class: name }));
    this.line = nextWordSvg("path", { class: "next-word-zero" });
    this.picture.append(...this.paths, this.line);
    this.said = element("p", { className: "live-soft" });
    this.box = element("div", {}, this.picture, this.said);
    const options = Array.from({ length: layers }, (_, k) => [String(k), `${k + 1}`]);
    const chosen = choice({
      label: "Layer",
      options,
      value: String(this.layer),
      onChange: (value) => {
        this.layer = Number(value);
        this.draw();
      },
    });
    if (layers > 1) this.box.prepend(chosen.box);
  }

  draw() {
    const { states, tokenizer, ids } = this.reader;
    const { c } = states.at(-1)[this.layer];
    const before = states.at(-2)[this.layer].c;
    const largest = Math.max(...c.map(Math.abs));
    const bars = (sign) =>
      Array.from(c, (value, j) => (value * sign > 0 ? `M${j} 0h.8v${-value / largest}h-.8z` : "")).join("");
    this.picture.setAttribute("viewBox", `0 -1.05 ${c.length} 2.1`);
    this.paths.forEach((path, i) => path.setAttribute("d", bars(1 - 2 * i)));
    this.line.setAttribute("d", `M0 0h${c.length}`);
    const most = c.reduce(
      (best, value, j) => (Math.abs(value - before[j]) > Math.abs(c[best] - before[best]) ? j : best),
      0,
    );
    const word = nextWordShown(tokenizer.tokens[ids.at(-1)]);
    this.picture.setAttribute(
      "aria-label",
      `${c.length} bars for the memory c, between ${(-largest).toFixed(1)} and ${largest.toFixed(1)}`,
    );
    this.said.textContent =
      `The memory c of ${c.length} numbers, one bar each; the longest is ${largest.toFixed(1)}. “${word}” changed number ${most + 1} most: ` +
      `from ${before[most].toFixed(2)} to ${c[most].toFixed(2)}.`;
  }
}

/** Inside a self-attention model: what each of the last words looks at. */
class NextWordMap {
  constructor(reader, { num_hidden_layers: layers, num_attention_heads: heads }) {
    Object.assign(this, { reader, heads, layer: layers - 1, head: "mean" });
    const numbers = (count) => Array.from({ length: count }, (_, k) => [String(k), `${k + 1}`]);
    const layer = choice({
      label: "Layer",
      options: numbers(layers),
      value: String(this.layer),
      onChange: (value) => {
        this.layer = Number(value);
        this.draw();
      },
    });
    const head = choice({
      label: "Head",
      options: [["mean", "mean of all"], ...numbers(heads)],
      value: "mean",
      onChange: (value) => {
        this.head = value;
        this.draw();
      },
    });
    this.table = element("table", { className: "next-word-map" });
    this.said = element("p", { className: "live-soft" });
    this.box = element(
      "div",
      {},
      element("div", { className: "live-fields" }, layer.box, head.box),
      element(
        "div",
        { className: "live-wide", tabIndex: 0, role: "group", "aria-label": "Attention weights in percent" },
        this.table,
      ),
      this.said,
    );
  }

  /** The weights of the token at position t, on itself and all before. */
  weights(t) {
    const maps = this.reader.states[t + 1].maps[this.layer];
    return this.head === "mean"
      ? maps[0].map((_, s) => maps.reduce((sum, a) => sum + a[s], 0) / maps.length)
      : maps[Number(this.head)];
  }

  draw() {
    const { ids, tokenizer } = this.reader;
    const names = ids.map((id) => nextWordShown(tokenizer.tokens[id]));
    const first = Math.max(0, ids.length - NEXT_WORD.rows);
    const places = names.map((_, t) => t).slice(first);
    const heads = places.map((s) => element("th", { scope: "col" }, element("span", { textContent: names[s] })));
    const rows = places.map((t) => {
      const a = this.weights(t);
      const cells = places.map((s) =>
        s > t
          ? element("td", {})
          : element("td", {
              textContent: Math.round(100 * a[s]),
              className: a[s] > 0.5 ? "next-word-strong" : "",
              style: { background: `color-mix(in srgb, var(--live-colour) ${Math.round(100 * a[s])}%, transparent)` },
            }),
      );
      return element("tr", {}, element("th", { scope: "row" }, element("span", { textContent: names[t] })), ...cells);
    });
    this.table.replaceChildren(
      element("thead", {}, element("tr", {}, element("td", {}), ...heads)),
      element("tbody", {}, ...rows),
    );
    const last = this.weights(ids.length - 1);
    const most = last.indexOf(Math.max(...last));
    this.said.textContent =
      `Each row is a word, and says in percent where it looks${first ? ` (the last ${places.length} of ${ids.length} words)` : ""}. ` +
      `“${names.at(-1)}” looks most at “${names[most]}”, ${percent(last[most])}.`;
  }
}

/** A new element of SVG. */
function nextWordSvg(tag, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

const NEXT_WORD_KINDS = {
  lecture_ngram: {
    make: NGram,
    colour: "--live-a",
    inside: NextWordBackOff,
    memory: ({ order }) =>
      order > 1
        ? `Remembers the last ${order > 2 ? `${order - 1} words` : "word"}`
        : "Remembers nothing: how frequent is each word?",
  },
  lecture_recurrent: {
    make: LSTM,
    colour: "--live-b",
    inside: NextWordCells,
    memory: ({ hidden_size: size, num_hidden_layers: layers }) =>
      `Carries ${2 * size * layers} numbers from word to word`,
  },
  lecture_self_attention: {
    make: SelfAttention,
    colour: "--live-c",
    inside: NextWordMap,
    memory: ({ num_hidden_layers: layers, num_attention_heads: heads }) =>
      `Looks back at all words, with ${layers} × ${heads} heads`,
  },
};

startLivePage("next_word", (root) => {
  const examples = LIVE.examples ?? (LIVE.example === undefined ? [] : [LIVE.example]);
  const box = labelled(
    "Your text",
    element("textarea", { rows: 2, spellcheck: false, value: LIVE.example ?? examples[0] ?? "" }),
  );
  box.box.classList.add("next-word-box");
  const page = { root, input: box.input, temperature: 1, seed: 1 };
  page.said = element("p", { role: "status", className: "next-word-said" });
  page.cards = LIVE.models.map((model) => nextWordCardOrReason(model, page));
  page.draw = () => {
    page.cards.forEach((card) => card.draw(page.input.value));
    page.said.textContent = nextWordSummary(page);
  };
  const rewrite = () => page.cards.forEach((card) => card.rewrite());
  const buttons = examples.map((text) =>
    button(text.trim() || "(empty)", () => {
      page.input.value = text;
      page.draw();
    }),
  );
  root.append(box.box);
  if (buttons.length)
    root.append(
      element(
        "div",
        { role: "group", "aria-label": "Examples", className: "next-word-examples" },
        element("span", { textContent: "Try:" }),
        ...buttons,
      ),
    );
  root.append(
    page.said,
    nextWordLegend(),
    element("div", { className: "live-cards" }, ...page.cards.map((card) => card.root)),
    nextWordSettings(page, rewrite),
  );
  if (LIVE.about) root.append(element("p", { className: "live-soft", textContent: LIVE.about }));
  page.input.addEventListener("input", page.draw);
  page.draw();
});
