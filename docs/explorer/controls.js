"use strict";
// Settings are the state: controls change them, the address holds them, each change redraws what shows them.
const NAMES = { centred_relu: "centred ReLU", tanh: "tanh", sine: "sin z − cos z" };
const VIEWS = { degrees: "signal by degree", shares: "parts of the variance", loadings: "first direction" };
const START = {
  ...DATA.simulations.target, activation: "centred_relu", phi: 0.25, psi: 0.5, lambda: 0.01, alpha: 0.2,
  run: 0, at: 0, pair: 0, round: 0, table: 0, view: "degrees",
};
const state = { ...START };
const BOTH = [drawSpectrum, drawGains];
const DRAWN = {
  alpha: BOTH, phi: BOTH, psi: BOTH, lambda: [drawGains], activation: BOTH, c1: BOTH, c2: BOTH, c3: BOTH,
  run: [drawMap], at: [drawMap], pair: [drawMetric], round: [drawMetric], table: [drawTable], view: [drawTable],
};
const GRIDS = Object.fromEntries(["phi", "psi", "lambda", "c1", "c2", "c3"].map((name) => [name, AXES[name]]));
const LISTS = {
  activation: AXES.activation.map((name) => [name, NAMES[name]]),
  run: DATA.neurons.map((run, k) => [k, run.words]),
  pair: DATA.metrics.map((one, k) => [k, one.pair.join(" and ")]),
  table: DATA.tables.map((one, k) => [k, one.words]),
  view: Object.entries(VIEWS),
};
const SPANS = {
  alpha: () => [0, 0.45, 0.01],
  at: () => [0, DATA.neurons[state.run].points.length - 1, 1],
  round: () => [0, DATA.metrics[state.pair].rounds.length - 1, 1],
};
const WORDS = { at: (k) => DATA.neurons[state.run].steps[k], alpha: (value) => value.toFixed(2) };

function show(name) {
  const node = $(name), grid = GRIDS[name], out = document.querySelector(`output[for="${name}"]`);
  if (grid) Object.assign(node, { min: 0, max: grid.length - 1, step: 1 });
  if (SPANS[name]) [node.min, node.max, node.step] = SPANS[name]();
  node.value = grid ? grid.indexOf(state[name]) : state[name];
  if (!out) return;
  out.textContent = String((WORDS[name] || String)(state[name]));
  node.setAttribute("aria-valuetext", out.textContent);
}
function set(changes) {
  Object.assign(state, changes);
  for (const name of ["at", "round"]) state[name] = Math.min(state[name], SPANS[name]()[1]);
  Object.keys(DRAWN).forEach(show);
  new Set(Object.keys(changes).flatMap((name) => DRAWN[name])).forEach((draw) => draw());
  try { history.replaceState(null, "", `#${shared()}`); } catch { /* some browsers refuse this of files */ }
}
const shared = () => new URLSearchParams(Object.entries(state).filter(([name, value]) => value !== START[name])).toString();

// Settings of the address; what is not allowed is left out, and said.
function allowed(name, value) {
  if (name === "alpha") return value >= 0 && value <= 0.45;
  const list = GRIDS[name] || (LISTS[name] && LISTS[name].map(([one]) => one));
  return list ? list.includes(value) : name in SPANS && Number.isInteger(value) && value >= 0;
}
function read() {
  const pairs = [...new URLSearchParams(location.hash.slice(1))];
  const typed = pairs.map(([name, text]) => [name, typeof START[name] === "number" ? Number(text) : text, text]);
  set({ ...START, ...Object.fromEntries(typed.filter(([name, value]) => allowed(name, value))) });
  const wrong = typed.filter(([name, value]) => state[name] !== value).map(([name, , text]) => `${name}=${text}`);
  $("told").textContent = wrong.length ? `Not taken from the address, as no control has it: ${wrong.join(", ")}.` : "";
}

const valueOf = (name, text) => (GRIDS[name] ? GRIDS[name][text] : typeof START[name] === "number" ? Number(text) : text);
for (const [name, options] of Object.entries(LISTS)) $(name).replaceChildren(...options.map(([value, words]) => new Option(words, value)));
for (const name of Object.keys(DRAWN)) {
  $(name).addEventListener("input", ({ target }) => set({ [name]: valueOf(name, target.value), ...(name === "run" ? { at: 0 } : {}) }));
}
$("simulated").addEventListener("click", () => set({ ...DATA.simulations.target, alpha: 0.2 }));
let playing = 0;
$("play").addEventListener("click", () => {
  clearInterval(playing);
  set({ at: 0 });
  playing = setInterval(() => (state.at < SPANS.at()[1] ? set({ at: state.at + 1 }) : clearInterval(playing)), 900);
});
$("link").addEventListener("click", async () => {
  const link = `${location.href.split("#")[0]}#${shared()}`;
  try { await navigator.clipboard.writeText(link); $("link").textContent = "Copied"; } catch { prompt("Link with these settings", link); }
});
const redraw = () => [...BOTH, drawMap, drawMetric, drawTable].forEach((draw) => draw());
function theme(name) {
  document.documentElement.dataset.theme = name;
  $("theme").textContent = name === "dark" ? "Light" : "Dark";
}
const dark = () => document.documentElement.dataset.theme === "dark";
$("theme").addEventListener("click", () => { theme(dark() ? "light" : "dark"); redraw(); });
document.querySelectorAll("nav a").forEach((link) => link.addEventListener("click", (event) => {
  event.preventDefault(); // the address holds settings
  $(link.hash.slice(1)).scrollIntoView({ behavior: "smooth" });
}));
window.addEventListener("hashchange", read);
window.addEventListener("beforeprint", () => { if (dark()) { theme("light"); redraw(); } });
let wide = innerWidth;
window.addEventListener("resize", () => { if (innerWidth !== wide) { wide = innerWidth; redraw(); } });
theme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
document.querySelectorAll("[data-rows]").forEach((node) => { node.textContent = DATA.rows.toLocaleString("en"); });
document.querySelectorAll("[data-seeds]").forEach((node) => { node.textContent = DATA.simulations.seeds; });
read();
