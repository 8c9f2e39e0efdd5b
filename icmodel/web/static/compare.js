// Page of comparisons: a use case is judged on every interconnect.
import { fill, get, h, latest, post, problem, say, select, waiting } from "./dom.js";
import { report } from "./blocks.js";
import { drafts, editor } from "./editor.js";

export async function comparePage(main, parameters, put) {
  const { usecases } = await get("usecases");
  let name = parameters.get("name") || "imaging";
  const result = h("div", { class: "result" });
  const file = editor("The use case as TOML", () => ask());
  const own = h("details", { class: "own" }, h("summary", {}, "The use case: edit it, or open your own file"), file.element);

  const ask = latest(async () => {
    result.classList.add("stale");
    try {
      const found = await post("pages/compare", { toml: file.text });
      file.fail(found.mistakes);
      own.open ||= Boolean(found.error);
      if (found.error) return;
      drafts.set(name, file.text);
      result.classList.remove("stale");
      fill(result, h("h1", {}, found.title), h("p", { class: "question" }, found.question), report(found));
      say(found.sentence);
    } catch (error) {
      result.classList.remove("stale");
      fill(result, problem(error));
    }
  });

  async function open(next) {
    name = next;
    put(new URLSearchParams({ name }));
    fill(result, waiting("The use case is judged on every interconnect; the first time takes some seconds"));
    file.set(drafts.get(name) ?? (await get(`usecases/${encodeURIComponent(name)}`)).toml);
    ask();
  }

  const titles = usecases.map((one) => [one.name, one.title]);
  fill(main, h("div", { class: "choices" }, select("Use case", titles, name, open, { name: "usecase" })), own, result);
  await open(name);
}
