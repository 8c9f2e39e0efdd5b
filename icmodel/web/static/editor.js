// A TOML text beside what it says: its numbers as fields, and errors at their line.
import { download, fill, h, settled } from "./dom.js";

const HEAD = /^\s*\[\[?\s*([\w.-]+)\s*\]\]?/;
const NAME = /^\s*(?:name|between)\s*=\s*(.+)/;
const QUANTITY = /([\w-]+)\s*=\s*("[0-9][^"]*"|-?[0-9][0-9_.e+-]*)(?=\s*[,}\]#]|\s*$)/g;
const SKIPPED = new Set(["schema_version", "propagation_s_per_m"]);

/** Find the quantities of a TOML text: label, value, and where the value stands. */
export function quantities(toml) {
  const found = [];
  let table = "", number = 0, name = "";
  toml.split("\n").forEach((line, at) => {
    const head = line.match(HEAD);
    if (head) [table, name, number] = [head[1], "", number + 1];
    if (table) name ||= line.match(NAME)?.[1].replace(/#.*|["\[\]]/g, "").replaceAll(", ", " – ").trim() ?? "";
    if (/^\s*#/.test(line)) return;
    for (const match of line.matchAll(QUANTITY)) {
      if (SKIPPED.has(match[1])) continue;
      const from = match.index + match[0].length - match[2].length;
      found.push({ table, number, key: match[1], value: match[2].replaceAll('"', ""), quoted: match[2].startsWith('"'), line: at, from, to: from + match[2].length });
    }
    for (const one of found) if (one.number === number) one.name = name;
  });
  return found;
}

/** An editor; `onchange(text)` is called soon after a change. */
export function editor(label, onchange) {
  const gutter = h("pre", { class: "gutter", "aria-hidden": "true" }), mark = h("div", { class: "mark", hidden: true });
  const refusal = h("p", { class: "problem", id: "toml-problem", role: "alert" });
  const area = h("textarea", { id: "toml", "aria-label": label, "aria-describedby": "toml-problem", spellcheck: "false", autocomplete: "off", wrap: "off" });
  const list = h("div", { class: "quantities" });
  const soon = settled((text) => onchange(text), 250);
  let changed = false;

  function lines() {
    gutter.textContent = Array.from({ length: area.value.split("\n").length }, (_, at) => at + 1).join("\n");
  }
  function edited() {
    changed = true;
    lines();
    soon(area.value);
  }
  area.addEventListener("input", () => (fields(), edited()));
  area.addEventListener("scroll", () => {
    gutter.scrollTop = area.scrollTop;
    mark.style.transform = `translateY(${-area.scrollTop}px)`;
  });

  /** Show the numbers of the text as fields, by table. */
  function fields() {
    const groups = Map.groupBy ? Map.groupBy(quantities(area.value), (one) => one.number) : new Map();
    fill(list, [...groups.values()].map((some) => h("fieldset", {}, h("legend", {}, `${some[0].table || "file"}${some[0].name ? `: ${some[0].name}` : ""}`),
      some.map((one) => h("label", {}, h("span", {}, one.key), h("input", { type: "text", value: one.value, spellcheck: "false", autocomplete: "off", "data-line": one.line + 1, onchange: (event) => replace(one, event.target.value) }))))));
  }
  function replace(one, value) {
    const rows = area.value.split("\n"), row = rows[one.line];
    rows[one.line] = row.slice(0, one.from) + (one.quoted ? `"${value.replace(/["\\]/g, "")}"` : value) + row.slice(one.to);
    area.value = rows.join("\n");
    const order = [...list.querySelectorAll("input")], at = order.indexOf(document.activeElement);
    fields();
    list.querySelectorAll("input")[at]?.focus();
    edited();
  }

  const tabs = ["Numbers", "TOML"].map((title, at) => h("button", { type: "button", role: "tab", id: `tab-${at}`, "aria-controls": `panel-${at}`, onclick: () => open(at),
    onkeydown: (event) => /^Arrow(Left|Right)$/.test(event.key) && (open(1 - at), tabs[1 - at].focus()) }, title));
  const panels = [h("div", { role: "tabpanel", id: "panel-0", "aria-labelledby": "tab-0" }, list), h("div", { role: "tabpanel", id: "panel-1", "aria-labelledby": "tab-1", class: "code" }, gutter, mark, area)];
  function open(which) {
    tabs.forEach((tab, at) => {
      tab.setAttribute("aria-selected", String(at === which));
      tab.tabIndex = at === which ? 0 : -1;
      panels[at].hidden = at !== which;
    });
  }
  open(0);
  const save = h("button", { type: "button", class: "quiet", onclick: () => download(`${area.value.match(/^name\s*=\s*"([\w-]+)"/m)?.[1] ?? "icmodel"}.toml`, area.value) }, "Save as TOML");
  const own = h("label", { class: "file quiet" }, "Open a file", h("input", { type: "file", accept: ".toml", onchange: async (event) => {
    const [file] = event.target.files;
    if (!file) return;
    area.value = await file.text();
    event.target.value = "";
    fields();
    edited();
  } }));
  const element = h("section", { class: "editor", "aria-label": "The file" }, h("div", { class: "tabs" }, h("div", { role: "tablist", "aria-label": "The file" }, tabs), h("span", { class: "spring" }), own, save), panels, refusal);

  return {
    element,
    get text() { return area.value; },
    get changed() { return changed; },
    set(text) {
      area.value = text;
      changed = false;
      lines();
      fields();
      this.fail();
    },
    /** Show an error at its line, or nothing. */
    fail(message = "", line = null) {
      refusal.textContent = message ? `${line ? `Line ${line}: ` : ""}${message}` : "";
      mark.hidden = !line;
      for (const input of list.querySelectorAll("input")) {
        if (message && Number(input.dataset.line) === line) input.setAttribute("aria-invalid", "true");
        else input.removeAttribute("aria-invalid");
      }
      if (message) area.setAttribute("aria-invalid", "true");
      else area.removeAttribute("aria-invalid");
      if (!line) return;
      const height = parseFloat(getComputedStyle(area).lineHeight) || 20;
      mark.style.top = `${(line - 1) * height}px`;
      if (document.activeElement !== area) area.scrollTop = Math.max((line - 4) * height, 0);
    },
  };
}
