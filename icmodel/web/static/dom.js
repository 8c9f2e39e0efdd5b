// Elements, requests and texts that all pages use.

/** Make an element with attributes and children. A key `onclick` is a listener, and a key `.value` a property. */
export function h(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key.startsWith(".")) made[key.slice(1)] = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...parts(children));
  return made;
}

const parts = (children) => children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false && one !== "");

/** Replace the contents of an element. */
export const fill = (host, ...children) => host.replaceChildren(...parts(children));

/** Announce a short text to screen readers. */
export function say(text) {
  document.getElementById("live").textContent = text;
}

// --- requests ------------------------------------------------------------------------------

let pending = 0;

async function request(path, options) {
  document.documentElement.dataset.pending = ++pending;
  try {
    const response = await fetch(`api/v1/${path}`, options).catch(() => {
      throw new Error("The server does not answer: start icmodel serve again, and reload this page.");
    });
    const body = await response.json();
    if (!response.ok) throw new Error(body.detail ?? body.title ?? `The server refused (${response.status}).`);
    return body;
  } finally {
    document.documentElement.dataset.pending = --pending;
  }
}

export const get = (path) => request(path);
export const post = (path, body) =>
  request(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

/** Return a function that runs `work`, one call at a time. Of the calls that wait, only the latest runs next. */
export function latest(work) {
  let running = false, next = null;
  return async function call(...given) {
    if (running) return void (next = given);
    running = true;
    try {
      await work(...given);
    } finally {
      running = false;
      if (next) {
        const then = next;
        next = null;
        call(...then);
      }
    }
  };
}

/** Return a function that runs `work` once, when no further call has come for `pause` milliseconds. */
export function settled(work, pause = 300) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...given), pause);
  };
}

// --- texts of numbers ----------------------------------------------------------------------

const LARGE = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
const UNITS = [
  [/_bytes$/, " B", [[1, ""]]],
  [/_bps$/, "b/s", LARGE],
  [/_fps$|_per_s$/, "/s", [[1, ""]]],
  [/_s_per_byte$/, "s/B", [[1e-6, "µ"], [1e-9, "n"], [1e-12, "p"]]],
  [/_s$/, "s", [[1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]]],
  [/_m$/, "m", [[1e3, "k"], [1, ""]]],
  [/_cores$/, " cores", [[1, ""]]],
  [/^cpu_(send|recv)|loss_rate$/, " %", [[0.01, ""]]],
];

/** Format an SI number with the unit that its name states, so that the command line can parse it. */
export function text(name, value, digits = 4) {
  const [, unit, steps] = UNITS.find(([pattern]) => pattern.test(name)) ?? [null, "", [[1, ""]]];
  const size = Math.abs(value) * (1 + 1e-9);
  const [factor, prefix] = steps.find(([least]) => size >= least) ?? steps[steps.length - 1];
  const number = String(Number((value / factor).toPrecision(name.endsWith("_bytes") ? 7 : digits)));
  return prefix || /^[a-z]/.test(unit) && !unit.startsWith("/") ? `${number} ${prefix}${unit}` : `${number}${unit}`;
}

// --- small parts ---------------------------------------------------------------------------

const SIGNS = { met: "✓", "not met": "✗", undecided: "?" };

export function badge(outcome) {
  if (!SIGNS[outcome]) return h("span", { class: "outcome" }, outcome);
  const sign = h("span", { "aria-hidden": "true" }, SIGNS[outcome]);
  return h("span", { class: `outcome ${outcome.replace(" ", "-")}` }, sign, ` ${outcome}`);
}

export const basisBadge = (basis) => (basis ? h("span", { class: `basis ${basis}` }, basis) : null);

/** Draw low, value and high on a line that begins at 0. */
export function rangeBar(low, value, high, most) {
  const bar = h("span", { class: "range", "aria-hidden": "true" });
  const at = (number) => `${Math.min(Math.max((100 * number) / most, 0), 100)}%`;
  const span = h("i"), mark = h("b");
  span.style.left = at(low);
  span.style.right = `calc(100% - ${at(high ?? most)})`;
  mark.style.left = at(value);
  bar.append(span, mark);
  return bar;
}

let made = 0;

export function select(label, values, chosen, onchange, attributes = {}) {
  const id = `choice-${++made}`;
  const options = values.map((one) => {
    const [value, shown] = Array.isArray(one) ? one : [one, one];
    return h("option", { value, ".selected": value === chosen }, shown);
  });
  return h("div", { class: "choice" }, h("label", { for: id }, label),
    h("select", { id, onchange: (event) => onchange(event.target.value), ...attributes }, options));
}

export const button = (text, onclick, attributes = {}) => h("button", { type: "button", class: "quiet", onclick, ...attributes }, text);

export const cross = (label, onclick) => button("×", onclick, { class: "clear", "aria-label": label });

export const check = (label, checked, onchange, attributes = {}) =>
  h("label", { class: "check" },
    h("input", { type: "checkbox", ".checked": checked, onchange: (event) => onchange(event.target.checked), ...attributes }), label);

export const facts = (pairs, style = "facts") =>
  h("dl", { class: style }, pairs.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));

export const list = (items, style = null) => (items.length ? h("ul", { class: style }, items.map((item) => h("li", {}, item))) : null);

/** Wrap wide content, so that it scrolls by itself and can be focused by keyboard. */
export const scroll = (label, ...children) =>
  h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, children);

/** Make a table: heads are texts or elements, and each row is a list of cells. */
export function table(label, heads, rows) {
  const head = h("tr", {}, heads.map((one) => (one instanceof Node ? one : h("th", { scope: "col" }, one))));
  const body = rows.map((row) => h("tr", {}, row.map((cell) => (cell?.tagName === "TH" ? cell : h("td", {}, cell)))));
  return scroll(label, h("table", {}, h("thead", {}, head), h("tbody", {}, body)));
}

export function bars(caption, parts) {
  const rows = parts.map((one) => {
    const bar = h("i", { "aria-hidden": "true" });
    bar.style.width = `${100 * one.share}%`;
    const value = h("dd", {}, h("span", { class: "track" }, bar), h("span", {}, one.text));
    return h("div", { class: one.decides || one.mark ? "marked" : null }, h("dt", {}, one.name), value);
  });
  return h("figure", { class: "bars" }, h("figcaption", {}, caption), h("dl", {}, rows));
}

export function problem(error) {
  return h("p", { class: "problem", role: "alert" }, error.message ?? String(error));
}

export const waiting = (what) => h("p", { class: "waiting" }, `${what} …`);

export function download(name, content, type = "application/toml") {
  const link = h("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
  link.click();
  URL.revokeObjectURL(link.href);
}
