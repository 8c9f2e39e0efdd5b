// The page of comparisons: one use case on every interconnect.
import { fill, get, h, post, problem, say, select, waiting } from "./dom.js";
import { report } from "./blocks.js";

export async function comparePage(main, parameters, put) {
  const { usecases } = await get("usecases");
  const result = h("div", { class: "result", "aria-busy": "false" });

  async function ask(name) {
    put(new URLSearchParams({ name }));
    fill(result, waiting("Every interconnect is asked; the first time takes some seconds"));
    result.setAttribute("aria-busy", "true");
    try {
      const found = await post("pages/compare", { usecase: name });
      fill(result, h("h1", {}, found.title), h("p", { class: "question" }, found.question), report(found));
      say(found.sentence);
    } catch (error) {
      fill(result, problem(error));
    }
    result.setAttribute("aria-busy", "false");
  }

  const name = parameters.get("name") || "imaging";
  fill(main, h("div", { class: "choices" }, select("Use case", usecases.map((one) => [one.name, one.title]), name, ask, { name: "usecase" })), result);
  ask(name);
}
