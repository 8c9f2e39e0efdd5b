// What-if page: a question on the left, and its live answer on the right.
import {
  badge, bars, basisBadge, button, check, cross, fill, get, h, latest, list, post, problem, rangeBar, say, select, settled, table, text,
} from "./dom.js";
import { plot, plotTable, seriesColour } from "./plot.js";
import { FIELDS, FIRST, GROUPS, MOST_OTHERS, MOST_PINS, OVER, along, nameOf, questions, read, write } from "./question.js";

const TIMES = (statistic) => ["latency", "rtt_half", "rtt"].map((time) => `${time}_${statistic}_s`);
/** Metrics of the tiles; a tile shows the first of its metrics that has a value. */
const TILES = [
  ["goodput_bps", "frames_per_s"],
  [...TIMES("mean"), ...TIMES("p50")],
  [...TIMES("p99"), ...TIMES("max")],
  ["cpu_send", "cpu_send_cores", "cpu_send_process_cores"],
  ["cpu_recv", "cpu_recv_cores", "cpu_recv_process_cores"],
  ["loss_rate"],
];
const STEPS = 1000;
const READING =
  "Circles are benchmarked points; grey circles have another load. The band is the 90 % interval. On a pale " +
  "background, the curve is extrapolated. Drag the vertical line, or move it with the arrow keys.";
const known = (answer) => answer.metrics.filter((one) => one.value !== null);
const firstKnown = (answer, names) => names.map((name) => known(answer).find((one) => one.name === name)).find(Boolean);

export async function whatifPage(main, parameters, put) {
  let state = read(parameters.get("dataset") ? parameters : new URLSearchParams(FIRST));
  let form = null, own = null, answers = [], curves = [];
  const history = { past: [write(state)], at: 0 };
  const answered = new Map(), drawn = new Map(), fields = {};
  const { datasets } = await get("datasets");

  // --- the frame -----------------------------------------------------------------------------

  const undo = button("Undo", () => step(-1)), redo = button("Redo", () => step(1));
  const copies = ["command line", "Python", "row for Excel", "link"].map((what) =>
    button(`Copy ${what}`, (event) => copy(what, event.target)));
  const asking = h("form", { class: "asking", "aria-label": "The question", onsubmit: (event) => event.preventDefault() });
  const tiles = h("div", { class: "tiles" }), limited = h("p", { class: "limited" });
  const verdicts = h("ul", { class: "needs" });
  const need = h("input", {
    type: "text", id: "need", placeholder: "mean latency ≤ 100 us", autocomplete: "off", "aria-describedby": "need-hint",
  });
  const choices = h("div", { class: "choices" }), canvas = h("div", { class: "canvas" });
  const numbers = h("details", {}, h("summary", {}, "The numbers of the plot"), h("div"));
  const beside = h("section", { class: "beside", "aria-label": "Side by side" }), why = h("section", { class: "why" });
  const chart = plot(canvas, (x, done) => change(() => moveTo(x), done));
  fill(main, h("h1", { class: "hidden" }, "What if"), asking,
    h("div", { class: "answer" },
      h("div", { class: "actions" }, undo, redo, button("Pin", pin), h("span", { class: "spring" }), copies),
      h("section", { class: "now", "aria-label": "The answer" }, tiles, limited),
      h("section", { class: "wanted" },
        h("form", { onsubmit: addNeed }, h("label", { for: "need" }, "Requirement"), need, h("button", {}, "Add"),
          h("small", { id: "need-hint" }, "a metric, ≤ or ≥, and a limit with its unit")),
        verdicts),
      h("section", { class: "curves", "aria-label": "Curves" }, choices, canvas, h("p", { class: "hint" }, READING), numbers),
      beside, why));

  // --- changes -------------------------------------------------------------------------------

  /** Change the state. A finished change (`done`) updates the address and can be undone. */
  function change(work, done = true) {
    work();
    const query = write(state);
    if (done && query !== history.past[history.at]) {
      history.past.splice(history.at + 1, Infinity, query);
      history.at += 1;
      put(query);
    }
    showFields();
    ask();
  }

  function step(way) {
    const query = history.past[history.at + way];
    if (query === undefined) return;
    history.at += way;
    restore(query);
  }

  async function restore(query) {
    state = read(new URLSearchParams(query));
    put(query);
    await reform();
    ask();
  }

  function setWord(name, value) {
    const { words } = state.question;
    if (value) words[name] = value;
    else delete words[name];
    if (value && name === "rate") delete words.requested_goodput;
    if (value && name === "requested_goodput") delete words.rate;
    if (value && name === "other_goodput" && Number(words.endpoints ?? 1) < 2) words.endpoints = "2";
  }

  function moveTo(x) {
    if (state.over === "payload") setWord("payload", text("payload_bytes", x, 6));
    else if (state.over === "cores") setWord("cores", String(x));
    else setWord("requested_goodput", text("goodput_bps", x, 4));
  }

  function choose(name, value) {
    const { question } = state;
    question[name] = value;
    if (name === "dataset") Object.assign(question, { variant: "", protocol: "", options: {} });
    if (name === "protocol") question.options = {};
    change(() => {});
    reform();
  }

  // --- the form ------------------------------------------------------------------------------

  async function reform() {
    const { dataset, variant, protocol, extrapolate } = state.question;
    const ids = datasets.map((one) => one.id);
    const datasetChoice = select("Dataset", ids, dataset, (value) => choose("dataset", value), { name: "dataset" });
    try {
      form = await get(`pages/form?${new URLSearchParams({ dataset, variant, protocol })}`);
    } catch (error) {
      return void fill(asking, problem(error), datasetChoice);
    }
    const usual = (one) => (one === form.default_variant ? "" : one);
    const variants = form.variants.map((one) => [usual(one), one]);
    const active = document.activeElement?.name;
    fill(asking,
      h("fieldset", {}, h("legend", {}, "Model"), datasetChoice,
        h("div", { class: "pair" },
          select("Variant", variants, usual(variant), (value) => choose("variant", value), { name: "variant" }),
          select("Protocol", form.protocols, form.protocol, (value) => choose("protocol", value), { name: "protocol" })),
        h("p", { class: "hint" }, `${form.title}. `, h("a", { href: `#/datasets?id=${form.dataset}` }, "Contents of the dataset"))),
      GROUPS.map(([title, group]) => h("fieldset", {}, h("legend", {}, title), group.map(fieldOf))),
      h("fieldset", {}, h("legend", {}, "Options"), form.options.map(optionOf),
        check("Extrapolate beyond the benchmarks", extrapolate, (on) => change(() => (state.question.extrapolate = on)))),
      h("p", { class: "hint" }, `${form.whose[0].toUpperCase()}${form.whose.slice(1)}.`));
    asking.elements[active]?.focus();
    showFields();
    place(own?.scenario ?? {});
  }

  function fieldOf([name, label, si, example, optional]) {
    const range = form.ranges.find((one) => one.name === name), disabled = { ".disabled": !range.works };
    const finish = () => change(() => {});
    const input = h("input", {
      type: "text", name, id: `f-${name}`, autocomplete: "off", spellcheck: "false", placeholder: example, ...disabled,
      "aria-describedby": `h-${name} p-${name}`,
      oninput: (event) => change(() => setWord(name, event.target.value), false), onchange: finish,
    });
    const slider = h("input", {
      type: "range", min: 0, max: range.log ? STEPS : range.greatest - range.least, step: 1, ...disabled, "aria-label": `${label}, slider`,
      oninput: (event) => change(() => setWord(name, wordAt(range, si, Number(event.target.value))), false), onchange: finish,
    });
    const clear = optional && cross(`Clear ${label.toLowerCase()}`, () => change(() => setWord(name, "")));
    const refusal = h("p", { class: "problem", id: `p-${name}` });
    fields[name] = { input, slider, range, si, refusal, clear };
    return h("div", { class: `field${range.works ? "" : " off"}` },
      h("label", { for: `f-${name}` }, label), input, clear, slider, h("small", { id: `h-${name}` }, range.text), refusal);
  }

  function wordAt(range, si, at) {
    if (!range.log) return String(range.least + at);
    const value = range.least * (range.greatest / range.least) ** (at / STEPS);
    if (si === "cpu_clock_ratio") return String(Number(value.toPrecision(3)));
    return text(si, si === "payload_bytes" ? Math.round(value) : value, si === "payload_bytes" ? 6 : 3);
  }

  function optionOf({ axis, values, default: usual, meaning }) {
    const shown = values.map((one) => (one === usual ? ["", `${one} (default)`] : [one, one]));
    const chosen = state.question.options[axis] ?? "", set = (value) => change(() => (state.question.options[axis] = value));
    return h("div", { class: "option", title: meaning }, select(axis, shown, chosen, set, { name: `option.${axis}` }));
  }

  /** Show the state in the fields, except in the field that has the focus. */
  function showFields() {
    const { words } = state.question;
    for (const [name, { input, clear }] of Object.entries(fields)) {
      if (document.activeElement !== input) input.value = words[name] ?? "";
      if (clear) clear.hidden = !words[name];
    }
    undo.disabled = history.at === 0;
    redo.disabled = history.at === history.past.length - 1;
  }

  /** Set each slider to the value that the server parsed. Without a value, use the placeholder of the field. */
  function place(scenario) {
    for (const { input, slider, range, si } of Object.values(fields)) {
      if (document.activeElement === slider) continue;
      const usual = parseFloat(input.placeholder), value = scenario[si] ?? (Number.isNaN(usual) ? null : usual), { least, greatest } = range;
      const at = range.log ? (STEPS * Math.log(value / least)) / Math.log(greatest / least) : value - least;
      slider.value = value === null ? STEPS : value <= 0 ? 0 : at;
    }
  }

  // --- asking --------------------------------------------------------------------------------

  const ask = latest(async () => {
    const asked = structuredClone(questions(state)), first = 1 + state.others.length;
    const key = (question) => JSON.stringify([question, state.needs]);
    const open = asked.filter((question, at) => at < first || !answered.has(key(question)));
    try {
      const found = await post("pages/answers", { questions: open, requirements: state.needs });
      open.forEach((question, at) => answered.set(key(question), found.answers[at]));
      answers = asked.map((question) => answered.get(key(question)));
      if (answered.size > 200) answered.clear();
    } catch (error) {
      return void fill(tiles, problem(error));
    }
    own = answers[0];
    showAnswer();
    showBeside(asked);
    draw();
  });

  const draw = latest(async () => {
    const { over, show } = state;
    const asked = structuredClone(questions(state)).map((question) => along(question, over));
    const key = (question) => JSON.stringify([question, over, show]);
    const open = asked.filter((question) => !drawn.has(key(question)));
    if (open.length) {
      const found = await post("pages/curves", { questions: open, over, metric: show });
      if (drawn.size > 100) drawn.clear();
      open.forEach((question, at) => drawn.set(key(question), found.curves[at]));
    }
    curves = asked.map((question) => drawn.get(key(question)) ?? { x: [], points: [] });
    showCurves(asked.map(key).join());
  });

  // --- the answer ----------------------------------------------------------------------------

  const tell = settled(() => {
    const texts = () => shownMetrics(own).map((one) => `${one.words} ${one.text}, ${one.interval}`).join("; ");
    say(own.error || texts());
  }, 500);
  const shownMetrics = (answer) => TILES.map((slot) => firstKnown(answer, slot)).filter(Boolean);

  function showAnswer() {
    for (const [name, { input, refusal }] of Object.entries(fields)) {
      const mine = own.error && own.field === name;
      refusal.textContent = mine ? own.error : "";
      if (mine) input.setAttribute("aria-invalid", "true");
      else input.removeAttribute("aria-invalid");
    }
    tell();
    showNeeds();
    if (own.error) {
      const field = FIELDS[own.field]?.[1];
      const title = field ? `No answer: ${field.toLowerCase()}` : "No answer";
      fill(tiles, h("div", { class: "refused" }, h("h2", {}, title), h("p", {}, own.error)));
      fill(limited);
      return void fill(why);
    }
    place(own.scenario);
    fill(tiles, shownMetrics(own).map(tile));
    fill(limited, "limited by ", h("strong", {}, own.limited_by || "an unknown limit"));
    showWhy();
  }

  function tile(one) {
    const [, number, unit] = one.text.match(/^(\S+)\s*(.*)$/);
    const most = /^cpu_\w+(?<!cores)$/.test(one.name) ? 1 : (one.high ?? one.value * 2) * 1.25 || 1;
    return h("div", { class: "tile", title: one.why || null },
      h("h2", {}, one.words), h("p", { class: "value" }, number, h("span", {}, unit)),
      rangeBar(one.low, one.value, one.high, most), h("p", { class: "span" }, one.interval, " ", basisBadge(one.basis)));
  }

  /** Collapsible part of the reasons. An open part stays open when the answer changes. A closed part has no content. */
  const opened = new Set(), paper = matchMedia("print");
  paper.addEventListener("change", () => own && !own.error && showWhy());
  function fold(name, title, make) {
    const body = h("div"), show = () => fill(body, folded.open || paper.matches ? make() : null);
    const toggled = () => {
      if (folded.open) opened.add(name);
      else opened.delete(name);
      show();
    };
    const folded = h("details", { open: opened.has(name), ontoggle: toggled }, h("summary", {}, title), body);
    show();
    return folded;
  }

  function showWhy() {
    const some = known(own), absent = own.metrics.filter((one) => one.value === null);
    const rows = () => own.rows.map((row) => [row.line, row.metric, row.payload, row.load, row.value, basisBadge(row.basis), row.source]);
    const metrics = () => some.map((one) => [one.words, one.text, one.interval, basisBadge(one.basis), one.why]);
    fill(why, list(own.notes, "notes"),
      fold("why", "Why", () => [
        h("div", { class: "pair wide" }, bars("The mean latency, the sum of", own.terms), bars("The goodput, the least of", own.bounds)),
        table("Rows of the dataset", ["line", "metric", "payload", "load", "value", "basis", "source"], rows()),
      ]),
      fold("every", `Every metric (${some.length})`, () => [
        table("Every metric", ["metric", "value", "90 % interval", "basis", "note"], metrics()),
        list(absent.map((one) => `${one.words}: ${one.why}`), "notes"),
      ]));
  }

  // --- requirements --------------------------------------------------------------------------

  function addNeed(event) {
    event.preventDefault();
    const asked = need.value.trim();
    if (!asked) return need.focus();
    need.value = "";
    change(() => state.needs.includes(asked) || state.needs.push(asked));
  }

  function showNeeds() {
    const open = (asked) => ({ asked, text: asked, reason: "no answer", outcome: "undecided" });
    const judged = own.error ? state.needs.map(open) : own.verdicts;
    const remove = (asked) => change(() => (state.needs = state.needs.filter((other) => other !== asked)));
    fill(verdicts, judged.map((one) => h("li", {},
      one.problem ? h("span", { class: "problem" }, one.problem)
        : [badge(one.outcome), h("strong", {}, one.text), h("span", {}, one.reason)],
      cross(`Remove ${one.asked}`, () => remove(one.asked)))));
  }

  // --- curves --------------------------------------------------------------------------------

  let shownKey = "";
  function showCurves(key) {
    const here = operatingPoint(), { show, over, log } = state;
    const limits = own.verdicts.filter((one) => one.metric === show && one.limit !== null);
    key += JSON.stringify([limits.map((one) => one.limit), log]);
    if (key === shownKey) return chart.move(here);
    shownKey = key;
    showChoices();
    const asked = questions(state), names = asked.map((question, at) => (at === 0 ? "this question" : nameOf(question, asked[0])));
    const usable = curves.map((curve, at) => [curve, names[at]]).filter(([curve]) => curve.x.length);
    const refused = curves.filter((curve) => curve.error).map((curve) => h("p", { class: "problem" }, curve.error));
    canvas.classList.toggle("empty", !usable.length);
    if (!usable.length) {
      chart.clear();
      return void fill(numbers.lastChild, refused.length ? refused : h("p", {}, "Nothing to draw."));
    }
    const shown = { over, metric: show, log, limits, here, curves: usable.map(([curve]) => curve), names: usable.map(([, name]) => name) };
    chart.draw(shown);
    fill(numbers.lastChild, refused, plotTable(shown));
  }

  /** Return the operating point of the question in the plot; null if the question has no answer. */
  function operatingPoint() {
    if (own.error) return null;
    const { payload_bytes: payload, requested_goodput_bps: load, cores } = own.scenario;
    const metric = own.metrics.find((one) => one.name === state.show);
    return { x: { payload, load, cores }[state.over] ?? null, y: metric?.value ?? null, words: metric?.text ?? "" };
  }

  function showChoices() {
    const answer = answers.find((one) => !one.error), metrics = answer ? known(answer).map((one) => [one.name, one.words]) : [];
    if (!metrics.some(([name]) => name === state.show)) metrics.unshift([state.show, form.words[state.show] ?? state.show]);
    fill(choices,
      select("Curve of", metrics, state.show, (value) => change(() => (state.show = value)), { name: "show" }),
      select("over", Object.entries(OVER), state.over, (value) => change(() => (state.over = value)), { name: "over" }),
      check("log scale", state.log, (on) => change(() => (state.log = on)), { name: "log" }),
      h("span", { class: "spring" }), otherChoice());
  }

  /** Make the menu that adds the question on another dataset or variant to the plot. */
  function otherChoice() {
    const taken = new Set(state.others.map((one) => `${one.dataset}|${one.variant}|${one.protocol}`));
    const variants = form.variants.filter((one) => one !== (state.question.variant || form.default_variant));
    const values = [
      ["", "another dataset or variant …"],
      ...variants.map((one) => [`${form.dataset}|${one}|${form.protocol}`, `variant ${one}`]),
      ...datasets.filter((one) => one.id !== form.dataset)
        .flatMap((one) => one.protocols.map((protocol) => [`${one.id}||${protocol}`, `${one.id}, ${protocol}`])),
    ];
    const add = (value) => {
      const [dataset, variant, protocol] = value.split("|");
      change(() => state.others.push({ dataset, variant, protocol }));
    };
    const free = values.filter(([value]) => !taken.has(value));
    return select("Add", free, "", add, { name: "with", disabled: state.others.length >= MOST_OTHERS });
  }

  // --- side by side --------------------------------------------------------------------------

  function pin() {
    if (state.pins.length >= MOST_PINS) return say(`At most ${MOST_PINS} questions can be pinned: remove one first.`);
    change(() => state.pins.push(structuredClone(state.question)));
    say("The question is pinned.");
  }

  function showBeside(asked) {
    if (asked.length < 2) return fill(beside);
    const heading = (name) => h("th", { scope: "row" }, name);
    const cell = (one) => (one ? [h("strong", {}, one.text), h("small", {}, one.interval), basisBadge(one.basis)] : "–");
    const rows = TILES.map((slot) => {
      const row = answers.map((answer) => firstKnown(answer, slot)), named = row.find(Boolean);
      return named && [heading(named.words), ...row.map(cell)];
    });
    const verdict = (answer, at) => (answer.verdicts[at]?.outcome ? badge(answer.verdicts[at].outcome) : "–");
    const needs = state.needs.map((need, at) => [heading(need), ...answers.map((answer) => verdict(answer, at))]);
    const limit = (answer) => (answer.error ? h("span", { class: "problem" }, answer.error) : answer.limited_by);
    const limits = [heading("limited by"), ...answers.map(limit)];
    const heads = [h("td"), ...asked.map((question, at) => columnHead(question, at, asked[0]))];
    fill(beside, h("h2", {}, "Side by side"), table("Questions side by side", heads, [...rows.filter(Boolean), ...needs, limits]));
  }

  function columnHead(question, at, mine) {
    const first = 1 + state.others.length, name = at === 0 ? "this question" : nameOf(question, mine);
    const swatch = h("i", { class: "swatch" });
    swatch.style.background = seriesColour(at);
    if (at === 0) return h("th", { scope: "col" }, swatch, name);
    const remove = () => change(() => (at < first ? state.others.splice(at - 1, 1) : state.pins.splice(at - first, 1)));
    const open = () => {
      change(() => (state.question = structuredClone(question)));
      reform();
    };
    return h("th", { scope: "col" }, swatch, name, h("small", {}, at < first ? "follows" : "pinned"),
      h("span", {}, button("Ask", open, { "aria-label": `Ask ${name}` }), cross(`Remove ${name}`, remove)));
  }

  // --- copies --------------------------------------------------------------------------------

  async function copy(what, pressed) {
    const content = { "command line": own?.command, Python: own?.python, "row for Excel": own?.sheet, link: location.href }[what];
    if (!content) return say("There is no answer to copy.");
    await navigator.clipboard.writeText(content);
    pressed.textContent = "Copied";
    say(`Copied: ${what}`);
    setTimeout(() => (pressed.textContent = `Copy ${what}`), 1200);
  }

  const keys = (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z" || event.target.type === "text") return;
    event.preventDefault();
    step(event.shiftKey ? 1 : -1);
  };
  document.addEventListener("keydown", keys);
  await reform();
  ask();
  return {
    moved: (next) => next.get("dataset") && next.toString() !== write(state) && restore(next.toString()),
    closed: () => document.removeEventListener("keydown", keys),
  };
}
