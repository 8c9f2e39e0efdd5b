// The page of validation: errors and coverage of a dataset's left-out rows, and the worst points.
import { fill, get, h, post, problem, say, select, waiting } from "./dom.js";
import { report } from "./blocks.js";

export async function validationPage(main, parameters, put) {
  const { datasets } = await get("datasets");
  const result = h("div", { class: "result", "aria-busy": "false" }), choices = h("div", { class: "choices" });
  let dataset = parameters.get("dataset") || "ethernet-1g-2010", variant = parameters.get("variant") || "corrected";

  async function ask() {
    put(new URLSearchParams({ dataset, variant }));
    fill(result, waiting("Rows are left out and predicted; this may take a minute"));
    result.setAttribute("aria-busy", "true");
    try {
      const found = await post("pages/validation", { dataset, variant });
      fill(result, h("h1", {}, found.title), h("p", { class: "question" }, found.question), report(found));
      say("The validation is done.");
    } catch (error) {
      fill(result, problem(error));
    }
    result.setAttribute("aria-busy", "false");
  }

  choices.append(
    select("Dataset", datasets.map((one) => one.id), dataset, (value) => { dataset = value; ask(); }, { name: "dataset" }),
    select("Variant", ["corrected", "hybrid", "appendix-h"], variant, (value) => { variant = value; ask(); }, { name: "variant" }));
  fill(main, choices, result);
  ask();
}
