// Blocks of a report as elements: the same content as in the report's other formats.
import { badge, basisBadge, h } from "./dom.js";
import { bars } from "./whatif.js";

const BASES = new Set(["measured", "tabulated", "stated", "theory", "derived", "interpolated", "assumed", "extrapolated"]);

const SHOW = {
  text: ({ text }) => h("p", {}, text),
  heading: ({ text, outcome, note }) => h("h3", {}, text, " ", outcome && badge(outcome), note && h("small", {}, note)),
  items: ({ title, items }) => [title && h("h4", {}, title), h("ul", {}, items.map((item) => h("li", {}, item)))],
  facts: ({ pairs, code }) => h("dl", { class: code ? "facts code" : "facts" }, pairs.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
  bars: ({ caption, bars: list }) => bars(caption, list),
  fold: ({ title, outcome, blocks }) => h("details", {}, h("summary", {}, title, " ", outcome && badge(outcome)), h("div", {}, blocks.map(show))),
  table: ({ caption, columns, rows, numbers }) => h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption || "Table" },
    h("table", {}, h("caption", {}, caption), h("thead", {}, h("tr", {}, columns.map((name) => h("th", { scope: "col", class: numbers.includes(name) ? "number" : null }, name)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, at) => h("td", { class: numbers.includes(columns[at]) ? "number" : null }, contents(cell)))))))),
};

const contents = (cell) => [
  cell.text && (BASES.has(cell.text) ? basisBadge(cell.text) : h("span", {}, cell.text)),
  cell.name && h("code", {}, cell.name), cell.outcome && badge(cell.outcome), cell.gauge && gauge(cell.gauge), cell.note && h("small", {}, cell.note)];

/** Draw interval, value and limit; the row's texts state the same numbers. */
function gauge({ limit, low, high, value, at_least: atLeast }) {
  const mark = (kind, left, right) => {
    const one = h("i", { class: kind });
    one.style.left = `${100 * left}%`;
    if (right !== undefined) one.style.width = `${100 * Math.max(right - left, 0)}%`;
    return one;
  };
  const [first, last] = atLeast ? [limit, 1] : [0, limit];
  return h("div", { class: "gauge", "aria-hidden": "true" }, mark("allowed", first, last), mark("interval", low, high), value !== null && mark("value", value), mark("limit", limit));
}

export const show = (block) => SHOW[block.kind](block);

/** A verdict in one sentence with its parts, and then the sections. */
export function report({ outcome, sentence, parts, sections }, folded = []) {
  return [
    sentence && h("section", { class: `verdict ${outcome.replace(" ", "-")}`, "aria-label": "The verdict" }, h("p", {}, badge(outcome)), h("p", { class: "sentence" }, sentence),
      h("dl", { class: "facts" }, parts.map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text))))),
    sections.map(({ anchor, title, blocks }) => folded.includes(anchor)
      ? h("details", { class: "section" }, h("summary", {}, title), blocks.map(show))
      : h("section", { class: "section", id: anchor }, h("h2", {}, title), blocks.map(show))),
  ];
}
