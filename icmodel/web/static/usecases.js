// The page of use cases: a verdict that follows the numbers of the file.
import { fill, get, h, latest, post, problem, say, select, waiting } from "./dom.js";
import { report } from "./blocks.js";
import { editor } from "./editor.js";

export async function usecasesPage(main, parameters, put) {
  const [{ usecases }, { datasets }] = await Promise.all([get("usecases"), get("datasets")]);
  let name = parameters.get("name") || "imaging", dataset = parameters.get("dataset") || "ethernet-10g-2012";
  let candidate = parameters.get("candidate") || "", strict = parameters.get("strict") === "1";
  const result = h("div", { class: "result", "aria-busy": "false" }), choices = h("div", { class: "choices" });
  const file = editor("The use case as TOML", () => ask());

  const ask = latest(async () => {
    result.setAttribute("aria-busy", "true");
    try {
      const found = await post("pages/usecase", { toml: file.text, dataset, candidate, strict });
      if (found.error) {
        file.fail(found.error, found.line);
        result.classList.add("stale");
        return;
      }
      file.fail();
      result.classList.remove("stale");
      candidate = found.candidate;
      choose(found.candidates);
      fill(result, h("h1", {}, found.title), h("p", { class: "question" }, found.question), h("p", { class: "hint" }, `Asked of ${found.basis}.`), report(found, ["requirements", "reasons", "limits"]));
      say(found.sentence);
    } catch (error) {
      fill(result, problem(error));
    } finally {
      result.setAttribute("aria-busy", "false");
    }
  });

  function choose(candidates) {
    const query = new URLSearchParams({ name, dataset, candidate, ...(strict ? { strict: "1" } : {}) });
    put(query);
    fill(choices, 
      select("Use case", usecases.map((one) => [one.name, one.title]), name, open, { name: "usecase" }),
      select("Dataset", datasets.map((one) => one.id), dataset, (value) => { dataset = value; ask(); }, { name: "dataset" }),
      candidates.length > 0 && select("Candidate", candidates, candidate, (value) => { candidate = value; ask(); }, { name: "candidate" }),
      h("label", { class: "check" }, h("input", { type: "checkbox", ".checked": strict, onchange: (event) => { strict = event.target.checked; ask(); } }), "strict: assumed rows leave a requirement undecided"),
      h("span", { class: "spring" }), h("a", { href: `#/compare?name=${name}` }, "On every interconnect"));
  }

  async function open(next) {
    name = next;
    candidate = "";
    file.set((await get(`usecases/${encodeURIComponent(name)}`)).toml);
    ask();
  }

  fill(main, choices, h("div", { class: "split" }, file.element, result));
  choose([]);
  fill(result, waiting("Judging"));
  file.set((await get(`usecases/${encodeURIComponent(name)}`)).toml);
  ask();
}
