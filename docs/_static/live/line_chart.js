"use strict";
// Charts of lines, as SVG.

/** The signs that a kind can have at its points in place of a line, as paths from the point on. */
const CHART_SIGNS = { diamond: "m0-7l7 7l-7 7l-7-7z", circle: "m-6 0a6 6 0 1 0 12 0a6 6 0 1 0-12 0z" };
const CHART = { width: 480, height: 190, left: 62, right: 28, top: 10, bottom: 40 };

/**
 * A chart with its title and a legend: {box, draw}. `kinds` are {name: {label, colour, dash, sign}}, a line each, or signs;
 * `draw({x, y, lines, summary})` draws anew: x and y are {from, to, ticks: [[value, text]]}, lines {name: [[x, y]]},
 * and `summary` says in words what is seen.
 */
function lineChart({ title, xLabel, kinds }) {
  const { width, height } = CHART;
  const plot = svgElement("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", class: "live-chart" });
  const legend = Object.values(kinds).map((kind) => {
    const sample = svgElement("svg", { viewBox: "0 0 34 10", class: "live-chart-sample", "aria-hidden": "true" });
    sample.append(chartPath(kind, kind.sign ? ["17 5"] : ["1 5", "33 5"]));
    return element("span", {}, sample, kind.label);
  });
  const box = element(
    "figure",
    { className: "live-figure" },
    element(
      "figcaption",
      {},
      element("strong", { textContent: title }),
      element("span", { className: "live-legend" }, ...legend),
    ),
    plot,
  );
  return { box, draw: (what) => drawLines(plot, title, xLabel, kinds, what) };
}

/** The line through places, each "x y", or a sign at each of them. */
function chartPath({ colour, dash, sign }, places) {
  return svgElement("path", {
    d: sign ? places.map((place) => `M${place}${CHART_SIGNS[sign]}`).join("") : `M${places.join("L")}`,
    fill: sign ? "var(--live-card)" : "none",
    stroke: `var(${colour})`,
    "stroke-width": 2.5,
    "stroke-dasharray": dash ?? "none",
  });
}

function drawLines(plot, title, xLabel, kinds, { x, y, lines, summary }) {
  const { width, height, left, right, top, bottom } = CHART;
  const across = (value) => left + ((value - x.from) / (x.to - x.from || 1)) * (width - left - right);
  const up = (value) => height - bottom - ((value - y.from) / (y.to - y.from)) * (height - top - bottom);
  const parts = [];
  for (const [value, text] of y.ticks) {
    parts.push(svgElement("path", { d: `M${left} ${up(value)}H${width - right}`, class: "live-chart-grid" }));
    parts.push(svgElement("text", { x: left - 6, y: up(value) + 4.5, "text-anchor": "end" }, text));
  }
  for (const [value, text] of x.ticks)
    parts.push(svgElement("text", { x: across(value), y: height - bottom + 17, "text-anchor": "middle" }, text));
  parts.push(svgElement("text", { x: (left + width - right) / 2, y: height - 5, "text-anchor": "middle" }, xLabel));
  for (const [name, points] of Object.entries(lines)) {
    const inside = points.map(
      ([a, b]) => `${across(a).toFixed(1)} ${Math.min(height - bottom, Math.max(top, up(b))).toFixed(1)}`,
    );
    if (inside.length) parts.push(chartPath(kinds[name], inside));
  }
  plot.replaceChildren(...parts);
  plot.setAttribute("aria-label", `${title}. ${summary}`);
}
