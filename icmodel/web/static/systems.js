// Page of systems: the drawing, its streams, and the file beside it.
import { badge, bars, facts, fill, get, h, latest, list, post, problem, say, scroll, select, waiting } from "./dom.js";
import { report } from "./blocks.js";
import { editor } from "./editor.js";

const FOLDED = ["links", "devices", "findings", "limits"];
const SHOWN = 60;

export async function systemsPage(main, parameters, put) {
  const { systems } = await get("systems");
  let name = parameters.get("name") || "imaging", stream = parameters.get("stream") || "", found = null;
  const head = h("div", { class: "result" }), result = h("div", { class: "result" });
  const picture = scroll("The drawing"), streams = h("section", { class: "streams", "aria-label": "Streams" });
  const details = h("section", { class: "stream", "aria-live": "polite" });
  const file = editor("The system as TOML", () => ask());
  picture.classList.add("picture");

  const ask = latest(async () => {
    try {
      const next = await post("pages/system", { toml: file.text });
      for (const one of [head, picture, result, streams]) one.classList.toggle("stale", Boolean(next.error));
      file.fail(next.mistakes);
      if (next.error) return;
      found = next;
      fill(head, h("h1", {}, found.title), report({ ...found, sections: [] }));
      fill(picture, document.importNode(new DOMParser().parseFromString(found.svg, "image/svg+xml").documentElement, true));
      fill(result, report({ ...found, sentence: "" }, FOLDED));
      showStreams();
      pick(found.streams.some((one) => one.name === stream) ? stream : "");
      say(found.sentence);
    } catch (error) {
      fill(head, problem(error));
    }
  });

  function showStreams() {
    const rest = found.streams.length - SHOWN;
    const outcome = (one) => (one.outcome === "not judged" ? h("span", { class: "outcome" }, "– not judged") : badge(one.outcome));
    const entries = found.streams.slice(0, SHOWN).map((one) => h("button", {
      type: "button", "data-stream": one.name, "aria-pressed": "false", onclick: () => pick(stream === one.name ? "" : one.name),
    }, h("strong", {}, one.name), outcome(one), h("span", {}, one.goodput), h("span", {}, one.latency)));
    fill(streams, h("h2", {}, `Streams (${found.streams.length})`), list(entries),
      rest > 0 && h("p", { class: "hint" }, `and ${rest} more: the tables below have the worst of each group`));
  }

  /** Highlight the path of a stream in the drawing, and show its numbers and latency terms. */
  function pick(next) {
    stream = next;
    put(new URLSearchParams({ name, ...(stream ? { stream } : {}) }));
    const one = found.streams.find((other) => other.name === stream);
    for (const entry of streams.querySelectorAll("button")) entry.setAttribute("aria-pressed", String(entry.dataset.stream === stream));
    picture.classList.toggle("picked", Boolean(one));
    for (const [kind, places] of [["link", one?.cables], ["box", one?.boxes]]) {
      picture.querySelectorAll(`g.${kind}`).forEach((part, at) => part.classList.toggle("way", Boolean(places?.includes(at))));
    }
    if (!one) return fill(details, h("p", { class: "hint" }, "Choose a stream to see its path, its numbers and its latency terms."));
    fill(details, h("h3", {}, one.name), h("p", { class: "hint" }, one.path.join(", then ")), facts(one.facts),
      one.terms.length > 0 && bars("Waiting times in the mean latency", one.terms), list(one.notes, "notes"));
  }

  async function open(next) {
    [name, stream] = [next, ""];
    await load();
  }

  async function load() {
    fill(head, waiting("Predicting"));
    file.set((await get(`systems/${encodeURIComponent(name)}`)).toml);
    ask();
  }

  const choice = select("System", systems.map((one) => [one.name, one.title]), name, open, { name: "system" });
  const beside = h("div", {}, head, picture, h("div", { class: "pair wide" }, streams, details));
  fill(main, h("div", { class: "choices" }, choice), h("div", { class: "split" }, file.element, beside), result);
  await load();
}
