// Page of datasets: contents, extrapolated ranges, and ingest of other tools' files.
import { basisBadge, button, download, fill, get, h, post, problem, say, scroll, select, text, waiting } from "./dom.js";
import { report } from "./blocks.js";
import { plot, plotTable } from "./plot.js";

const MOST_ROWS = 100;
const FOLDED = ["hosts", "limits", "sources"];
const FIRST_COLUMNS = ["line", "protocol", "metric", "value", "low", "high", "basis", "payload_bytes", "load_bps"];
const LABELS = [
  ["name", "Name of the dataset", "my-dataset"],
  ["protocol", "Protocol", "as in the files"],
  ["payload", "Payload", "as in the files"],
  ["interconnect", "Link", "ethernet"],
  ["line_rate", "Line rate", "10 Gb/s"],
  ["tool", "Tool", "recognised from the files"],
];

export async function datasetsPage(main, parameters, put) {
  const { datasets } = await get("datasets");
  let id = parameters.get("id") || datasets[0].id, protocol = "", metric = "";
  const names = h("nav", { class: "list", "aria-label": "Datasets" }), shown = h("div", { class: "result" });

  async function open(next) {
    [id, protocol, metric] = [next, "", ""];
    put(new URLSearchParams({ id }));
    for (const entry of names.querySelectorAll("button")) entry.setAttribute("aria-pressed", String(entry.dataset.id === id));
    fill(shown, waiting("Reading"));
    try {
      const found = await get(`pages/dataset?id=${encodeURIComponent(id)}`);
      const curves = h("section", { class: "section curves" }), rows = h("section", { class: "section" });
      const ask = h("a", { href: `#/?dataset=${id}&payload=1448+B` }, "Ask it");
      const errors = h("a", { href: `#/validation?dataset=${id}` }, "Its errors");
      fill(shown, h("h1", {}, found.title), h("p", { class: "hint" }, `${id} · ${found.question}`),
        h("p", {}, ask, " · ", errors), curves, report(found, FOLDED), rows);
      showCurve(curves);
      showRows(rows);
    } catch (error) {
      fill(shown, problem(error));
    }
  }

  /** Draw a metric over the payload with its points; the background is shaded where the model extrapolates. */
  async function showCurve(host) {
    const form = await get(`pages/form?${new URLSearchParams({ dataset: id, protocol })}`);
    protocol = form.protocol;
    metric = [metric, "goodput_bps", form.metrics[0]].find((one) => form.metrics.includes(one));
    const canvas = h("div", { class: "canvas" }), reading = h("p", { class: "hint" });
    const numbers = h("details", {}, h("summary", {}, "The numbers of the plot"));
    const choose = (set) => (value) => {
      set(value);
      showCurve(host);
    };
    fill(host, h("h2", {}, "Points and curve"), h("div", { class: "choices" },
      select("Protocol", form.protocols, protocol, choose((value) => (protocol = value))),
      select("Metric", form.metrics.map((one) => [one, form.words[one]]), metric, choose((value) => (metric = value)))), canvas, reading, numbers);
    const [switches] = form.ranges.find(({ name }) => name === "switches").text.match(/^\d+/) ?? ["0"]; // least benchmarked
    const question = { dataset: id, protocol, words: { switches }, extrapolate: true };
    const { curves } = await post("pages/curves", { questions: [question], over: "payload", metric, beyond: true });
    const { x, value, basis, error } = curves[0];
    if (value.every((one) => one === null)) {
      canvas.classList.add("empty");
      return void fill(reading, error || "No curve over the payload: the rows below have the numbers.");
    }
    const view = { over: "payload", metric, log: false, limits: [], here: null, curves, names: [`${protocol}, unlimited`] };
    plot(canvas, () => {}).draw(view);
    numbers.append(plotTable(view));
    const within = x.filter((_, at) => basis[at] && basis[at] !== "extrapolated"), ends = [within[0], within.at(-1)];
    const [first, last] = ends.map((end) => text("payload_bytes", end, 7));
    const whole = within.length ? "The whole curve is based on benchmarks." : "The whole curve is extrapolated.";
    fill(reading, !within.length || !basis.includes("extrapolated") ? whole
      : `Between ${first} and ${last} the curve is based on benchmarks; outside this range, on a pale background, it is extrapolated.`);
  }

  async function showRows(host) {
    const { points } = await get(`datasets/${encodeURIComponent(id)}/points`);
    const filters = { protocol: "", metric: "" }, order = [...new Set([...FIRST_COLUMNS, ...Object.keys(points[0])])];
    const head = h("tr"), body = h("tbody"), count = h("p", { class: "hint" });
    const cell = (one, name) => {
      const value = one[name];
      if (name === "basis") return basisBadge(value);
      if (value === "inf") return "unlimited";
      if (typeof value !== "number" || name === "line") return value ?? "";
      return text(["value", "low", "high", "std"].includes(name) ? one.metric : name, value, 7);
    };
    function showSome() {
      const some = points.filter((one) => Object.entries(filters).every(([name, value]) => !value || one[name] === value));
      const columns = order.filter((name) => some.some((one) => ![null, undefined, ""].includes(one[name])));
      fill(head, columns.map((name) => h("th", { scope: "col" }, name)));
      fill(body, some.slice(0, MOST_ROWS).map((one) => h("tr", {}, columns.map((name) => h("td", {}, cell(one, name))))));
      const more = ": choose a protocol or a metric to see others";
      count.textContent = some.length > MOST_ROWS ? `${MOST_ROWS} of ${some.length} rows${more}` : `${some.length} rows`;
    }
    const filter = (name, label) => select(label, [["", "all"], ...new Set(points.map((one) => one[name]))], "", (value) => {
      filters[name] = value;
      showSome();
    });
    const table = scroll("Rows of points.csv", h("table", {}, h("thead", {}, head), body));
    table.classList.add("tall");
    fill(host, h("h2", {}, "Rows"), h("div", { class: "choices" }, filter("protocol", "Protocol"), filter("metric", "Metric")), count, table);
    showSome();
  }

  // --- ingest --------------------------------------------------------------------------------

  /** Ask for labels that the files do not state, and show the result of the ingest. */
  function ingest(chosen) {
    if (!chosen.length) return;
    const outcome = h("div", { class: "result" });
    const fields = LABELS.map(([name, label, example]) =>
      h("label", {}, h("span", {}, label), h("input", { type: "text", name, placeholder: example, autocomplete: "off" })));
    const submit = (event) => {
      event.preventDefault();
      take(chosen, form, outcome);
    };
    const form = h("form", { class: "section labels", onsubmit: submit }, h("h2", {}, "Facts that the files lack"),
      h("p", { class: "hint" }, "Empty fields are read from the files. With the line rate, icmodel refuses impossible numbers."),
      fields, h("button", {}, "Read the files"));
    const files = chosen.map((file) => file.name).join(", ");
    for (const entry of names.children) entry.setAttribute("aria-pressed", "false");
    fill(shown, h("h1", {}, "Other tools’ results"), h("p", { class: "hint" }, files), form, outcome);
    take(chosen, form, outcome);
  }

  async function take(chosen, form, outcome) {
    const labels = Object.fromEntries([...new FormData(form)].filter(([, value]) => value.trim()));
    fill(outcome, waiting("Reading"));
    try {
      const files = await Promise.all(chosen.map(async (file) => ({ name: file.name, text: await file.text() })));
      const found = await post("pages/ingest", { name: "my-dataset", ...labels, files });
      if (found.error) throw new Error(found.error);
      showTaken(found, outcome, chosen.length);
    } catch (error) {
      fill(outcome, h("section", { class: "section" }, h("h2", {}, "No file could be used"), problem(error)));
    }
  }

  function showTaken(found, outcome, count) {
    const line = (one) => ({ kind: "text", text: one });
    const table = (columns, rows) => ({
      kind: "table", caption: "", columns, numbers: ["results"], rows: rows.map((row) => row.map((one) => ({ text: String(one) }))),
    });
    const summary = `${found.rows} rows from ${found.files.length} of ${count} files, variant ${found.variant}.`;
    const taken = table(["file", "results", "sha256"], found.files.map((one) => [one.file, one.results, one.sha256.slice(0, 12)]));
    const refused = table(["file", "reason"], found.refused.map((one) => [one.file, one.reason]));
    const sections = [
      { anchor: "taken", title: "Used files", blocks: [line(summary), taken, { kind: "items", title: "Notes", items: found.notes }] },
      { anchor: "refused", title: `Refused files (${found.refused.length})`, blocks: [found.refused.length ? refused : line("Nothing.")] },
    ];
    const kept = ["Nothing stays on the server. Save the files into a folder ", h("code", {}, found.dataset), ", and give its path to ", h("code", {}, "--dataset"), "."];
    const saves = Object.entries(found.folder).map(([name, content]) => button(`Save ${name}`, () => download(name, content, "text/plain")));
    fill(outcome, report({ sections }),
      h("section", { class: "section" }, h("h2", {}, "The dataset"), h("p", { class: "hint" }, kept), h("div", { class: "actions" }, saves)));
    say(`${summary} ${found.refused.length} refused.`);
  }

  const input = h("input", { type: "file", multiple: true, id: "results", onchange: (event) => ingest([...event.target.files]) });
  const over = (is) => (event) => {
    event.preventDefault();
    drop.classList.toggle("over", is);
  };
  const dropped = (event) => {
    over(false)(event);
    ingest([...event.dataTransfer.files]);
  };
  const drop = h("label", { class: "drop", for: "results", ondragover: over(true), ondragleave: over(false), ondrop: dropped },
    h("strong", {}, "Other tools’ results"),
    h("span", {}, "Drop files of iperf3, netperf, sockperf, OSU and others here, or choose them."), input);
  fill(names, datasets.map((one) => h("button", { type: "button", "data-id": one.id, "aria-pressed": "false", onclick: () => open(one.id) },
    h("strong", {}, one.id), h("small", {}, `${one.rows} rows · ${one.protocols.join(", ")}`))));
  fill(main, h("div", { class: "side" }, names, drop), shown);
  open(id);
}
