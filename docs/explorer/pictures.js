"use strict";
// What each part draws of the state.
const $ = (id) => document.getElementById(id);
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const plots = {};
const axis = (label) => ({
  label, labelSize: 22, font: "12px system-ui", labelFont: "13px system-ui", stroke: () => css("ink"),
  grid: { stroke: () => css("line"), width: 1 }, ticks: { stroke: () => css("line") },
});
const line = (name, more) => ({ stroke: css(name), width: 2.5, points: { show: false }, ...more });
const dots = (size) => ({ points: { show: true, size, fill: css("simulation") } });

function plot(id, options, data) {
  const box = $(id);
  if (plots[id]) plots[id].destroy();
  const all = { width: box.clientWidth, height: box.clientHeight, cursor: { show: false }, legend: { show: false } };
  plots[id] = new uPlot({ ...all, ...options }, data, box);
}
function upright(u, x, colour, dashed) {
  const at = u.valToPos(x, "x", true), { ctx, bbox } = u;
  ctx.save();
  ctx.lineWidth = 2 * devicePixelRatio;
  ctx.strokeStyle = css(colour);
  ctx.setLineDash(dashed ? [6, 5] : []);
  ctx.beginPath(); ctx.moveTo(at, bbox.top); ctx.lineTo(at, bbox.top + bbox.height); ctx.stroke();
  ctx.restore();
}
function triangle(u, x) {
  const at = u.valToPos(x, "x", true), r = 6 * devicePixelRatio, { ctx, bbox } = u, y = bbox.top + bbox.height - r;
  ctx.fillStyle = css("simulation");
  ctx.beginPath(); ctx.moveTo(at - r, y - r); ctx.lineTo(at + r, y - r); ctx.lineTo(at, y + r); ctx.fill();
}

function drawSpectrum() {
  const { linear, nonlinear, edge, outliers } = spectrumAt(state), sample = simulatedAt(state, state.alpha);
  const bins = DATA.simulations.rows[0].counts.length, wide = 1.2 / bins, many = 6 * bins;
  const x = Array.from({ length: many + 1 }, (_, k) => (1.2 * k) / many), drawn = sample ? sample.beyond : [];
  const theory = density(state.phi, state.psi, linear, nonlinear, x.map((s) => s * edge)).map((y) => y * edge);
  const total = sample && sample.values * wide;
  const bars = x.map((s) => (sample ? sample.counts[Math.min(bins - 1, Math.floor(s / wide + 1e-9))] / total : null));
  const marks = (u) => {
    upright(u, 1, "soft", true);
    outliers.forEach((v) => upright(u, v, "theory"));
    drawn.forEach((v) => triangle(u, v));
  };
  plot("spectrum", {
    scales: {
      x: { time: false, range: [0, 1.08 * Math.max(2, ...outliers, ...drawn)] },
      y: { range: [0, 1.1 * Math.max(...theory, ...bars.map(Number))] },
    },
    axes: [axis("singular value / edge"), axis("density")],
    series: [{}, line("simulation", { fill: css("fill"), width: 0, paths: uPlot.paths.stepped({ align: 1 }) }), line("theory")],
    hooks: { draw: [marks] },
  }, [x, bars, theory]);
  const which = outliers.map((v) => v.toFixed(2)).join(", ");
  const words = outliers.length ? `${outliers.length} outlier${outliers.length > 1 ? "s" : ""} at ${which} edges` : "No value leaves the bulk";
  const seen = sample ? ` Simulated beyond 1.05: ${drawn.join(", ") || "none"}.` : "";
  $("spectrum-words").textContent = `${words}; the edge is ${edge.toFixed(2)}.${seen}`;
}

function drawGains() {
  const { stepped, fixed, now } = errorsAt(state), which = AXES.lambda.indexOf(state.lambda);
  const rows = AXES.alpha.map((alpha) => simulatedAt(state, alpha));
  const seen = rows.map((row) => (row ? row.test[which] : null));
  const ends = rows.map((row) => (row ? [-DATA.interval, DATA.interval].map((z) => row.test[which] + z * row.error[which]) : []));
  const errors = (u) => ends.forEach((own, k) => {
    if (!own.length) return;
    const x = u.valToPos(AXES.alpha[k], "x", true), [a, b] = own.map((end) => u.valToPos(end, "y", true));
    u.ctx.strokeStyle = css("simulation"); u.ctx.lineWidth = 2 * devicePixelRatio;
    u.ctx.beginPath(); u.ctx.moveTo(x, a); u.ctx.lineTo(x, b); u.ctx.stroke();
  });
  plot("gains", {
    scales: { x: { time: false, range: [-0.01, 0.46] }, y: { range: [0, 1.08 * Math.max(fixed, ...stepped, ...ends.flat())] } },
    axes: [axis("alpha"), axis("test error / E y²")],
    series: [{}, line("theory"), line("soft", { dash: [7, 6], width: 2 }), line("simulation", { width: 0, paths: () => null, ...dots(8) })],
    hooks: { draw: [errors, (u) => upright(u, state.alpha, "accent", true)] },
  }, [AXES.alpha, stepped, stepped.map(() => fixed), seen]);
  const gain = 100 * (1 - now / fixed), way = `${Math.abs(gain).toFixed(0)} % ${gain < 0 ? "more" : "less"}`;
  const none = isSimulated(state) ? "" : " No simulation of this target is stored.";
  if (now === null) $("gains-words").textContent = `At this step the theory ends; random features have ${fixed.toFixed(3)}.${none}`;
  else $("gains-words").textContent = `After the step ${now.toFixed(3)}, random features ${fixed.toFixed(3)}: ${way}.${none}`;
}

function canvas(id, size) {
  const node = $(id), many = size || Math.round(node.clientWidth * devicePixelRatio);
  node.width = node.height = many;
  return [node.getContext("2d"), many];
}
function star(ctx, [x, y], r) {
  ctx.beginPath();
  for (let k = 0; k < 10; k++) {
    const angle = Math.PI * (k / 5 - 0.5), s = k % 2 ? 0.4 * r : r;
    ctx.lineTo(x + s * Math.cos(angle), y + s * Math.sin(angle));
  }
  ctx.closePath(); ctx.lineWidth = r / 6; ctx.stroke();
}
function drawMap() {
  const run = DATA.neurons[state.run], [ctx, size] = canvas("map"), points = run.points[state.at], stars = run.stars[state.at];
  const reach = 1.08 * Math.max(...[...points, ...stars].flat().map(Math.abs), 1e-9);
  const to = ([x, y]) => [size * (0.5 + x / reach / 2), size * (0.5 - y / reach / 2)];
  ctx.fillStyle = css("simulation");
  ctx.globalAlpha = 0.6;
  points.forEach((p) => { ctx.beginPath(); ctx.arc(...to(p), size / 110, 0, 7); ctx.fill(); });
  ctx.globalAlpha = 1;
  ctx.strokeStyle = css("theory");
  stars.forEach((p) => star(ctx, to(p), size / 28));
  $("map-words").textContent = `Step ${run.steps[state.at]}, ${run.words}: half of the neurons have |cos| above ${(Math.floor(100 * Math.min(run.cosines[state.at], 0.999)) / 100).toFixed(2)} with the star in the space of the inputs. Run: gradfeat run ${run.experiment}.`;
}

function picture(id, values, signed) { // white is 0, orange more, blue less
  const [ctx] = canvas(id, 8), most = Math.max(...values.map(Math.abs)) || 1, pixels = ctx.createImageData(8, 8);
  pixels.data.fill(255);
  values.forEach((v, k) => {
    const to = signed && v < 0 ? [0, 90, 170] : [194, 84, 0];
    to.forEach((c, j) => { pixels.data[4 * k + j] = 255 + (Math.abs(v) / most) * (c - 255); });
  });
  ctx.putImageData(pixels, 0, 0);
}
function drawMetric() {
  const found = DATA.metrics[state.pair], now = found.rounds[state.round], [one, other] = found.means;
  picture("means", other.map((v, k) => v - one[k]), true);
  picture("diagonal", now.diagonal, false);
  picture("vector", state.round ? now.vector : [0], true); // M = I has no first one
  const margins = found.rounds.map((r) => r.margin), rounds = margins.map((_, k) => k);
  plot("margin", {
    scales: { x: { time: false, range: [-0.3, rounds.length - 0.7] }, y: { range: [0.97 * Math.min(...margins), 1.02 * Math.max(...margins)] } },
    axes: [{ ...axis("round"), values: (_, ticks) => ticks.map((k) => (Number.isInteger(k) ? k : "")) }, axis()],
    series: [{}, line("simulation", dots(7))],
    hooks: { draw: [(u) => upright(u, state.round, "accent", true)] },
  }, [rounds, margins]);
  const share = [...now.diagonal].sort((a, b) => b - a).slice(0, 8).reduce((a, b) => a + b, 0);
  $("metric-words").textContent = `Round ${state.round}${state.round ? "" : ", where M = I"}: the eight strongest of 64 pixels hold ${(100 * share).toFixed(0)} % of M; ${now.wrong} of ${found.tested} test digits are wrong, the mean margin is ${now.margin.toFixed(3)}.`;
}

// Rows are [name, from, to, [low, high] of chance or null, whether found, words].
function drawBars(rows) {
  const ends = rows.flatMap((row) => [row[1], row[2], ...(row[3] || [])]), low = Math.min(0, ...ends);
  const at = (v) => (100 * (v - low)) / (Math.max(...ends) - low || 1);
  const made = (kind, words, title) => Object.assign(document.createElement(kind), { textContent: words || "", title: title || "" });
  const bar = (kind, a, b) => {
    const node = Object.assign(made("b"), { className: kind });
    node.style.cssText = `left:${at(Math.min(a, b))}%;width:max(2px,${Math.abs(at(b) - at(a))}%)`;
    return node;
  };
  $("bars").replaceChildren(...rows.map(([name, from, to, chance, found, words]) => {
    const row = Object.assign(made("div"), { className: "bar" }), box = made("div");
    box.append(bar(found ? "found" : "", from, to), ...(chance ? [bar("null", ...chance)] : []));
    row.append(made("span", name, name), box, made("span", words));
    return row;
  }));
}
const BARS = {
  degrees: (t) => t.degrees.map((d) => [`degree ${d.degree}`, 0, d.strength, [d.null_low, d.null_high], d.found, d.strength.toFixed(3)]),
  shares: (t) => t.shares.map((s) => [s.part, s.low, s.high, null, s.found, `${(100 * s.estimate).toFixed(0)} %`]),
  loadings: (t) => [...t.loadings].sort((a, b) => Math.abs(b[1]) - Math.abs(a[1])).slice(0, 10).map(([name, v]) => [name, 0, v, null, true, v.toFixed(2)]),
};
const TITLES = {
  degrees: "signal by degree; grey is chance, orange is beyond it",
  shares: "parts of the variance of new rows, 95 % intervals",
  loadings: "loadings of the first direction",
};
function drawTable() {
  const found = DATA.tables[state.table];
  drawBars(BARS[state.view](found));
  $("bars-title").textContent = `${found.words}, ${found.rows.toLocaleString("en")} rows, target ${found.target}: ${TITLES[state.view]}`;
  $("table-words").textContent = `${found.verdict} ${found.advice}`;
}
