// Page of validation: errors and coverage of a dataset's left-out rows, and the worst points.
import { fill, get, h, post, problem, say, select, waiting } from "./dom.js";
import { report } from "./blocks.js";

export async function validationPage(main, parameters, put) {
  const { datasets } = await get("datasets");
  const asked = { dataset: parameters.get("dataset") || "ethernet-1g-2010", variant: parameters.get("variant") || "corrected" };
  const result = h("div", { class: "result" });

  async function ask() {
    put(new URLSearchParams(asked));
    fill(result, waiting("Rows are left out and predicted; this may take a minute"));
    try {
      const found = await post("pages/validation", asked);
      fill(result, h("h1", {}, found.title), h("p", { class: "question" }, found.question), report(found));
      say("The validation is done.");
    } catch (error) {
      fill(result, problem(error));
    }
  }

  const choose = (name) => (value) => {
    asked[name] = value;
    ask();
  };
  fill(main, h("div", { class: "choices" },
    select("Dataset", datasets.map((one) => one.id), asked.dataset, choose("dataset"), { name: "dataset" }),
    select("Variant", ["corrected", "hybrid", "appendix-h"], asked.variant, choose("variant"), { name: "variant" })), result);
  ask();
}
