// Curves with bands, benchmarked points, limits and a marker that can be dragged.
import { h, table, text } from "./dom.js";

const SERIES = ["--accent", "--series-2", "--series-3", "--series-4", "--series-5", "--series-6", "--series-7", "--series-8"];
const FIELDS = { payload: "payload_bytes", load: "goodput_bps", cores: "cores" };
const TITLES = { payload: "payload", load: "requested goodput", cores: "cores" };
const LIMIT_GAP = 6, FONT = "12px system-ui, sans-serif";

/** Resolve a CSS custom property to a colour that a canvas accepts. */
function colour(name, alpha = 1) {
  const probe = h("i", { class: "hidden" });
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return alpha === 1 ? found : found.replace("rgb(", "rgba(").replace(")", `, ${alpha})`);
}

export const seriesColour = (index) => `var(${SERIES[index]})`;

/**
 * Make a plot in `host`. The plot calls `onmove(x, done)` while the marker is dragged. The argument of its `draw` is
 * {over, metric, log, curves, names, here, limits}.
 */
export function plot(host, onmove) {
  let u = null, shown = null, bounds = [0, 1];
  const marker = h("div", { class: "marker", tabindex: "0", role: "slider", "aria-orientation": "horizontal" }, h("span"));
  const tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });

  function draw(next) {
    shown = next;
    u?.destroy();
    const tables = shown.curves.map((curve) => [curve.x, curve.value, curve.low, curve.high]);
    const data = window.uPlot.join(tables.reverse()); // draw the question's own curve last, above the others
    const { over, metric, log } = shown;
    const every = shown.curves.flatMap((curve) => curve.x);
    bounds = [Math.min(...every), Math.max(...every)];
    const series = [{}], bands = [];
    shown.curves.map((_, index) => index).reverse().forEach((index) => {
      const at = series.length, line = SERIES[index];
      const edge = { stroke: colour(line, 0.35), width: 1, points: { show: false }, spanGaps: false };
      const points = { show: over === "cores", size: 6, fill: colour(line) };
      series.push({ stroke: colour(line), width: 2, points, label: shown.names[index] });
      series.push({ ...edge }, { ...edge });
      bands.push({ series: [at + 2, at + 1], fill: colour(line, 0.13) });
    });
    const grid = { stroke: colour("--grid"), width: 1 };
    const axis = { stroke: colour("--quiet"), grid, ticks: grid, font: FONT, labelFont: FONT };
    const range = { payload: bounds, load: [0, bounds[1]], cores: [bounds[0] - 0.2, bounds[1] + 0.2] }[over];
    const narrow = host.clientWidth < 500, apart = narrow ? 4 : 2;
    u = new window.uPlot({
      width: host.clientWidth, height: narrow ? 260 : 340, legend: { show: false }, series, bands,
      cursor: { drag: { x: false, y: false }, y: false, points: { show: false } },
      scales: {
        x: { time: false, distr: over === "payload" ? 3 : 1, log: 2, range },
        y: { distr: log ? 3 : 1, range: log ? undefined : (_, __, most) => [0, most > 0 ? upTo(most) : 1] },
      },
      axes: [
        { ...axis, label: TITLES[over], labelSize: 22, size: 32, space: narrow ? 60 : 50,
          filter: over === "payload" ? (_, splits) => splits : undefined,
          splits: over === "cores" ? () => Array.from({ length: bounds[1] }, (_, at) => at + 1) : undefined,
          values: (_, splits) => splits.map((value) => tick(FIELDS[over], value, over === "payload" && Math.log2(value) % apart !== 0)) },
        { ...axis, size: 74, values: (_, splits) => splits.map((value) => tick(metric, value, false)) },
      ],
      hooks: { drawAxes: [ground], draw: [overlay], setCursor: [hover], setSize: [place] },
    }, data, host);
    u.over.append(marker, tip);
    place();
  }

  const upTo = (most) => Math.max(most, ...shown.limits.map((one) => one.limit)) * 1.06;
  const tick = (name, value, skip) => (value === null || skip ? "" : value === 0 ? "0" : text(name, value, 6));

  /** Shade the background where the first curve is extrapolated. */
  function ground(chart) {
    const { ctx, bbox } = chart, { x, basis } = shown.curves[0];
    ctx.save();
    ctx.fillStyle = colour("--undecided-tint", 0.7);
    x.forEach((at, index) => {
      if (basis[index] !== "extrapolated") return;
      const [from, to] = [x[index - 1], x[index + 1]].map((next) => chart.valToPos((at + (next ?? at)) / 2, "x", true));
      ctx.fillRect(from, bbox.top, to - from, bbox.height);
    });
    ctx.restore();
  }

  /** Draw limits and benchmarked points over the curves. */
  function overlay(chart) {
    const { ctx, bbox } = chart, dpr = devicePixelRatio;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left - 5 * dpr, bbox.top - 5 * dpr, bbox.width + 10 * dpr, bbox.height + 10 * dpr);
    ctx.clip();
    shown.curves.map((curve, index) => [curve, index]).reverse().forEach(([curve, index]) => {
      const [own, other] = [colour(SERIES[index]), colour("--field")];
      ctx.fillStyle = colour("--paper");
      ctx.lineWidth = 1.3 * dpr;
      for (const point of curve.points) {
        ctx.strokeStyle = point.other ? other : own;
        const x = chart.valToPos(point.x, "x", true), y = chart.valToPos(point.y, "y", true);
        if (point.low !== null && point.high !== null && Number.isFinite(y)) {
          ctx.beginPath();
          ctx.moveTo(x, chart.valToPos(point.low, "y", true));
          ctx.lineTo(x, chart.valToPos(point.high, "y", true));
          ctx.stroke();
        }
        ctx.beginPath();
        ctx.arc(x, y, 3.2 * dpr, 0, 2 * Math.PI);
        ctx.fill();
        ctx.stroke();
      }
    });
    ctx.strokeStyle = ctx.fillStyle = colour("--limit");
    ctx.font = FONT.replace("12", 12 * dpr);
    [ctx.textAlign, ctx.textBaseline] = ["left", "alphabetic"];
    for (const { limit, text: words } of shown.limits) {
      const y = chart.valToPos(limit, "y", true);
      ctx.setLineDash([7 * dpr, 4 * dpr]);
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
      ctx.fillText(words, bbox.left + LIMIT_GAP * dpr, y - LIMIT_GAP * dpr);
    }
    ctx.restore();
  }

  /** Show a tooltip with the benchmarked point near the pointer, or with the values of the curves at the pointer. */
  function hover(chart) {
    const { left, top, idx } = chart.cursor;
    tip.hidden = left < 0 || idx === null;
    if (tip.hidden) return;
    const points = shown.curves.flatMap((curve) => curve.points);
    const distance = (point) => Math.hypot(chart.valToPos(point.x, "x") - left, chart.valToPos(point.y, "y") - top);
    const near = points.reduce((best, one) => (distance(one) < distance(best ?? one) || !best ? one : best), null);
    if (near && distance(near) < 14) tip.textContent = `benchmarked: ${near.text}`;
    else {
      const at = text(FIELDS[shown.over], chart.data[0][idx]);
      const lines = shown.curves.map((curve, index) => {
        const [value, low, high] = [1, 2, 3].map((column) => chart.data[3 * (shown.curves.length - 1 - index) + column][idx]);
        if (value == null) return "";
        const name = shown.curves.length > 1 ? `${shown.names[index]}: ` : "", span = low != null && high != null && low < high;
        const basis = curve.basis[curve.x.indexOf(chart.data[0][idx])];
        const parts = [text(shown.metric, value), span && `${text(shown.metric, low)} – ${text(shown.metric, high)}`, basis];
        return name + parts.filter(Boolean).join(", ");
      });
      tip.textContent = [at, ...lines.filter(Boolean)].join("\n");
    }
    tip.style.left = `${Math.max(Math.min(left + 14, chart.over.clientWidth - tip.offsetWidth), 0)}px`;
    tip.style.top = `${Math.max(top - 34, 4)}px`;
  }

  // --- the marker --------------------------------------------------------------------------

  /** Put the marker at the operating point. */
  function place() {
    if (!u || !shown) return;
    const here = shown.here;
    marker.hidden = here === null || here.x === null;
    if (marker.hidden) return;
    marker.style.left = `${u.valToPos(Math.min(Math.max(here.x, bounds[0]), bounds[1]), "x")}px`;
    const y = here.y === null ? null : u.valToPos(here.y, "y");
    marker.firstChild.hidden = y === null || !Number.isFinite(y);
    if (y !== null) marker.firstChild.style.top = `${y}px`;
    const valuetext = [text(FIELDS[shown.over], here.x), here.words].filter(Boolean).join(": ");
    const values = { valuemin: bounds[0], valuemax: bounds[1], valuenow: here.x, valuetext, label: `operating point: ${TITLES[shown.over]}` };
    for (const [name, value] of Object.entries(values)) marker.setAttribute(`aria-${name}`, value);
  }

  const snapped = (x) => Math.min(Math.max(shown.over === "load" ? x : Math.round(x), bounds[0]), bounds[1]);
  function drag(event, done) {
    const box = u.over.getBoundingClientRect();
    onmove(snapped(u.posToVal(Math.min(Math.max(event.clientX - box.left, 0), box.width), "x")), done);
  }
  marker.addEventListener("pointerdown", (event) => {
    marker.setPointerCapture(event.pointerId);
    marker.focus();
    event.preventDefault();
  });
  marker.addEventListener("pointermove", (event) => marker.hasPointerCapture(event.pointerId) && drag(event, false));
  marker.addEventListener("pointerup", (event) => drag(event, true));
  marker.addEventListener("keydown", (event) => {
    const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 8, PageDown: -8 }[event.key];
    const end = { Home: bounds[0], End: bounds[1] }[event.key];
    if (way === undefined && end === undefined) return;
    event.preventDefault();
    const x = shown.here.x, [first, last] = bounds;
    const step = {
      cores: (at) => at + Math.sign(way),
      payload: (at) => at * (last / first) ** (way / 80),
      load: (at) => at + (way * (last - first)) / 80,
    }[shown.over];
    let next = end ?? step(x);
    if (shown.over === "payload" && end === undefined && Math.round(next) === x) next = x + Math.sign(way);
    onmove(snapped(next), true);
  });
  new ResizeObserver(() => u && host.clientWidth && u.width !== host.clientWidth && draw(shown)).observe(host);
  window.addEventListener("recolour", () => u && host.isConnected && draw(shown));

  return {
    draw,
    move(here) {
      if (shown) shown.here = here;
      place();
    },
    clear() {
      u?.destroy();
      u = shown = null;
    },
  };
}

/** Make a table of the numbers of a plot, for users who cannot see it. */
export function plotTable({ over, metric, curves, names }) {
  const rows = curves.flatMap((curve, index) => {
    const wanted = new Set(curve.points.map((point) => point.x));
    const keep = (x, at) => wanted.has(x) || at % Math.ceil(curve.x.length / 12) === 0 || at === curve.x.length - 1;
    return curve.x.map((x, at) => [x, at]).filter(([x, at]) => keep(x, at) && curve.value[at] !== null).map(([x, at]) => {
      const points = curve.points.filter((point) => point.x === x).map((point) => point.text).join("; ");
      const [value, low, high] = [curve.value[at], curve.low[at], curve.high[at]].map((one) => (one === null ? "–" : text(metric, one)));
      return [names[index], text(FIELDS[over], x), value, `${low} … ${high}`, curve.basis[at], points];
    });
  });
  const heads = ["question", TITLES[over], "value", "90 % interval", "basis", "benchmarked"];
  return table("The numbers of the plot", heads, rows);
}
