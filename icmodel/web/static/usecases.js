// Page of use cases: the verdict is updated after each edit of the file.
import { check, fill, get, h, latest, post, problem, say, select, waiting } from "./dom.js";
import { report } from "./blocks.js";
import { drafts, editor } from "./editor.js";

const FOLDED = ["requirements", "reasons", "limits"];

export async function usecasesPage(main, parameters, put) {
  const [{ usecases }, { datasets }] = await Promise.all([get("usecases"), get("datasets")]);
  const asked = {
    dataset: parameters.get("dataset") || "ethernet-10g-2012",
    candidate: parameters.get("candidate") || "",
    strict: parameters.get("strict") === "1",
  };
  let name = parameters.get("name") || "imaging";
  const result = h("div", { class: "result" }), choices = h("div", { class: "choices" });
  const file = editor("The use case as TOML", () => ask());

  const ask = latest(async () => {
    try {
      const found = await post("pages/usecase", { toml: file.text, ...asked });
      result.classList.toggle("stale", Boolean(found.error));
      file.fail(found.mistakes);
      if (found.error) return;
      drafts.set(name, file.text);
      asked.candidate = found.candidate;
      showChoices(found.candidates);
      fill(result, h("h1", {}, found.title), h("p", { class: "question" }, found.question),
        h("p", { class: "hint" }, `Based on ${found.basis}.`), report(found, FOLDED));
      say(found.sentence);
    } catch (error) {
      fill(result, problem(error));
    }
  });

  function showChoices(candidates) {
    put(new URLSearchParams({ name, ...asked, strict: asked.strict ? "1" : "" }));
    const choose = (key) => (value) => {
      asked[key] = value;
      ask();
    };
    fill(choices,
      select("Use case", usecases.map((one) => [one.name, one.title]), name, open, { name: "usecase" }),
      select("Dataset", datasets.map((one) => one.id), asked.dataset, choose("dataset"), { name: "dataset" }),
      candidates.length > 0 && select("Candidate", candidates, asked.candidate, choose("candidate"), { name: "candidate" }),
      check("strict: assumed rows leave a requirement undecided", asked.strict, choose("strict"), { name: "strict" }),
      h("span", { class: "spring" }), h("a", { href: `#/compare?name=${name}` }, "On every interconnect"));
  }

  async function open(next) {
    [name, asked.candidate] = [next, ""];
    await load();
  }

  async function load() {
    fill(result, waiting("Judging"));
    file.set((await get(`usecases/${encodeURIComponent(name)}`)).toml);
    ask();
  }

  fill(main, choices, h("div", { class: "split" }, file.element, result));
  showChoices([]);
  await load();
}
