// The page of datasets: what each holds, where it extrapolates, and other tools' files.
import { basisBadge, download, fill, get, h, post, problem, say, select, text, waiting } from "./dom.js";
import { report } from "./blocks.js";
import { plot, plotTable } from "./plot.js";

const MOST_ROWS = 100;

export async function datasetsPage(main, parameters, put) {
  const { datasets } = await get("datasets");
  let id = parameters.get("id") || datasets[0].id, protocol = "", metric = "";
  const list = h("nav", { class: "list", "aria-label": "Datasets" }), shown = h("div", { class: "result" });

  async function open(next) {
    [id, protocol, metric] = [next, "", ""];
    put(new URLSearchParams({ id }));
    for (const button of list.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset.id === id));
    fill(shown, waiting("Reading"));
    try {
      const found = await get(`pages/dataset?id=${encodeURIComponent(id)}`);
      const curves = h("section", { class: "section curves" }), rows = h("section", { class: "section" });
      const parts = report(found, ["hosts", "limits", "sources"]);
      fill(shown, h("h1", {}, found.title), h("p", { class: "hint" }, `${id} · ${found.question}`), h("p", {}, h("a", { href: `#/?dataset=${id}&payload=1448+B` }, "Ask it"), " · ", h("a", { href: `#/validation?dataset=${id}` }, "Its errors")), curves, ...parts, rows);
      drawCurves(curves);
      showRows(rows);
    } catch (error) {
      fill(shown, problem(error));
    }
  }

  /** Draw a metric over the payload with its points; a pale ground shows where the model extrapolates. */
  async function drawCurves(host) {
    const form = await get(`pages/form?${new URLSearchParams({ dataset: id, variant: "", protocol })}`);
    [protocol, metric] = [form.protocol, form.metrics.includes(metric) ? metric : form.metrics.includes("goodput_bps") ? "goodput_bps" : form.metrics[0]];
    const canvas = h("div", { class: "canvas" }), numbers = h("details", {}, h("summary", {}, "The numbers of the plot"));
    fill(host, h("h2", {}, "Points and curve"), h("div", { class: "choices" },
      select("Protocol", form.protocols, protocol, (value) => { protocol = value; drawCurves(host); }),
      select("Metric", form.metrics, metric, (value) => { metric = value; drawCurves(host); })), canvas, numbers);
    const question = { dataset: id, variant: "", protocol, words: {}, options: {}, extrapolate: true };
    const { curves } = await post("pages/curves", { questions: [question], over: "payload", metric, beyond: true });
    const [curve] = curves;
    if (!curve.x.length || curve.value.every((one) => one === null)) return void fill(canvas, h("p", { class: "hint" }, curve.error || "No curve over the payload: the rows below have the numbers."));
    const view = { over: "payload", metric, log: false, limits: [], here: null, curves, names: [`${protocol}, as fast as it goes`] };
    plot(canvas, () => {}).draw(view);
    const beyond = curve.x.filter((_, at) => curve.basis[at] === "extrapolated"), within = curve.x.filter((_, at) => curve.basis[at] && curve.basis[at] !== "extrapolated");
    canvas.after(h("p", { class: "hint" }, beyond.length && within.length ? `Between ${text("payload_bytes", within[0])} and ${text("payload_bytes", within[within.length - 1])} the curve rests on benchmarks; beyond, on a pale ground, it is extrapolated.` : "The whole curve rests on benchmarks."));
    numbers.append(plotTable(view));
  }

  async function showRows(host) {
    const { points } = await get(`datasets/${encodeURIComponent(id)}/points`);
    const filters = { protocol: "", metric: "" }, body = h("tbody"), count = h("p", { class: "hint" });
    const values = (name) => [["", "all"], ...new Set(points.map((one) => one[name]))];
    const order = [...new Set(["line", "protocol", "metric", "value", "low", "high", "basis", "payload_bytes", "load_bps", ...Object.keys(points[0])])];
    const head = h("tr");
    const cell = (one, name) => (name === "basis" ? basisBadge(one.basis) : typeof one[name] === "number" && /^(value|low|high|std)$/.test(name) ? text(one.metric, one[name], 7) : typeof one[name] === "number" && name !== "line" ? text(name, one[name], 7) : one[name] ?? "");
    const showSome = () => {
      const some = points.filter((one) => Object.entries(filters).every(([name, value]) => !value || one[name] === value));
      const axes = order.filter((name) => some.some((one) => ![null, undefined, ""].includes(one[name])));
      fill(head, axes.map((name) => h("th", { scope: "col" }, name)));
      fill(body, some.slice(0, MOST_ROWS).map((one) => h("tr", {}, axes.map((name) => h("td", {}, cell(one, name))))));
      count.textContent = some.length > MOST_ROWS ? `${MOST_ROWS} of ${some.length} rows: choose a protocol or a metric to see others` : `${some.length} rows`;
    };
    fill(host, h("h2", {}, "Rows"), h("div", { class: "choices" }, Object.keys(filters).map((name) => select(name[0].toUpperCase() + name.slice(1), values(name), "", (value) => { filters[name] = value; showSome(); }))), count,
      h("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Rows of points.csv" }, h("table", {}, h("thead", {}, head), body)));
    showSome();
  }

  // --- ingest --------------------------------------------------------------------------------

  const LABELS = [["name", "Name of the dataset", "my-dataset"], ["protocol", "Protocol", "as the files say"], ["payload", "Payload", "as the files say"],
    ["interconnect", "Link", "ethernet"], ["line_rate", "Line rate", "10 Gb/s"], ["tool", "Tool", "found from the files"]];

  /** Ask what the files do not say, and then what icmodel takes from them. */
  function ingest(chosen) {
    if (!chosen.length) return;
    const outcome = h("div"), fields = LABELS.map(([name, label, example]) => h("label", {}, h("span", {}, label), h("input", { type: "text", name, placeholder: example, autocomplete: "off" })));
    const form = h("form", { class: "section labels", onsubmit: (event) => { event.preventDefault(); take(chosen, form, outcome); } },
      h("h2", {}, "What the files do not say"), h("p", { class: "hint" }, "Empty fields are read from the files. The line rate lets icmodel refuse impossible numbers."), fields, h("button", {}, "Read the files"));
    fill(shown, h("h1", {}, "Other tools’ results"), h("p", { class: "hint" }, chosen.map((file) => file.name).join(", ")), form, outcome);
    take(chosen, form, outcome);
  }

  async function take(chosen, form, outcome) {
    const labels = Object.fromEntries([...new FormData(form)].filter(([, value]) => value.trim()));
    fill(outcome, waiting("Reading"));
    try {
      const files = await Promise.all(chosen.map(async (file) => ({ name: file.name, text: await file.text() })));
      const found = await post("ingest", { name: "my-dataset", ...labels, files });
      const table = (caption, columns, rows) => ({ kind: "table", caption, columns, numbers: ["results"], rows: rows.map((row) => row.map((one) => ({ text: String(one) }))) });
      const summary = `${found.rows} rows from ${found.files.length} of ${chosen.length} files, variant ${found.variant}.`;
      const parts = [["taken", "What was taken", [{ kind: "text", text: summary }, table("", ["file", "results", "sha256"], found.files.map((one) => [one.file, one.results, one.sha256.slice(0, 12)])), { kind: "items", title: "Notes", items: found.notes }]],
        ["refused", `What was refused (${found.refused.length})`, [found.refused.length ? table("", ["file", "reason"], found.refused.map((one) => [one.file, one.reason])) : { kind: "text", text: "Nothing." }]]];
      fill(outcome, report({ sections: parts.map(([anchor, title, blocks]) => ({ anchor, title, blocks })) }),
        h("section", { class: "section" }, h("h2", {}, "The dataset"), h("p", { class: "hint" }, `Nothing stays on the server. Save the files into a folder ${found.dataset}, and give its path to --dataset.`),
          Object.entries(found.folder).map(([name, content]) => h("button", { type: "button", class: "quiet", onclick: () => download(name, content, "text/plain") }, `Save ${name}`))));
      say(`${summary} ${found.refused.length} refused.`);
    } catch (error) {
      fill(outcome, h("section", { class: "section" }, h("h2", {}, "Nothing was taken"), problem(error)));
    }
  }

  const input = h("input", { type: "file", multiple: true, id: "results", onchange: (event) => ingest([...event.target.files]) });
  const drop = h("label", { class: "drop", for: "results",
    ondragover: (event) => { event.preventDefault(); drop.classList.add("over"); }, ondragleave: () => drop.classList.remove("over"),
    ondrop: (event) => { event.preventDefault(); drop.classList.remove("over"); ingest([...event.dataTransfer.files]); } },
    h("strong", {}, "Other tools’ results"), h("span", {}, "Drop files of iperf3, netperf, sockperf, OSU and others here, or choose them."), input);
  list.append(...datasets.map((one) => h("button", { type: "button", "data-id": one.id, "aria-pressed": "false", onclick: () => open(one.id) }, h("strong", {}, one.id), h("small", {}, `${one.rows} rows · ${one.protocols.join(", ")}`))));
  fill(main, h("div", { class: "side" }, list, drop), shown);
  open(id);
}
