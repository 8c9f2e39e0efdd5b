// Blocks of a report as HTML elements, with the same content as in the report's other formats.
import { badge, bars, basisBadge, facts, h, list, scroll } from "./dom.js";

const BASES = new Set(["measured", "tabulated", "stated", "theory", "derived", "interpolated", "assumed", "extrapolated"]);

const SHOW = {
  text: ({ text }) => h("p", {}, text),
  heading: ({ text, outcome, note }) => h("h3", {}, text, " ", outcome && badge(outcome), note && h("small", {}, note)),
  items: ({ title, items }) => [title && h("h4", {}, title), list(items)],
  facts: ({ pairs, code }) => facts(pairs, code ? "facts code" : "facts"),
  bars: ({ caption, bars: parts }) => bars(caption, parts),
  fold: ({ title, outcome, blocks }) =>
    h("details", {}, h("summary", {}, title, " ", outcome && badge(outcome)), h("div", {}, blocks.map(show))),
  table: ({ caption, columns, rows, numbers }) => {
    const style = columns.map((name) => (numbers.includes(name) ? "number" : null));
    const head = h("tr", {}, columns.map((name, at) => h("th", { scope: "col", class: style[at] }, name)));
    const body = rows.map((row) => h("tr", {}, row.map((cell, at) => h("td", { class: style[at] }, contents(cell)))));
    return scroll(caption || "Table", h("table", {}, h("caption", {}, caption), h("thead", {}, head), h("tbody", {}, body)));
  },
};

const contents = ({ text, name, outcome, gauge, note }) => [
  text && (BASES.has(text) ? basisBadge(text) : h("span", {}, text)),
  name && h("code", {}, name),
  outcome && badge(outcome),
  gauge && drawGauge(gauge),
  note && h("small", {}, note),
];

/** Draw interval, value and limit; the row's texts state the same numbers. */
function drawGauge({ limit, low, high, value, at_least: atLeast }) {
  const mark = (kind, left, right) => {
    const one = h("i", { class: kind });
    one.style.left = `${100 * left}%`;
    if (right !== undefined) one.style.width = `${100 * Math.max(right - left, 0)}%`;
    return one;
  };
  const [first, last] = atLeast ? [limit, 1] : [0, limit];
  return h("div", { class: "gauge", "aria-hidden": "true" },
    mark("allowed", first, last), mark("interval", low, high), value !== null && mark("value", value), mark("limit", limit));
}

export const show = (block) => SHOW[block.kind](block);

/** Make a report: the verdict with its parts, then the sections; sections named in `folded` are closed. */
export function report({ outcome, sentence, parts, sections }, folded = []) {
  const verdict = sentence && h("section", { class: `verdict ${outcome.replace(" ", "-")}`, "aria-label": "The verdict" },
    h("p", {}, badge(outcome)), h("p", { class: "sentence" }, sentence), facts(parts));
  const section = ({ anchor, title, blocks }) => folded.includes(anchor)
    ? h("details", { class: "section", id: anchor }, h("summary", {}, title), blocks.map(show))
    : h("section", { class: "section", id: anchor }, h("h2", {}, title), blocks.map(show));
  return [verdict, sections.map(section)];
}
