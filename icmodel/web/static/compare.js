// The page of comparisons: one use case on every interconnect.
import { fill, get, h, post, problem, say, select, waiting } from "./dom.js";
import { report } from "./blocks.js";

export async function comparePage(main, parameters, put) {
  const { usecases } = await get("usecases");
  const result = h("div", { class: "result" });

  async function ask(name) {
    put(new URLSearchParams({ name }));
    fill(result, waiting("Every interconnect is asked; the first time takes some seconds"));
    try {
      const found = await post("pages/compare", { usecase: name });
      fill(result, h("h1", {}, found.title), h("p", { class: "question" }, found.question), report(found));
      say(found.sentence);
    } catch (error) {
      fill(result, problem(error));
    }
  }

  const name = parameters.get("name") || "imaging", titles = usecases.map((one) => [one.name, one.title]);
  fill(main, h("div", { class: "choices" }, select("Use case", titles, name, ask, { name: "usecase" })), result);
  ask(name);
}
