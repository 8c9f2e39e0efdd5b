// The page of systems: the drawing, its streams, and the file beside it.
import { badge, fill, get, h, latest, post, problem, say, select, waiting } from "./dom.js";
import { report } from "./blocks.js";
import { editor } from "./editor.js";
import { bars } from "./whatif.js";

const SHOWN = 60;

export async function systemsPage(main, parameters, put) {
  const { systems } = await get("systems");
  let name = parameters.get("name") || "imaging", stream = parameters.get("stream") || "", found = null;
  const choices = h("div", { class: "choices" }), picture = h("div", { class: "picture scroll", tabindex: "0", role: "region", "aria-label": "The drawing" });
  const streams = h("section", { class: "streams", "aria-label": "Streams" }), details = h("section", { class: "stream", "aria-live": "polite" }), head = h("div", { class: "result" }), result = h("div", { class: "result" });
  const file = editor("The system as TOML", () => ask());

  const ask = latest(async () => {
    try {
      const next = await post("pages/system", { toml: file.text });
      if (next.error) {
        file.fail(next.error, next.line);
        for (const one of [head, picture, result, streams]) one.classList.add("stale");
        return;
      }
      file.fail();
      found = next;
      for (const one of [head, picture, result, streams]) one.classList.remove("stale");
      fill(picture, document.importNode(new DOMParser().parseFromString(found.svg, "image/svg+xml").documentElement, true));
      fill(head, h("h1", {}, found.title), report({ ...found, sections: [] }));
      fill(result, report({ ...found, sentence: "" }, ["links", "devices", "findings", "limits"]));
      list();
      pick(found.streams.some((one) => one.name === stream) ? stream : "");
      say(found.sentence);
    } catch (error) {
      fill(head, problem(error));
    }
  });

  function list() {
    const rest = found.streams.length - SHOWN;
    fill(streams, h("h2", {}, `Streams (${found.streams.length})`), h("ul", {}, found.streams.slice(0, SHOWN).map((one) => h("li", {},
      h("button", { type: "button", "data-stream": one.name, "aria-pressed": "false", onclick: () => pick(stream === one.name ? "" : one.name) },
        h("strong", {}, one.name), one.outcome === "not judged" ? h("span", { class: "outcome" }, "– not judged") : badge(one.outcome), h("span", {}, one.goodput), h("span", {}, one.latency))))),
      rest > 0 ? h("p", { class: "hint" }, `and ${rest} more: the tables below have the worst of each group`) : "");
  }

  /** Show the way of a stream in the drawing, and its terms beside it. */
  function pick(next) {
    stream = next;
    put(new URLSearchParams({ name, ...(stream ? { stream } : {}) }));
    const one = found.streams.find((other) => other.name === stream);
    for (const button of streams.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset.stream === stream));
    picture.classList.toggle("picked", Boolean(one));
    const light = (kind, places) => picture.querySelectorAll(`g.${kind}`).forEach((part, at) => part.classList.toggle("way", Boolean(places?.includes(at))));
    light("link", one?.cables);
    light("box", one?.boxes);
    fill(details, (one ? [h("h3", {}, one.name), h("p", { class: "hint" }, one.path.join(", then ")), h("dl", { class: "facts" }, one.facts.map(([key, value]) => h("div", {}, h("dt", {}, key), h("dd", {}, value)))),
      one.terms.length ? bars("What waiting adds to the mean latency", one.terms) : "", one.notes.length ? h("ul", { class: "notes" }, one.notes.map((note) => h("li", {}, note))) : ""] : [h("p", { class: "hint" }, "Choose a stream: its way, its numbers and its terms are shown.")]));
  }

  async function open(next) {
    [name, stream] = [next, ""];
    fill(head, waiting("Predicting"));
    file.set((await get(`systems/${encodeURIComponent(name)}`)).toml);
    ask();
  }

  choices.append(select("System", systems.map((one) => [one.name, one.title]), name, open, { name: "system" }));
  fill(main, choices, h("div", { class: "split" }, file.element, h("div", {}, head, picture, h("div", { class: "pair wide" }, streams, details))), result);
  fill(head, waiting("Predicting"));
  file.set((await get(`systems/${encodeURIComponent(name)}`)).toml);
  ask();
}
