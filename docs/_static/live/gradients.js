"use strict";
// Vanishing gradients: an Elman network and an LSTM learn in the page to remember the first word of a text.

const NETWORKS = {
  elman: { title: "Elman network", make: ElmanLearner, colour: "--live-b" },
  lstm: { title: "LSTM", make: LstmLearner, colour: "--live-a" },
};
const GRADIENT_LINES = {
  "elman h": { label: "Elman, ∂L/∂h", colour: "--live-b", dash: "9 3 2 3" },
  "lstm h": { label: "LSTM, ∂L/∂h", colour: "--live-a" },
  "lstm c": { label: "LSTM, ∂L/∂c", colour: "--live-a", dash: "7 4" },
};
const TRAINING_LINES = {
  elman: { label: "Elman network", colour: "--live-b", dash: "9 3 2 3" },
  lstm: { label: "LSTM", colour: "--live-a" },
};
const CLIP_LIMITS = [0.1, 0.3, 1, 3, 10, Infinity];
/** The value of a slider in words. */
const SETTING_TEXTS = {
  clip: (at) => (CLIP_LIMITS[at] === Infinity ? "none" : String(CLIP_LIMITS[at])),
  scale: (times) => `${times} times`,
};
const GRADIENT_EXAMPLES = {
  "20 words": {},
  "5 words": { length: 5 },
  "an LSTM that starts forgetful": { forgetBias: 0 },
  "larger weights V": { scale: 3 },
  "larger weights, no clipping": { scale: 3, clip: Infinity },
};
const TEST_TEXTS = 200;
const GRADIENT_TEXTS = 12;
const MEAN_OF_STEPS = 20;

/** The page: its settings, the two trainings, and what they have shown so far. */
class GradientsPage {
  constructor(root) {
    this.root = root;
    this.settings = { ...RECALL_DEFAULTS };
    this.textNumber = 0;
    this.calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const xLabel = "position of the word in the text";
    this.charts = {
      before: lineChart({ title: "Gradient before training", xLabel, kinds: GRADIENT_LINES }),
      right: lineChart({ title: "Right answers", xLabel: "step", kinds: TRAINING_LINES }),
      now: lineChart({ title: "Gradient now", xLabel, kinds: GRADIENT_LINES }),
      loss: lineChart({ title: "Loss L", xLabel: "step", kinds: TRAINING_LINES }),
    };
  }

  show() {
    this.controls = this.makeControls();
    this.startButton = button("Stop", () => (this.running ? this.stop() : this.begin()));
    this.status = element("p", { role: "status", className: "live-status" });
    this.text = element("p");
    this.cards = element("div", { className: "live-cards" });
    this.examples = Object.entries(GRADIENT_EXAMPLES).map(([name, changes]) =>
      button(name, () => this.change({ ...RECALL_DEFAULTS, seed: this.settings.seed, ...changes })),
    );
    this.root.append(
      element("p", {
        textContent:
          "Each text starts with an animal; other words follow. Having read the last one, a network says which animal it was.",
      }),
      element("div", { className: "live-buttons" }, "Try:", ...this.examples),
      element(
        "div",
        { className: "live-fields" },
        this.startButton,
        ...Object.values(this.controls).map((field) => field.box),
      ),
      this.status,
      element("div", { className: "live-figures" }, ...Object.values(this.charts).map((chart) => chart.box)),
      ...gradientNotes(),
      element(
        "div",
        { className: "live-buttons" },
        button("Another text", () => {
          this.textNumber++;
          this.drawAnswers();
        }),
      ),
      this.text,
      this.cards,
    );
    this.begin();
  }

  makeControls() {
    const set = (name) => (value) => this.change({ ...this.settings, [name]: value });
    const { length, scale, forgetBias, clip, seed } = this.settings;
    return {
      length: slider({ label: "Words in a text, T", min: 2, max: 40, value: length, onChange: set("length") }),
      clip: slider({
        label: "Clip |g| to",
        min: 0,
        max: CLIP_LIMITS.length - 1,
        value: CLIP_LIMITS.indexOf(clip),
        show: SETTING_TEXTS.clip,
        onChange: (at) => set("clip")(CLIP_LIMITS[at]),
      }),
      scale: slider({
        label: "Size of V at the start",
        min: 0.5,
        max: 4,
        step: 0.5,
        value: scale,
        show: SETTING_TEXTS.scale,
        onChange: set("scale"),
      }),
      forgetBias: slider({
        label: "LSTM's forget gate at the start, bias +",
        min: 0,
        max: 5,
        value: forgetBias,
        onChange: set("forgetBias"),
      }),
      seed: choice({
        label: "Random start",
        options: [1, 2, 3, 4, 5].map((n) => [String(n), String(n)]),
        value: String(seed),
        onChange: (value) => set("seed")(Number(value)),
      }),
    };
  }

  /** Takes other settings, shows them at the controls, and trains anew. */
  change(settings) {
    this.settings = settings;
    const values = { ...settings, clip: CLIP_LIMITS.indexOf(settings.clip) };
    for (const [name, { input }] of Object.entries(this.controls)) {
      input.value = values[name];
      const shown = this.root.querySelector(`output[for="${input.id}"]`);
      if (!shown) continue;
      shown.textContent = (SETTING_TEXTS[name] ?? String)(values[name]);
      input.setAttribute("aria-valuetext", shown.textContent);
    }
    this.begin();
  }

  /** Makes two new networks and starts their training. */
  begin() {
    const names = Object.keys(NETWORKS);
    this.trainings = Object.fromEntries(
      names.map((name) => [name, new RecallTraining(NETWORKS[name].make, this.settings)]),
    );
    this.history = Object.fromEntries(names.map((name) => [name, []]));
    this.tests = recallTexts(this.settings.length, TEST_TEXTS);
    this.before = this.now = this.gradients();
    this.markExample();
    this.running = true;
    this.startButton.textContent = "Stop";
    this.status.textContent = "Training ...";
    this.drawCharts();
    this.drawAnswers();
    const run = (this.run = (this.run ?? 0) + 1);
    const frame = () => {
      if (this.running && this.run === run) {
        this.trainAWhile();
        requestAnimationFrame(frame);
      }
    };
    requestAnimationFrame(frame);
  }

  /** Marks the button of the example whose settings are those of now. */
  markExample() {
    this.examples.forEach((one, k) => {
      const wanted = { ...RECALL_DEFAULTS, ...Object.values(GRADIENT_EXAMPLES)[k], seed: this.settings.seed };
      const same = Object.entries(wanted).every(([name, value]) => this.settings[name] === value);
      one.setAttribute("aria-pressed", same);
    });
  }

  /** Trains for about 20 milliseconds, and draws. */
  trainAWhile() {
    const end = performance.now() + 20;
    do {
      for (const [name, training] of Object.entries(this.trainings)) this.history[name].push(training.step());
      if (this.steps() >= this.settings.steps) return this.stop();
    } while (performance.now() < end);
    if (this.calm) return;
    this.now = this.gradients();
    this.drawCharts();
  }
  steps() {
    return this.history.elman.length;
  }

  /** Ends the training, and says what came out. */
  stop() {
    this.running = false;
    this.startButton.textContent = "Train again";
    this.now = this.gradients();
    this.drawCharts();
    this.drawAnswers();
    const right = (name) => percent(this.trainings[name].accuracy(this.tests));
    const share = (line) => shareInWords(this.before[line][0] / this.before[line].at(-1));
    const clipped = (name) =>
      `${this.trainings[name].clipped} times (largest |g| ${this.trainings[name].largest.toFixed(1)})`;
    this.status.replaceChildren(
      `After ${this.steps()} steps, right answers for ${TEST_TEXTS} new texts of ${this.settings.length} words: `,
      element("strong", { textContent: `Elman ${right("elman")}, LSTM ${right("lstm")}` }),
      " (guessing: 25 %). ",
      `Before training the first word got, of the last one's gradient, ${share("elman h")} in the Elman network, `,
      `and ${share("lstm c")} in the LSTM along c. `,
      `Clipped: Elman ${clipped("elman")}, LSTM ${clipped("lstm")}.`,
    );
  }

  /** |∂L/∂h| and |∂L/∂c| by position: {"elman h", "lstm h", "lstm c"}. */
  gradients() {
    const texts = this.tests.slice(0, GRADIENT_TEXTS);
    const [elman, lstm] = [this.trainings.elman.gradientNorms(texts), this.trainings.lstm.gradientNorms(texts)];
    return { "elman h": elman.h, "lstm h": lstm.h, "lstm c": lstm.c };
  }

  drawCharts() {
    this.drawCurve("right", percent, {
      from: 0,
      to: 1,
      ticks: [0, 0.25, 0.5, 0.75, 1].map((p) => [p, `${100 * p} %`]),
    });
    const lossesOf = (past) => meanOfLast(past.map((step) => step.loss), MEAN_OF_STEPS);
    const losses = Object.values(this.history).flatMap(lossesOf);
    const most = Math.ceil(losses.reduce((largest, [, loss]) => Math.max(largest, loss), 2.5) * 2) / 2;
    const lossTicks = most > 4 ? [0, most / 2, most] : [0, 1, 2];
    this.drawCurve("loss", (l) => l.toFixed(2), { from: 0, to: most, ticks: lossTicks.map((l) => [l, l]) });
    const norms = [this.before, this.now].flatMap((one) => Object.values(one));
    const powers = norms.flatMap(shares);
    const from = Math.max(-16, Math.min(-6, 2 * Math.floor(Math.min(...powers) / 2)));
    const to = Math.min(16, Math.max(2, 2 * Math.ceil(Math.max(...powers) / 2)));
    for (const name of ["before", "now"]) this.drawGradients(this.charts[name], this[name], { from, to });
  }

  /** Draws a field of the steps so far, a line for each network. */
  drawCurve(field, show, y) {
    const { steps } = this.settings;
    const x = { from: 0, to: steps, ticks: [0, 1, 2, 3, 4].map((k) => [(k * steps) / 4, (k * steps) / 4]) };
    const lines = {};
    const ends = [];
    for (const [name, past] of Object.entries(this.history)) {
      const values = past.map((step) => step[field]);
      lines[name] = meanOfLast(values, MEAN_OF_STEPS);
      ends.push(`${NETWORKS[name].title}: ${values.length ? show(lines[name].at(-1)[1]) : "nothing yet"}`);
    }
    this.charts[field].draw({ x, y, lines, summary: ends.join(", ") });
  }

  /** Draws lengths of gradients as shares of the last one, from 10^from to 10^to. */
  drawGradients(chart, norms, { from, to }) {
    const last = this.settings.length;
    const lines = Object.fromEntries(
      Object.entries(norms).map(([name, values]) => [name, shares(values).map((y, t) => [t + 1, y])]),
    );
    const powers = [];
    for (let power = from; power <= to; power += to - from > 10 ? 4 : 2)
      powers.push([power, power ? `10${superscript(power)}` : "1"]);
    const middle = Math.round((1 + last) / 2);
    const ticks = [...new Set([1, middle, last])].map((t) => [t, t]);
    const summary = Object.entries(norms)
      .map(([name, values]) => `${GRADIENT_LINES[name].label}: ${shareInWords(values[0] / values.at(-1))}`)
      .join("; ");
    chart.draw({
      x: { from: 1, to: last, ticks },
      y: { from, to, ticks: powers },
      lines,
      summary: `At the first word, of that at the last: ${summary}`,
    });
  }

  drawAnswers() {
    const example = this.tests[this.textNumber % TEST_TEXTS];
    const [first, ...others] = example.text.map((word) => RECALL_WORDS[word]);
    this.text.replaceChildren(element("strong", { textContent: first }), ` ${others.join(" ")} → which animal?`);
    this.cards.replaceChildren(
      ...Object.entries(NETWORKS).map(([name, { title, colour }]) => {
        const { logProbs } = recallLoss(this.trainings[name].model, example);
        return element(
          "section",
          { className: "live-card", style: { "--live-colour": `var(${colour})` } },
          element("h2", { textContent: `${title} after ${this.steps()} steps` }),
          ...ANIMALS.map((animal, k) => bar(animal, Math.exp(logProbs[k]))),
        );
      }),
    );
  }
}

/** What the curves are, in a few lines. */
function gradientNotes() {
  return [
    `Gradients: the length of ∂L/∂h at each word, divided by that at the last word, as the mean over ${GRADIENT_TEXTS} texts, ` +
      "on a logarithmic scale. A word at 10⁻⁶ is felt a million times less than the last one.",
    "An LSTM has a second path, its cell c: a step along it multiplies by the forget gate f. ∂L/∂h leaves this path out; " +
      "∂L/∂c has it.",
    `Right answers and loss are those of the texts of the training, as means of the last ${MEAN_OF_STEPS} steps.`,
    "Clip: a gradient g that is longer than this is shortened to it. Size of V: 1 is the usual start, between −1/√16 and " +
      "1/√16. Bias: what is added to the forget gate's; with 4, f starts near 0.98, with 0 near 0.5.",
  ].map(softText);
}

/** log10 of each number as a share of the last one. */
const shares = (norms) =>
  Array.from(norms, (value) => Math.log10(Math.max(value, 1e-300) / Math.max(norms.at(-1), 1e-300)));

/** Points [step, mean of the last `count` values up to it]. */
function meanOfLast(values, count) {
  let sum = 0;
  return values.map((value, k) => {
    sum += value - (values[k - count] ?? 0);
    return [k + 1, sum / Math.min(k + 1, count)];
  });
}

/** "45 %", "1/400,000", "2.5 times": a share of a whole. */
function shareInWords(share) {
  if (share >= 1.5) return `${share.toFixed(1)} times`;
  if (share >= 0.01) return percent(share);
  return share > 1e-12
    ? `1/${Number((1 / share).toPrecision(1)).toLocaleString("en")}`
    : "less than 1/1,000,000,000,000";
}

/** A whole number as superscript. */
const superscript = (n) => [...String(n)].map((digit) => (digit === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit])).join("");

startLivePage("gradients", (root) => new GradientsPage(root).show());
