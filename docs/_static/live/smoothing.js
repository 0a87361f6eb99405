"use strict";
// The art of smoothing: counts of the reader's text, where the probability goes, and the perplexity of another text.

const SMOOTHING_TEXT = `Once a miller had three daughters and an old grey cat.
The eldest daughter baked the bread, and the second daughter carried the flour.
The youngest daughter sat by the mill and talked to the cat.
One night a fox came to the mill and knocked at the door.
Let me in, said the fox, and I will give you a golden ring.
The eldest daughter did not open the door.
The next night the fox came to the mill and knocked at the window.
Let me in, said the fox, and I will give you a golden crown.
The second daughter did not open the window.
The third night the fox came to the river behind the mill.
Come out, said the fox, and I will give you a golden house.
The youngest daughter did not want a golden house, but the old cat wanted to see the fox.
The old cat opened the door and sat down by the river.
You have no house, said the cat, and you have no gold.
The fox looked at the river and the river looked at the fox.
Then the fox ran into the forest and did not come back.
The miller gave the cat a golden bowl and the youngest daughter gave the cat a fish.`;
const SMOOTHING_HELD_OUT = `One night the miller came to the river and knocked at the window.
Let me in, said the miller, and I will give you the fish.
The old cat did not open the door.
The cat ran into the mill and looked at the bread.
The fox gave the youngest daughter a silver ring.`;
const SMOOTHING_SIGNS =
  "c(hw): how often w follows the words h; c(h): how often h is followed by a word; h′: h without its first word; " +
  "γ(h): what the words after h leave; T(h): how many different words follow h; |V|: how many words can follow.";
const SMOOTHING_MOST_WORDS = 2000;
const SMOOTHING_ORDERS = [1, 2, 3, 4];

const smoothingNumber = (value) => (value >= 1 ? value.toFixed(2) : value.toPrecision(2));
/** The parameters: the slider goes from `min` to `max` in steps, and `at(x)` is the parameter at its position x. */
const SMOOTHING_PARAMETERS = {
  alpha: { symbol: "α", label: "α, added to each count", min: -3, max: 1, step: 0.1, start: 0, at: (x) => 10 ** x },
  discount: {
    symbol: "D",
    label: "D, taken from each count",
    min: 0.02,
    max: 0.98,
    step: 0.02,
    start: null,
    at: (x) => x,
  },
  lambda: {
    symbol: "λ",
    label: "λ, weight of the longer context",
    min: 0.02,
    max: 0.98,
    step: 0.02,
    start: 0.5,
    at: (x) => x,
  },
};
const SMOOTHING_KINDS = {
  none: {
    title: "none: relative frequencies",
    formula: "P(w | h) = c(hw) / c(h)",
    make: (counts) => new MaximumLikelihood(counts),
  },
  add: {
    title: "add α",
    formula: "P(w | h) = (c(hw) + α) / (c(h) + α |V|)",
    parameter: "alpha",
    make: (counts, value) => new AddAlpha(counts, value),
  },
  mixed: {
    title: "Jelinek-Mercer",
    formula: "P(w | h) = λ c(hw) / c(h) + (1 − λ) P(w | h′)",
    parameter: "lambda",
    make: (counts, value) => new JelinekMercer(counts, value),
  },
  witten: {
    title: "Witten-Bell",
    formula: "P(w | h) = (c(hw) + T(h) P(w | h′)) / (c(h) + T(h))",
    make: (counts) => new WittenBell(counts),
  },
  absolute: {
    title: "absolute discounting",
    formula: "P(w | h) = max(c(hw) − D, 0) / c(h) + γ(h) P(w | h′)",
    parameter: "discount",
    make: (counts, value) => new AbsoluteDiscounting(counts, value),
  },
  kneser: {
    title: "Kneser-Ney",
    formula: "as absolute discounting; in P(w | h′), c counts the different words before h′w",
    parameter: "discount",
    make: (counts, value) => new KneserNey(counts, value),
  },
};

/** The sentences of a text, each a list of words in small letters; punctuation marks are words. At most 2,000 words. */
function smoothingSentences(text) {
  let words = 0;
  const lines = text.split(/\n+|(?<=[.!?]["'”’]?)\s+/u);
  const sentences = lines.map(
    (line) => line.toLowerCase().match(/[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*|[^\s\p{L}\p{N}]/gu) ?? [],
  );
  return sentences.filter((one) => one.length && (words += one.length) <= SMOOTHING_MOST_WORDS);
}

/** Words in quotes, as after "seen after". */
const smoothingQuoted = (context) => `“${context.map(smoothingWord).join(" ")}”`;
/** A word as the page shows it. */
const smoothingWord = (word) => ({ "<s>": "(start)", "</s>": "(end)", "<unk>": "(unknown word)" })[word] ?? word;

/** The page: `recount` follows a change of the texts or the order, `redraw` one of the smoothing or the context. */
class SmoothingPage {
  constructor(root) {
    this.kind = "absolute";
    this.order = 3;
    this.positions = Object.fromEntries(Object.entries(SMOOTHING_PARAMETERS).map(([name, one]) => [name, one.start]));
    root.append(
      this.controls(),
      element("div", { className: "live-cards smoothing-cards" }, this.contextCard(), this.heldOutCard()),
      this.texts(),
    );
    this.recount();
  }

  controls() {
    const options = Object.entries(SMOOTHING_KINDS).map(([key, { title }]) => [key, title]);
    const kind = choice({
      label: "Smoothing",
      options,
      value: this.kind,
      onChange: (key) => {
        this.kind = key;
        this.redraw();
      },
    });
    this.sliders = Object.fromEntries(
      Object.entries(SMOOTHING_PARAMETERS).map(([name, one]) => [name, this.parameterSlider(name, one)]),
    );
    this.estimate = button("D from the counts", () => {
      this.positions.discount = null;
      this.redraw();
    });
    this.toBest = button("best for the held-out text", () => {
      this.positions[SMOOTHING_KINDS[this.kind].parameter] = this.best;
      this.redraw();
    });
    this.formula = element("p", { className: "smoothing-formula" });
    const boxes = Object.values(this.sliders).map((field) => field.box);
    return element(
      "div",
      {},
      element("div", { className: "live-fields" }, kind.box, this.orderSlider().box, ...boxes, this.estimate, this.toBest),
      this.formula,
      softText(SMOOTHING_SIGNS),
    );
  }
  orderSlider() {
    const field = slider({
      label: "Order",
      min: 1,
      max: 4,
      value: this.order,
      show: (n) => `${n}: ${["no word", "one word", "two words", "three words"][n - 1]} before`,
      onChange: (n) => {
        this.order = n;
        this.recount();
      },
    });
    field.box.querySelector("output").className = "smoothing-order";
    return field;
  }
  parameterSlider(name, { label, min, max, step, start, at }) {
    return slider({
      label,
      min,
      max,
      step,
      value: start ?? 0.5,
      show: (x) => smoothingNumber(at(x)),
      onChange: (x) => {
        this.positions[name] = x;
        this.redraw();
      },
    });
  }

  contextCard() {
    this.context = labelled(
      "After the words",
      element("input", { type: "text", value: "said the", spellcheck: false, autocomplete: "off" }),
    );
    this.context.input.addEventListener("input", () => this.redraw());
    this.examples = element("div", { className: "live-fields", role: "group", "aria-label": "Contexts of the text" });
    this.said = element("p", { "aria-live": "polite" });
    this.rows = element("div", {});
    this.groups = element("div", {});
    const title = element("h2", { textContent: "Which word comes next?" });
    return element(
      "section",
      { className: "live-card" },
      title,
      this.context.box,
      this.examples,
      this.said,
      this.groups,
      this.rows,
    );
  }
  heldOutCard() {
    this.worth = element("p", { "aria-live": "polite" });
    this.curve = element("div", {});
    this.table = element("tbody", {});
    const head = element(
      "tr",
      {},
      element("th", { scope: "col", textContent: "smoothing" }),
      element("th", { scope: "col", textContent: "perplexity" }),
    );
    return element(
      "section",
      { className: "live-card", style: { "--live-colour": "var(--live-b)" } },
      element("h2", { textContent: "What is it worth on another text?" }),
      this.worth,
      this.curve,
      element("table", { className: "smoothing-table" }, element("thead", {}, head), this.table),
    );
  }
  texts() {
    const area = (label, value, rows) => {
      const field = labelled(label, element("textarea", { rows, value, spellcheck: false }));
      field.input.addEventListener("input", () => this.recount());
      return field;
    };
    this.counted = area("Text to count: your own, if you like", SMOOTHING_TEXT, 9);
    this.heldOut = area("Held-out text: not counted, but predicted", SMOOTHING_HELD_OUT, 9);
    this.note = softText("");
    return element(
      "div",
      {},
      element("div", { className: "live-cards" }, this.counted.box, this.heldOut.box),
      this.note,
    );
  }

  /** Counts the texts again, and draws all. */
  recount() {
    const texts = smoothingSentences(this.counted.input.value);
    this.unseen = smoothingSentences(this.heldOut.input.value);
    this.allCounts = SMOOTHING_ORDERS.map((order) => new Counts(texts, order));
    this.counts = this.allCounts[this.order - 1];
    const words = texts.flat().length,
      unknown = this.unseen.flat().filter((word) => !this.counts.words.has(word));
    this.note.textContent =
      `${words} words are counted, ${this.counts.words.size - 2} of them different; ${this.unseen.flat().length} words are ` +
      `predicted, and ${unknown.length ? `these are unknown: ${[...new Set(unknown)].slice(0, 8).join(", ")}` : "none is unknown"}. ` +
      `Small letters; marks of punctuation are words; a sentence ends at . ! ? or a new line; at most ${SMOOTHING_MOST_WORDS} words are read.`;
    this.showExamples();
    this.redraw();
  }
  showExamples() {
    const contexts = [...this.counts.tables[this.order]]
      .filter(([key]) => key && !key.startsWith("<s>"))
      .sort(([, a], [, b]) => b.size - a.size);
    const buttons = contexts.slice(0, 4).map(([key]) =>
      button(key, () => {
        this.context.input.value = key;
        this.redraw();
      }),
    );
    this.examples.replaceChildren(...buttons);
    this.examples.hidden = buttons.length === 0;
  }

  /** The value of the parameter of a kind; undefined where it has none, or the counts give it. */
  value(kind) {
    const { parameter } = SMOOTHING_KINDS[kind],
      position = parameter && this.positions[parameter];
    return parameter && position !== null ? SMOOTHING_PARAMETERS[parameter].at(position) : undefined;
  }
  model(kind = this.kind) {
    return SMOOTHING_KINDS[kind].make(this.counts, this.value(kind));
  }

  redraw() {
    const { parameter, formula } = SMOOTHING_KINDS[this.kind],
      model = this.model();
    for (const [name, field] of Object.entries(this.sliders)) field.box.hidden = name !== parameter;
    this.estimate.hidden = parameter !== "discount";
    this.toBest.hidden = !parameter;
    this.formula.textContent = formula;
    if (parameter)
      this.showParameter(this.sliders[parameter], SMOOTHING_PARAMETERS[parameter], this.positions[parameter], model);
    this.showContext(model);
    this.showWorth(model);
  }
  showParameter(field, { at }, position, model) {
    const output = field.box.querySelector("output");
    const estimated = position === null ? model.discounts.slice(1).map(smoothingNumber).join(", ") : "";
    output.textContent =
      position === null ? `from the counts, n₁ / (n₁ + 2 n₂): ${estimated}` : smoothingNumber(at(position));
    field.input.value = position ?? model.discounts.at(-1);
    field.input.setAttribute("aria-valuetext", output.textContent);
  }

  // The next word

  /** The last words of the field, as many as the order looks at; a shorter beginning starts with <s>. */
  typedContext() {
    const words = ["<s>", ...this.counts.known(smoothingSentences(this.context.input.value).flat())];
    return this.order > 1 ? words.slice(1 - this.order) : [];
  }
  showContext(model) {
    const context = this.typedContext(),
      seen = this.counts.after(context) ?? new Map();
    const sum = [...seen.values()].reduce((a, b) => a + b, 0);
    const words = [...this.counts.words].map((word) => ({
      word,
      counted: sum ? (seen.get(word) ?? 0) / sum : 0,
      smoothed: model.prob(word, context),
    }));
    words.sort((a, b) => b.counted - a.counted || b.smoothed - a.smoothed);
    const total = words.reduce((all, one) => all + one.smoothed, 0);
    const moved = words.filter((one) => !seen.has(one.word)).reduce((all, one) => all + one.smoothed, 0);
    const name = context.length ? `after ${smoothingQuoted(context)}` : "without a context";
    this.said.textContent =
      (sum
        ? `${smoothingCapital(name)} the text has ${seen.size} different words; ${percent(moved)} of the probability goes to all others.`
        : `Nothing follows ${smoothingQuoted(context)} in the text: the shorter context has to say all.`) +
      ` Sum of all ${words.length} probabilities: ${total.toFixed(6)}.`;
    this.groups.replaceChildren(...this.groupRows(words, context));
    this.rows.replaceChildren(smoothingLegend(), ...smoothingShown(words, seen).map(smoothingRow));
  }
  /** Where the probability is: words seen after the whole context, after shorter ones only, and all others. */
  groupRows(words, context) {
    const groups = [];
    let rest = words;
    for (let length = context.length; length > 0; length--) {
      const part = context.slice(-length),
        followers = this.counts.after(part);
      groups.push([`seen after ${smoothingQuoted(part)}`, rest.filter((one) => followers?.has(one.word))]);
      rest = rest.filter((one) => !followers?.has(one.word));
    }
    if (!context.length) {
      const followers = this.counts.after([]);
      groups.push(["seen in the text", rest.filter((one) => followers?.has(one.word))]);
      rest = rest.filter((one) => !followers?.has(one.word));
    }
    groups.push([context.length ? "all other words" : "never seen", rest]);
    return groups
      .filter(([, members]) => members.length)
      .map(([name, members]) =>
        smoothingRow({
          name: `${name}: ${members.length} word${members.length === 1 ? "" : "s"}`,
          isGroup: true,
          counted: members.reduce((all, one) => all + one.counted, 0),
          smoothed: members.reduce((all, one) => all + one.smoothed, 0),
        }),
      );
  }

  // The held-out text

  showWorth(model) {
    const perplexity = this.unseen.length ? model.perplexity(this.unseen) : NaN;
    this.worth.textContent = Number.isNaN(perplexity)
      ? "Type a held-out text."
      : perplexity < Infinity
        ? `Perplexity of the held-out text: ${perplexity.toPrecision(3)}. The model is as unsure as if it chose among so many equally probable words.`
        : smoothingImpossible(model, this.unseen);
    const { parameter } = SMOOTHING_KINDS[this.kind];
    const points = parameter ? this.parameterPoints(SMOOTHING_PARAMETERS[parameter]) : this.orderPoints();
    const finite = points.filter((point) => Number.isFinite(point.y));
    const best = finite.reduce((found, point) => (point.y < found.y ? point : found), { y: Infinity });
    this.best = best.x ?? this.positions[parameter];
    const current = { x: parameter ? this.positions[parameter] : this.order, y: perplexity };
    this.curve.replaceChildren(
      ...(finite.length
        ? [smoothingCurve(finite, best, current, parameter ? SMOOTHING_PARAMETERS[parameter] : null)]
        : []),
    );
    this.showTable();
  }
  parameterPoints({ min, max, step, at }) {
    const steps = Math.round((max - min) / (2 * step)),
      { make } = SMOOTHING_KINDS[this.kind];
    return Array.from({ length: steps + 1 }, (_, number) => min + 2 * step * number).map((x) => ({
      x,
      y: make(this.counts, at(x)).perplexity(this.unseen),
    }));
  }
  orderPoints() {
    const { make } = SMOOTHING_KINDS[this.kind];
    return SMOOTHING_ORDERS.map((order) => ({ x: order, y: make(this.allCounts[order - 1]).perplexity(this.unseen) }));
  }
  showTable() {
    const found = Object.entries(SMOOTHING_KINDS).map(([kind, { title, parameter }]) => {
      const value = this.value(kind),
        symbol = parameter ? SMOOTHING_PARAMETERS[parameter].symbol : "";
      const setting =
        value !== undefined
          ? `, ${symbol} = ${smoothingNumber(value)}`
          : parameter
            ? `, ${symbol} from the counts`
            : "";
      return { kind, name: title + setting, perplexity: this.model(kind).perplexity(this.unseen) };
    });
    const least = Math.min(...found.map((one) => one.perplexity));
    this.table.replaceChildren(
      ...found.map(({ kind, name, perplexity }) =>
        element(
          "tr",
          { className: kind === this.kind ? "smoothing-current" : "" },
          element("th", { scope: "row", textContent: (kind === this.kind ? "▸ " : "") + name }),
          element("td", {
            textContent: smoothingPerplexity(perplexity) + (perplexity === least && least < Infinity ? " (least)" : ""),
          }),
        ),
      ),
    );
  }
}

/** A text with a capital letter in front. */
const smoothingCapital = (text) => text[0].toUpperCase() + text.slice(1);

/** The words to show: seen ones, then the most probable of the others, and the rest together. */
function smoothingShown(words, seen) {
  const first = words.filter((one) => seen.has(one.word)).slice(0, 7);
  const others = words.filter((one) => !seen.has(one.word)).slice(0, 12 - first.length);
  return [...first, ...others].map((one) => ({ ...one, name: smoothingWord(one.word) }));
}

/** A perplexity with three digits, "infinite", or "–" where there is no text. */
function smoothingPerplexity(value) {
  if (Number.isNaN(value)) return "–";
  return value < Infinity ? value.toPrecision(3) : "infinite";
}

/** Says which bar is which. */
function smoothingLegend() {
  const key = (kind, text) =>
    element("span", {}, element("span", { className: `smoothing-key smoothing-${kind}` }), ` ${text}`);
  return element(
    "p",
    { className: "live-soft smoothing-legend" },
    key("counted", "counted: c(hw) / c(h)"),
    key("smoothed", "smoothed: P(w | h)"),
  );
}

/** A row with two bars: how probable a word is by the counts alone, and with smoothing. */
function smoothingRow({ name, counted, smoothed, isGroup }) {
  const fill = (kind, p) =>
    element("span", { className: `smoothing-bar smoothing-${kind}`, style: { width: `${100 * p}%` } });
  return element(
    "div",
    { className: isGroup ? "smoothing-row smoothing-group" : "smoothing-row" },
    element("span", { className: "smoothing-name", textContent: name }),
    element("span", { className: "smoothing-track" }, fill("counted", counted), fill("smoothed", smoothed)),
    element("span", { className: "smoothing-values", textContent: `${percent(counted)} → ${percent(smoothed)}` }),
  );
}

/** Says in words why the perplexity is infinite. */
function smoothingImpossible(model, texts) {
  const impossible = [];
  for (const text of texts) {
    const stream = ["<s>", ...text, "</s>"],
      known = ["<s>", ...model.counts.known(text), "</s>"];
    for (let at = 1; at < stream.length; at++)
      if (!model.prob(known[at], known.slice(0, at)))
        impossible.push([stream.slice(Math.max(0, at - model.counts.order + 1), at), stream[at]]);
  }
  const [context, word] = impossible[0];
  const after = context.length ? ` after ${smoothingQuoted(context)}` : "";
  return (
    `The perplexity is infinite: the model holds ${impossible.length} of the words for impossible, the first of them ` +
    `“${smoothingWord(word)}”${after}. One such word, and the whole text has the probability 0.`
  );
}

/** The curve of the perplexity over a parameter, or over the order, with the current setting and the best one. */
function smoothingCurve(points, best, current, parameter) {
  const name = parameter ? parameter.symbol : "order";
  const show = (value) => (parameter ? smoothingNumber(parameter.at(value)) : String(value));
  const [from, to] = parameter ? [parameter.min, parameter.max] : [1, SMOOTHING_ORDERS.at(-1)];
  const places = parameter ? [0, 0.25, 0.5, 0.75, 1].map((part) => from + part * (to - from)) : SMOOTHING_ORDERS;
  const logs = [...points, current].map((point) => Math.log(point.y)).filter(Number.isFinite);
  const [low, high] = [Math.min(...logs), Math.max(...logs)];
  const margin = 0.02 + 0.1 * (high - low);
  const isEstimated = current.x === null;
  const least = `least: ${best.y.toPrecision(3)} at ${name} = ${show(best.x)}`;
  const chart = lineChart({
    title: `Perplexity of the held-out text over ${parameter ? name : "the order"}`,
    xLabel: name,
    kinds: {
      curve: { label: "perplexity", colour: "--live-b" },
      best: { label: least, colour: "--live-c", sign: "diamond" },
      now: isEstimated
        ? { label: "D from the counts", colour: "--live-a", dash: "6 5" }
        : { label: "now", colour: "--live-a", sign: "circle" },
    },
  });
  const at = (xs, y) => (Number.isFinite(y) ? xs.map((x) => [x, Math.log(y)]) : []);
  chart.draw({
    x: { from, to, ticks: places.map((x) => [x, show(x)]) },
    y: {
      from: low - margin,
      to: high + margin,
      ticks: (high - low > 0.12 ? [low, (low + high) / 2, high] : [low]).map((log) => [log, Math.exp(log).toPrecision(3)]),
    },
    lines: {
      curve: points.flatMap(({ x, y }) => at([x], y)),
      best: at([best.x], best.y),
      now: at(isEstimated ? [from, to] : [current.x], current.y),
    },
    summary: `The ${least}`,
  });
  return chart.box;
}

startLivePage("smoothing", (root) => new SmoothingPage(root));
