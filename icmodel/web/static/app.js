// Shell of the workbench: navigation, colour theme, and one page at a time.
import { fill, h, problem } from "./dom.js";
import { comparePage } from "./compare.js";
import { datasetsPage } from "./datasets.js";
import { systemsPage } from "./systems.js";
import { usecasesPage } from "./usecases.js";
import { validationPage } from "./validation.js";
import { whatifPage } from "./whatif.js";

const PAGES = {
  "": ["What if", whatifPage],
  usecases: ["Use cases", usecasesPage],
  systems: ["Systems", systemsPage],
  datasets: ["Datasets", datasetsPage],
  compare: ["Compare", comparePage],
  validation: ["Validation", validationPage],
};
const main = document.getElementById("main");
let shown = null;

/** Split the address: `#/systems?name=imaging` -> page and parameters. */
function address() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return [path in PAGES ? path : "", new URLSearchParams(query)];
}

async function show() {
  if (location.hash === "#main") return void main.focus();
  const [name, parameters] = address();
  for (const link of document.querySelectorAll("nav a")) {
    const here = link.getAttribute("href") === `#/${name}`;
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (shown?.name === name && shown.page?.moved) return shown.page.moved(parameters);
  shown?.page?.closed?.();
  document.title = `${PAGES[name][0]} · icmodel`;
  main.className = name || "whatif";
  fill(main);
  const mine = (shown = { name, page: null });
  try {
    // A page may change the address: `put` replaces it without a new entry in the browser's history.
    const put = (query) => shown === mine && history.replaceState(null, "", `#/${name}?${query}`);
    mine.page = await PAGES[name][1](main, parameters, put);
  } catch (error) {
    fill(main, problem(error));
  }
}

document.querySelector("nav").append(
  ...Object.entries(PAGES).map(([name, [title]]) => h("a", { href: `#/${name}` }, title)));
window.addEventListener("hashchange", show);

// --- colours -------------------------------------------------------------------------------

const THEMES = { system: "◐", light: "○", dark: "●" };
const button = document.querySelector(".theme");

function colour(theme) {
  document.documentElement.dataset.theme = theme;
  button.textContent = THEMES[theme];
  button.setAttribute("aria-label", `Colours: ${theme === "system" ? "as the system" : theme}`);
  button.title = button.getAttribute("aria-label");
  localStorage.setItem("theme", theme);
  window.dispatchEvent(new Event("recolour"));
}

button.addEventListener("click", () => {
  const names = Object.keys(THEMES);
  colour(names[(names.indexOf(document.documentElement.dataset.theme) + 1) % names.length]);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => window.dispatchEvent(new Event("recolour")));
colour(localStorage.getItem("theme") in THEMES ? localStorage.getItem("theme") : "system");
show();
