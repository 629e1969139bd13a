"use strict";
// Numbers behind the pictures: cells of the grids, and the density of the bulk in closed form.
const AXES = DATA.axes;
const SPECTRA = ["c1", "c2", "c3", "activation", "phi", "psi", "alpha"];
const ERRORS = ["c1", "c2", "c3", "activation", "phi", "psi", "lambda"];
const SIZES = ["activation", "phi", "psi"];
const WIDTH = 3 + DATA.outliers;

// Arrays are in the order of their axes, the last one fastest.
const place = (names, at) =>
  names.reduce((sum, name) => sum * AXES[name].length + AXES[name].indexOf(at[name]), 0);
const part = (array, index, many) => array.slice(index * many, (index + 1) * many);

// Neighbours of alpha on its grid, and how far from the lower one it is.
function between(alpha) {
  const low = Math.min(AXES.alpha.length - 2, Math.floor(alpha / 0.05 + 1e-9));
  return [AXES.alpha[low], AXES.alpha[low + 1], (alpha - AXES.alpha[low]) / 0.05];
}
function spectrumAt(at) {
  const [low, high, t] = between(at.alpha);
  const [a, b] = [low, high].map((alpha) => part(DATA.spectra.values, place(SPECTRA, { ...at, alpha }), WIDTH));
  const [linear, nonlinear, edge, ...beyond] = a.map((x, k) => (k < 3 ? x + t * (b[k] - x) : (x || 1) + t * ((b[k] || 1) - (x || 1))));
  // How many have left the bulk is stored for every alpha of the slider: on a line from the edge one would leave it
  // at once where only the upper neighbour has one.
  const many = Number(DATA.spectra.counts[place(SPECTRA.slice(0, -1), at)][Math.round(100 * at.alpha)]);
  return { linear, nonlinear, edge, outliers: beyond.slice(0, many) };
}
function errorsAt(at) {
  const cell = place(ERRORS, at), stepped = part(DATA.errors.stepped, cell, AXES.alpha.length);
  const [low, , t] = between(at.alpha), k = AXES.alpha.indexOf(low);
  return { stepped, fixed: DATA.errors.fixed[cell], now: t && stepped[k + 1] === null ? null : stepped[k] === null ? null : stepped[k] + t * (stepped[k + 1] - stepped[k]) };
}
const isSimulated = (at) => ["c1", "c2", "c3"].every((name) => at[name] === DATA.simulations.target[name]);
function simulatedAt(at, alpha) { // undefined where nothing is stored
  const { alphas, rows } = DATA.simulations, k = alphas.indexOf(Number(alpha.toFixed(2)));
  return isSimulated(at) && k >= 0 ? rows[place(SIZES, at) * alphas.length + k] : undefined;
}

// Complex numbers are [real, imaginary].
const mul = (a, b) => [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]];
function div(a, b) {
  const n = b[0] ** 2 + b[1] ** 2;
  return [(a[0] * b[0] + a[1] * b[1]) / n, (a[1] * b[0] - a[0] * b[1]) / n];
}
function times(a, b) { // polynomials
  const c = Array(a.length + b.length - 1).fill(0);
  a.forEach((x, i) => b.forEach((y, j) => { c[i + j] += x * y; }));
  return c;
}
function roots(c) { // of w^4 + c[0] w^3 + c[1] w^2 + c[2] w + c[3], by Durand and Kerner
  const scale = Math.max(1e-9, ...c.map((x, k) => Math.abs(x) ** (1 / (k + 1))));
  const w = [0, 1, 2, 3].map((k) => [scale * Math.cos(0.4 + k * 1.57), scale * Math.sin(0.4 + k * 1.57)]);
  for (let round = 0, moved = 1; round < 300 && moved > 1e-14 * scale; round++) {
    moved = 0;
    w.forEach((x, i) => {
      let value = [1, 0], below = [1, 0];
      c.forEach((one) => { value = mul(value, x); value[0] += one; });
      w.forEach((y, j) => { if (j !== i) below = mul(below, [x[0] - y[0], x[1] - y[1]]); });
      const step = div(value, below);
      w[i] = [x[0] - step[0], x[1] - step[1]];
      moved = Math.max(moved, Math.hypot(...step));
    });
  }
  return w;
}
// Singular values of F/sqrt(n): the largest Im(u/g)/pi over the roots u of z(u) = -x, where 1/u is a root of a
// monic quartic, as in `FeatureLimit.singular_value_density`.
function density(phi, psi, q, v, values) {
  const ratio = psi / phi, k = q / phi, inner = [0, q + v, v * k];
  const less = (factor) => [1, k, 0].map((x, i) => x - factor * inner[i]);
  const fixed = [...times(less(ratio), less(1)), 0, 0], moved = [0, ...times([1, k], [1, k]), 0, 0];
  const height = (w) => {
    if (Math.hypot(...w) < 1e-12) return 0;
    const u = div([1, 0], w), h = div([1, 0], [1 + k * u[0], k * u[1]]);
    const t = mul(u, [q * h[0] + v, q * h[1]]);
    return div(u, [1 - ratio * t[0], -ratio * t[1]])[1];
  };
  return values.map((s) => {
    if (!(s > 0)) return 0;
    const c = [1, 2, 3, 4].map((i) => fixed[i] + ratio * s * s * moved[i]);
    return (2 * ratio * s * Math.max(1, ratio) * Math.max(0, ...roots(c).map(height))) / Math.PI;
  });
}
