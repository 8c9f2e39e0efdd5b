// Editor of a TOML text: its quantities as input fields, and mistakes marked at their lines.
import { button, download, fill, h, list, settled } from "./dom.js";

const HEAD = /^\s*\[\[?\s*([\w.-]+)\s*\]\]?/;
const NAME = /^\s*(?:name|between)\s*=\s*(.+)/;
const QUANTITY = /([\w-]+)\s*=\s*("[0-9][^"]*"|-?[0-9][0-9_.e+-]*)(?=\s*[,}\]#]|\s*$)/g;
const SKIPPED = new Set(["schema_version", "propagation_s_per_m"]);
/** Edited texts without mistakes, by the name of the bundled file that was edited. */
export const drafts = new Map();
const BARE = { spellcheck: "false", autocomplete: "off" };

/** Find the quantities of a TOML text by table: title of the table, and key, value and position of each quantity. */
export function quantities(toml) {
  const tables = [{ title: "file", found: [] }];
  toml.split("\n").forEach((line, at) => {
    const head = line.match(HEAD), last = tables.at(-1);
    if (head) return tables.push({ title: head[1], found: [] });
    const name = line.match(NAME)?.[1].replace(/#.*|["[\]]/g, "").replaceAll(", ", " – ").trim();
    if (name && tables.length > 1 && !last.title.includes(":")) last.title += `: ${name}`;
    if (/^\s*#/.test(line)) return;
    for (const match of line.matchAll(QUANTITY)) {
      if (SKIPPED.has(match[1])) continue;
      const to = match.index + match[0].length, from = to - match[2].length;
      last.found.push({ key: match[1], value: match[2].replaceAll('"', ""), quoted: match[2].startsWith('"'), at, from, to });
    }
  });
  return tables.filter((one) => one.found.length);
}

/** Make an editor; it calls `onchange(text)` 250 ms after the last change. */
export function editor(label, onchange) {
  const gutter = h("pre", { class: "gutter", "aria-hidden": "true" }), marks = h("div", { class: "marks" });
  const refusal = h("div", { class: "problem", id: "toml-problem", role: "alert" });
  const area = h("textarea", { id: "toml", "aria-label": label, "aria-describedby": "toml-problem", wrap: "off", ...BARE });
  const numbers = h("div", { class: "quantities" });
  const soon = settled(() => onchange(area.value), 250);

  /** Show the line numbers and the quantities of the text. */
  function show() {
    gutter.textContent = area.value.split("\n").map((_, at) => at + 1).join("\n");
    showFields();
  }
  function edited() {
    show();
    soon();
  }
  area.addEventListener("input", edited);
  area.addEventListener("scroll", () => {
    gutter.scrollTop = area.scrollTop;
    marks.style.transform = `translateY(${-area.scrollTop}px)`;
  });

  /** Show the quantities of the text as input fields, by table. */
  function showFields() {
    const field = (one) => h("label", {}, h("span", {}, one.key),
      h("input", { type: "text", value: one.value, "data-line": one.at + 1, onchange: (event) => replace(one, event.target.value), ...BARE }));
    fill(numbers, quantities(area.value).map(({ title, found }) => h("fieldset", {}, h("legend", {}, title), found.map(field))));
  }
  function replace(one, value) {
    const rows = area.value.split("\n"), row = rows[one.at];
    rows[one.at] = row.slice(0, one.from) + (one.quoted ? `"${value.replace(/["\\]/g, "")}"` : value) + row.slice(one.to);
    area.value = rows.join("\n");
    const place = [...numbers.querySelectorAll("input")].indexOf(document.activeElement);
    edited();
    numbers.querySelectorAll("input")[place]?.focus();
  }

  // --- two tabs, and the file --------------------------------------------------------------

  const turn = (event, at) => {
    if (!/^Arrow(Left|Right)$/.test(event.key)) return;
    open(1 - at);
    tabs[1 - at].focus();
  };
  const tabs = ["Numbers", "TOML"].map((title, at) => h("button", {
    type: "button", role: "tab", id: `tab-${at}`, "aria-controls": `panel-${at}`, onclick: () => open(at), onkeydown: (event) => turn(event, at),
  }, title));
  const panels = [numbers, [gutter, marks, area]].map((contents, at) =>
    h("div", { role: "tabpanel", id: `panel-${at}`, "aria-labelledby": `tab-${at}`, class: at ? "code" : null }, contents));
  function open(which) {
    tabs.forEach((tab, at) => {
      tab.setAttribute("aria-selected", String(at === which));
      tab.tabIndex = at === which ? 0 : -1;
      panels[at].hidden = at !== which;
    });
  }
  open(0);
  async function read(files) {
    if (!files.length) return;
    area.value = await files[0].text();
    edited();
  }
  async function choose({ target }) {
    await read(target.files);
    target.value = "";
  }
  function drop(event) {
    event.preventDefault();
    read(event.dataTransfer.files);
  }
  const name = () => area.value.match(/^name\s*=\s*"([\w-]+)"/m)?.[1] ?? "icmodel";
  const element = h("section", { class: "editor", "aria-label": "The file", ondragover: (event) => event.preventDefault(), ondrop: drop },
    h("div", { class: "tabs" }, h("div", { role: "tablist", "aria-label": "The file" }, tabs), h("span", { class: "spring" }),
      h("label", { class: "file" }, "Open a file", h("input", { type: "file", accept: ".toml", onchange: choose })),
      button("Save as TOML", () => download(`${name()}.toml`, area.value))),
    panels, refusal);

  /** Mark mistakes at their lines; without mistakes, remove all marks. */
  function fail(mistakes = []) {
    const lines = mistakes.map((one) => one.line).filter(Boolean);
    fill(refusal, list(mistakes.map(({ line, message }) => `${line ? `Line ${line}: ` : ""}${message}`), "mistakes"));
    const wrong = [mistakes.length > 0 && area, ...lines.flatMap((line) => [...numbers.querySelectorAll(`[data-line="${line}"]`)])];
    for (const field of [area, ...numbers.querySelectorAll("input")]) {
      if (wrong.includes(field)) field.setAttribute("aria-invalid", "true");
      else field.removeAttribute("aria-invalid");
    }
    const height = parseFloat(getComputedStyle(area).lineHeight) || 20;
    fill(marks, lines.map((line) => {
      const mark = h("div", { class: "mark" });
      mark.style.top = `${(line - 1) * height}px`;
      return mark;
    }));
    if (lines.length && document.activeElement !== area) area.scrollTop = Math.max((lines[0] - 4) * height, 0);
  }

  return {
    element,
    fail,
    get text() {
      return area.value;
    },
    set(text) {
      area.value = text;
      show();
      fail();
    },
  };
}
