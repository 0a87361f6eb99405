"use strict";
// Parts of a page that all live pages use: elements, sliders, bars of probability.

/** A new element. Properties with a hyphen and `role` become attributes; `style` is an object of CSS properties. */
function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "style") for (const [key, css] of Object.entries(value)) made.style.setProperty(key, css);
    else if (name.includes("-") || name === "role" || name === "for") made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children);
  return made;
}

/** A new element of SVG with attributes; children are elements or texts. */
function svgElement(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** A paragraph in soft letters: an explanation. */
const softText = (text) => element("p", { className: "live-soft", textContent: text });

let elementsMade = 0;
/** An id that no other element of the page has. */
const newId = (name) => `live-${name}-${++elementsMade}`;

/** A field with its label: {box, input}; `input` is an element that has a value. */
function labelled(label, input) {
  input.id ||= newId("field");
  return { input, box: element("div", { className: "live-field" }, element("label", { for: input.id, textContent: label }), input) };
}

/** A slider with its label and its value in words: {box, input}; `onChange` is called with the number. */
function slider({ label, min, max, step = 1, value, show = String, onChange }) {
  const input = element("input", { type: "range", min, max, step, value });
  const shown = element("output", { textContent: show(Number(value)) });
  const field = labelled(label, input);
  shown.setAttribute("for", input.id);
  input.setAttribute("aria-valuetext", show(Number(value)));
  input.addEventListener("input", () => {
    shown.textContent = show(Number(input.value));
    input.setAttribute("aria-valuetext", shown.textContent);
    onChange(Number(input.value));
  });
  field.box.append(shown);
  return field;
}

/** A list to choose from: {box, input}; `options` are pairs of value and text. */
function choice({ label, options, value, onChange }) {
  const entries = options.map(([key, text]) => element("option", { value: key, textContent: text, selected: key === value }));
  const field = labelled(label, element("select", {}, ...entries));
  field.input.addEventListener("change", () => onChange(field.input.value));
  return field;
}

/** The options 1, 2, 3, ... of a list to choose from, with the values 0, 1, 2, ... */
const numbered = (count) => Array.from({ length: count }, (_, k) => [String(k), String(k + 1)]);

/** A button. */
const button = (text, onclick, properties = {}) => element("button", { type: "button", textContent: text, onclick, ...properties });

/** A probability in percent: "52 %", "3.1 %", "0.04 %". */
function percent(p) {
  const value = 100 * p;
  return `${value >= 10 || value === 0 ? value.toFixed(0) : value >= 0.1 ? value.toFixed(1) : value.toPrecision(1)} %`;
}

/** A number with so many decimals, and a minus that is as wide as a plus; without a minus where it is rounded to 0. */
function decimal(x, places = 2) {
  const text = x.toFixed(places);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
}

/** A row with a name, a bar of length p, and p in percent; a button where `onclick` is given. */
function bar(name, p, onclick) {
  const parts = [
    element("span", { className: "live-bar-name", textContent: name }),
    element("span", { className: "live-bar-track" }, element("span", { className: "live-bar-fill", style: { width: `${100 * p}%` } })),
    element("span", { className: "live-bar-value", textContent: percent(p) }),
  ];
  return onclick
    ? element("button", { type: "button", className: "live-bar", onclick }, ...parts)
    : element("div", { className: "live-bar" }, ...parts);
}

/** The background of a word that took so many bits: nothing at 0, full at 12. */
const heat = (bits) => `color-mix(in srgb, var(--live-heat) ${Math.round(85 * Math.min(1, bits / 12))}%, transparent)`;

/** Calls `start(root)` for each place of the page that is meant for the live page `name`. */
function startLivePage(name, start) {
  for (const root of document.querySelectorAll(`[data-live="${name}"]`)) {
    root.replaceChildren();
    start(root);
    root.dataset.ready = "yes";
  }
}
