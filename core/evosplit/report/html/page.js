// Search, sorting and charts of the report. Every name is data: it enters the page as text, never as markup.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const AT_FIRST = 50; // rows of a table before "show all"
const SVG = "http://www.w3.org/2000/svg";

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function shape(name, attributes = {}) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

// Spreading a long list into Math.min would be too many arguments.
const least = (list) => list.reduce((a, b) => Math.min(a, b));
const most = (list) => list.reduce((a, b) => Math.max(a, b));
const whole = (value) => value.toLocaleString("en");
const colour = (j) => `var(--s${j % 8})`;

function percent(value) {
  const size = 100 * Math.abs(value);
  return `${(100 * value).toFixed(size >= 100 ? 0 : size >= 0.1 || size === 0 ? 1 : 2)} %`;
}

function measure(value) {
  if (value === 0) return "0";
  return Math.abs(value) >= 0.001 && Math.abs(value) < 1e5 ? String(Number(value.toPrecision(3))) : value.toExponential(2);
}

// --- tables

const show = { name: (text) => text, count: whole, percent, measure };
const valueOf = (cell) => (Array.isArray(cell) ? cell[1] : cell); // of what a subset holds, its share

function shareTable(holder) {
  let source = data.tables[holder.dataset.table];
  let sorted = { at: holder.dataset.table === "labels" ? 1 : null, down: false }; // null: in the order in which the rows come
  let everything = false;
  let found = [];
  const search = holder.querySelector("input");
  const table = holder.querySelector("table");
  const head = table.createTHead();
  const body = table.createTBody();
  const more = element("button", { type: "button", class: "more" });
  holder.append(more);
  const subsets = () => source.columns.findIndex((column) => column.kind === "part"); // the first of them
  if (source.columns.length - subsets() > 5) table.classList.add("compact");

  const folded = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const words = (row) => folded(row.filter((_, at) => source.columns[at].kind === "name").join(" "));

  function drawHead() {
    const row = element("tr");
    source.columns.forEach(({ heading, kind }, at) => {
      const button = element("button", { type: "button" });
      if (kind === "part") button.append(element("span", { class: "dot", style: `--c: ${colour(at - subsets())}` }));
      button.append(element("bdi", {}, heading));
      button.addEventListener("click", () => {
        sorted = { at, down: sorted.at === at ? !sorted.down : !["name", "count"].includes(kind) };
        draw();
        head.querySelectorAll("button")[at].focus();
      });
      const cell = element("th", { scope: "col" }, button);
      if (["random", "to move"].includes(heading)) cell.className = "wide";
      if (kind === "name") cell.className = "text";
      if (sorted.at === at) cell.setAttribute("aria-sort", sorted.down ? "descending" : "ascending");
      row.append(cell);
    });
    head.replaceChildren(row);
  }

  function partCell([count, share, bar], at) {
    const shown = element("span", count ? {} : { class: "none" }, whole(count));
    return element("td", { class: "cells", style: `--c: ${colour(at - subsets())}` }, shown,
      element("span", { class: "share" }, percent(share)),
      element("span", { class: "bullet", "aria-hidden": "true" }, element("i", { style: `width: ${bar}%` })));
  }

  function drawRows() {
    const shown = everything ? found : found.slice(0, AT_FIRST);
    body.replaceChildren(...shown.map((row) => element("tr", {}, ...source.columns.map(({ heading, kind }, at) => {
      if (at === 0) return element("th", { scope: "row" }, element("bdi", {}, row[0]));
      if (kind === "part") return partCell(row[at], at);
      if (kind === "name") return element("td", { class: "text" }, element("bdi", {}, row[at]));
      return element("td", ["random", "to move"].includes(heading) ? { class: "wide" } : {}, show[kind](row[at]));
    }))));
    more.hidden = shown.length === found.length;
    more.textContent = `Show all ${whole(found.length)}`;
    const of = found.length === source.rows.length ? "" : ` of ${whole(source.rows.length)}`;
    const status = `${whole(found.length)}${of} ${found.length === 1 && !of ? source.one : source.many}`;
    holder.querySelector("[role=status]").textContent = status;
  }

  function draw() {
    const wanted = folded(search.value.trim());
    found = source.rows.filter((row) => words(row).includes(wanted));
    const { at, down } = sorted;
    const sign = down ? -1 : 1;
    const byName = (a, b) => sign * a[at].localeCompare(b[at], "en", { numeric: true });
    const byValue = (a, b) => sign * (valueOf(a[at]) - valueOf(b[at]));
    if (at !== null) found.sort(source.columns[at].kind === "name" ? byName : byValue);
    drawHead();
    drawRows();
  }

  search.addEventListener("input", draw);
  holder.querySelector("select")?.addEventListener("change", (event) => {
    source = data.tables[event.target.value];
    sorted = { at: 1, down: false };
    draw();
  });
  more.addEventListener("click", () => { everything = true; drawRows(); });
  draw();
}

// --- charts of points

function linearTicks(low, high, wanted) {
  const power = 10 ** Math.floor(Math.log10((high - low) / wanted || 1));
  const step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => Math.floor(high / n) - Math.ceil(low / n) < wanted);
  const ticks = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high * (1 + 1e-9); n += 1) ticks.push(n * step);
  return ticks;
}

function logTicks(low, high, wanted) {
  const decades = Math.log10(high / low);
  const steps = decades > wanted ? [1] : decades > 1.2 ? [1, 3] : [1, 2, 5];
  const stride = Math.max(1, Math.ceil(decades / wanted));
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    if (steps.length > 1 || power % stride === 0) for (const step of steps) ticks.push(step * 10 ** power);
  }
  return ticks.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
}

function scale(axis, from, to) {
  const read = axis.log ? Math.log10 : (value) => value;
  const [low, high] = [read(axis.low), read(axis.high)];
  return (value) => from + ((read(Math.min(Math.max(value, axis.low), axis.high)) - low) / (high - low || 1)) * (to - from);
}

// Draws a chart and redraws it when its width changes. `points` are what pointer and arrow keys select.
function chart(holder, spec) {
  const tip = element("div", { class: "tip", role: "status" });
  let selected = null;
  let silent = false; // selected in another chart, which tells the values
  let places = [];
  let svg = null;

  function draw() {
    const width = Math.max(holder.clientWidth, 200);
    if (svg?.viewBox.baseVal.width === width) return;
    const height = spec.height;
    const yTicks = (spec.y.log ? logTicks : linearTicks)(spec.y.low, spec.y.high, 5);
    const xTicks = (spec.x.log ? logTicks : linearTicks)(spec.x.low, spec.x.high, Math.max(2, Math.floor(width / 85)));
    const left = 14 + 7.4 * Math.max(...yTicks.map((tick) => spec.y.show(tick).length));
    const [right, top, bottom] = [width - 14, 28, height - 42];
    const x = scale(spec.x, left + 8, right);
    const y = scale(spec.y, bottom - 8, top + 6);
    const made = shape("svg", { height, viewBox: `0 0 ${width} ${height}`, tabindex: 0, role: "group", "aria-label": spec.label });
    const line = (cls, x1, y1, x2, y2) => made.append(shape("line", { class: cls, x1, y1, x2, y2 }));
    const write = (text, at, anchor = "middle") => {
      const words = shape("text", { x: at[0], y: at[1], "text-anchor": anchor });
      words.textContent = text;
      made.append(words);
    };
    for (const tick of yTicks) {
      line("grid", left, y(tick), right, y(tick));
      write(spec.y.show(tick), [left - 6, y(tick) + 4], "end");
    }
    for (const tick of xTicks) {
      line("grid", x(tick), top, x(tick), bottom);
      write(spec.x.show(tick), [x(tick), bottom + 17]);
    }
    line("axis", left, bottom, right, bottom);
    write(spec.y.title, [4, 13], "start");
    write(spec.x.title, [(left + right) / 2, height - 5]);
    places = spec.points.map((point) => [x(point[0]), y(point[1])]);
    for (const layer of spec.layers(x, y)) made.append(layer);
    made.append(shape("circle", { class: "ring", r: 9, visibility: "hidden" }));
    made.addEventListener("pointermove", near);
    made.addEventListener("pointerdown", near);
    made.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") spec.select(null); });
    made.addEventListener("blur", () => spec.select(null));
    made.addEventListener("keydown", step);
    if (svg === null) holder.append(made, tip);
    else svg.replaceWith(made);
    svg = made;
    select(selected, silent);
  }

  function near(event) {
    const box = svg.getBoundingClientRect();
    const [px, py] = [event.clientX - box.left, event.clientY - box.top];
    let best = null;
    let distance = 28 ** 2;
    places.forEach(([x, y], i) => {
      const d = (x - px) ** 2 + (y - py) ** 2;
      if (d < distance) [best, distance] = [i, d];
    });
    spec.select(best);
  }

  function step(event) {
    const ways = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    if (event.key === "Escape") spec.select(null);
    if (!(event.key in ways) || !places.length) return;
    event.preventDefault();
    const order = places.map((_, i) => i).sort((a, b) => places[a][0] - places[b][0] || a - b);
    const at = selected === null ? (ways[event.key] > 0 ? -1 : order.length) : order.indexOf(selected);
    spec.select(order[Math.min(Math.max(at + ways[event.key], 0), order.length - 1)]);
  }

  function select(i, quiet = false) {
    [selected, silent] = [i, quiet];
    const ring = svg.querySelector(".ring");
    ring.setAttribute("visibility", i === null ? "hidden" : "visible");
    tip.classList.toggle("on", i !== null && !quiet);
    if (i === null) return;
    const [x, y] = places[i];
    ring.setAttribute("cx", x);
    ring.setAttribute("cy", y);
    if (quiet) return;
    const [title, ...lines] = spec.describe(i);
    tip.replaceChildren(element("b", {}, element("bdi", {}, title)), ...lines.map((text) => element("span", {}, text)));
    const capacity = holder.clientWidth - tip.offsetWidth;
    tip.style.left = `${Math.min(Math.max(x - tip.offsetWidth / 2, 0), Math.max(capacity, 0))}px`;
    tip.style.top = `${y > tip.offsetHeight + 24 ? y - tip.offsetHeight - 14 : y + 16}px`;
  }

  new ResizeObserver(draw).observe(holder);
  draw();
  return select;
}

function dots(points, cls, size) {
  const path = points.map(([x, y]) => `M${x.toFixed(1)} ${y.toFixed(1)}h0`).join("");
  return shape("path", { class: `dots ${cls}`, d: path, "stroke-width": size });
}

function scatterChart(holder) {
  const [names, totals, off, random] = [0, 1, 2, 3].map((at) => data.tables.labels.rows.map((row) => row[at]));
  const positive = [...off, ...random].filter((value) => value > 0);
  const lowest = Math.max(least([...positive, 1]), 1e-5);
  const low = 10 ** Math.floor(Math.log10(lowest) - 0.01);
  const points = totals.map((total, i) => [total, off[i]]);
  const size = totals.length > 300 ? 4.5 : totals.length > 40 ? 7 : 10;
  const show = (value) => (value === low ? `≤ ${percent(value)}` : percent(value).replace(/\.0 %$/, " %"));
  const select = chart(holder, {
    height: 320,
    label: `How far each ${data.label} is off, against how frequent it is. Arrow keys step through them.`,
    x: { log: true, low: least(totals) * 0.9, high: most(totals) * 1.1, title: `${data.samples} with the ${data.label}`, show: whole },
    y: { log: true, low, high: most([...positive, low * 10]) * 1.2, title: "off by", show },
    points,
    layers: (x, y) => [
      dots(totals.map((total, i) => [x(total), y(random[i])]), "random", size),
      dots(points.map(([total, value]) => [x(total), y(value)]), "this", size),
    ],
    describe: (i) => [names[i], `${whole(totals[i])} ${totals[i] === 1 ? data.sample : data.samples}`,
      `off by ${percent(off[i])}, in random splits ${percent(random[i])}`],
    select: (i) => select(i),
  });
}

function star(x, y, radius, further) {
  const corners = Array.from({ length: 10 }, (_, i) => {
    const r = i % 2 ? radius * 0.45 : radius;
    return `${(x + r * Math.sin((i * Math.PI) / 5)).toFixed(1)},${(y - r * Math.cos((i * Math.PI) / 5)).toFixed(1)}`;
  });
  return shape("polygon", { class: "star", points: corners.join(" "), ...further });
}

function frontCharts(holder) {
  const { titles, values, chosen } = data.front;
  const panels = [];
  const around = (axis) => {
    const all = values.map((point) => point[axis]);
    const [low, high] = [least(all), most(all)];
    const margin = (high - low) * 0.08 || Math.abs(high) * 0.1 || 1;
    return { low: Math.max(low - margin, 0), high: high + margin, title: titles[axis], show: measure };
  };
  const describe = (i) => [
    `Trade-off ${i}${i === chosen ? ", the one in use" : ""}`,
    ...titles.map((title, axis) => `${title}: ${measure(values[i][axis])}`),
  ];
  // The part of the other points that have less; an outlier would leave the rest in one colour.
  const ranks = titles.map((_, axis) =>
    values.map((point) => values.filter((other) => other[axis] < point[axis]).length / Math.max(values.length - 1, 1)));
  for (let a = 0; a < titles.length; a += 1) {
    for (let b = a + 1; b < titles.length; b += 1) {
      // Between blue for less and orange for more, by what this chart does not show.
      const hidden = titles.map((_, axis) => axis).filter((axis) => axis !== a && axis !== b);
      const share = (i) => (100 * hidden.reduce((sum, axis) => sum + ranks[axis][i], 0)) / hidden.length;
      const tint = (i) => (hidden.length ? { style: `fill: color-mix(in oklab, var(--s1) ${share(i).toFixed(0)}%, var(--s0))` } : {});
      const box = element("div", { class: "chart" });
      const here = panels.length;
      holder.append(box);
      panels.push(chart(box, {
        height: 280,
        label: `Trade-offs: ${titles[a]} against ${titles[b]}. Arrow keys step through them.`,
        x: around(a), y: around(b),
        points: values.map((point) => [point[a], point[b]]),
        layers: (x, y) => [
          ...values.flatMap((point, i) => (i === chosen ? [] : [shape("circle", { class: "point", r: 5, cx: x(point[a]), cy: y(point[b]), ...tint(i) })])),
          star(x(values[chosen][a]), y(values[chosen][b]), 13, tint(chosen)),
        ],
        describe,
        select: (i) => panels.forEach((select, at) => select(i, at !== here)),
      }));
    }
  }
}

document.querySelectorAll("[data-table]").forEach(shareTable);
document.querySelectorAll("[data-chart=scatter]").forEach(scatterChart);
document.querySelectorAll("[data-chart=front]").forEach(frontCharts);
