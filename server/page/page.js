// Searches as the user types, completes words, and draws charts. Everything else works without it.
"use strict";

const form = document.getElementById("search");
const box = document.getElementById("q");
const results = document.getElementById("results");
const list = document.getElementById("completions");
const index = document.body.dataset.index;

let searching = new AbortController();
let completing = new AbortController();

// show replaces the results by those of an address. With push, the button Back of the browser leads to those before.
async function show(address, push) {
  searching.abort();
  searching = new AbortController();
  const url = new URL(address, location.href);
  if (push && url.href !== location.href) history.pushState(null, "", url);
  else history.replaceState(null, "", url);
  url.searchParams.set("part", "results");
  results.ariaBusy = "true";
  try {
    const answer = await fetch(url, { signal: searching.signal });
    const text = await answer.text();
    if (answer.ok) replace(text);
    else fail(JSON.parse(text).detail);
  } catch (e) {
    if (e.name === "AbortError") return; // another search goes on
    fail("The server does not answer.");
  }
  results.ariaBusy = "false";
}

// replace shows new results. Elements whose changes are read aloud stay, and while a query has an error, so do the hits
// of the one before.
function replace(text) {
  const part = document.createElement("template");
  part.innerHTML = text;
  const fill = (id) => document.getElementById(id).replaceChildren(...part.content.getElementById(id).childNodes);
  fill("fault");
  const wrong = document.getElementById("fault").hasChildNodes();
  box.ariaInvalid = String(wrong);
  if (wrong && results.querySelector(".hits")) {
    document.getElementById("status").textContent = "Below are the hits of the query before.";
    return;
  }
  fill("status");
  fill("hits");
}

function fail(text) {
  document.getElementById("fault").textContent = text;
}

// typed returns the address of the search for what is in the form, with the facets that are chosen.
function typed() {
  const fields = [...new FormData(form)].filter(([name, value]) => value !== "" && !name.startsWith("f."));
  const chosen = [...new URLSearchParams(location.search)].filter(([name]) => name.startsWith("f."));
  return "/?" + new URLSearchParams([...fields, ...chosen]);
}

// word returns the word before the cursor, with its field if one is named, and where it begins.
function word() {
  const end = box.selectionStart;
  const before = box.value.slice(0, end);
  const m = /(?:([\p{L}\p{N}_.]+):)?([\p{L}\p{N}_]*)$/u.exec(before);
  return { field: m[1], text: m[2], start: end - m[2].length, end };
}

let fields; // names of the fields of text

async function complete() {
  completing.abort();
  completing = new AbortController();
  const w = word();
  if (w.text.length < 2 || "sharded" in document.body.dataset) return hide(); // shards have no common list of words
  const base = `/v1/indexes/${encodeURIComponent(index)}`;
  try {
    if (!fields) {
      const stats = await (await fetch(`${base}/stats`, { signal: completing.signal })).json();
      fields = stats.fields.filter((f) => f.norms).map((f) => f.name);
    }
    let options = [];
    if (!w.field) options = fields.filter((f) => f.startsWith(w.text) && f !== w.text).map((f) => ({ text: f + ":", note: "field" }));
    for (const field of w.field ? fields.filter((f) => f === w.field) : fields.slice(0, 3)) {
      const query = new URLSearchParams({ field, q: w.text, limit: 6 });
      const answer = await fetch(`${base}/suggest?${query}`, { signal: completing.signal });
      if (!answer.ok) continue;
      for (const s of (await answer.json()).suggestions) {
        if (s.term !== w.text && !options.some((o) => o.text === s.term)) options.push({ text: s.term, note: grouped(s.documents) });
      }
    }
    offer(options.slice(0, 8));
  } catch (e) {
    if (e.name !== "AbortError") hide();
  }
}

function hide() {
  completing.abort(); // or its answer would show the list again
  list.hidden = true;
  list.replaceChildren();
  box.setAttribute("aria-expanded", "false");
  box.removeAttribute("aria-activedescendant");
}

function offer(options) {
  if (!options.length) return hide();
  list.replaceChildren(...options.map((o, i) => {
    const item = document.createElement("li");
    item.id = `completion-${i}`;
    item.role = "option";
    item.dataset.text = o.text;
    const note = document.createElement("span");
    note.className = "faint";
    note.textContent = o.note;
    item.append(o.text, note);
    return item;
  }));
  list.hidden = false;
  box.setAttribute("aria-expanded", "true");
}

function take(item) {
  const w = word();
  const text = item.dataset.text;
  box.setRangeText(text + (text.endsWith(":") ? "" : " "), w.start, w.end, "end");
  hide();
  box.focus();
  show(typed());
}

function move(step) {
  const items = [...list.children];
  const at = items.findIndex((i) => i.ariaSelected === "true");
  const to = items[(at + step + items.length + (at < 0 && step < 0 ? 1 : 0)) % items.length];
  for (const i of items) i.ariaSelected = String(i === to);
  box.setAttribute("aria-activedescendant", to.id);
}

if (form) {
  box.role = "combobox";
  box.setAttribute("aria-controls", "completions");
  box.setAttribute("aria-autocomplete", "list");
  box.setAttribute("aria-expanded", "false");
  box.addEventListener("input", () => {
    show(typed());
    complete();
  });
  box.addEventListener("keydown", (e) => {
    if (list.hidden) return;
    const chosen = list.querySelector('[aria-selected="true"]');
    if (e.key === "ArrowDown" || e.key === "ArrowUp") move(e.key === "ArrowDown" ? 1 : -1);
    else if (e.key === "Escape") hide();
    else if ((e.key === "Enter" || e.key === "Tab") && chosen) take(chosen);
    else return;
    e.preventDefault();
  });
  box.addEventListener("blur", () => setTimeout(hide, 150));
  list.addEventListener("mousedown", (e) => {
    e.preventDefault();
    take(e.target.closest("li"));
  });
  form.addEventListener("submit", (e) => {
    e.preventDefault();
    hide();
    show(typed(), true);
  });
  form.elements.sort.addEventListener("change", () => show(typed(), true));
  results.addEventListener("click", async (e) => {
    const link = e.target.closest("a");
    if (!link || link.pathname === "/inside" || (link.pathname === "/why" && !("why" in link.dataset)) || e.ctrlKey || e.metaKey || e.shiftKey) return;
    e.preventDefault();
    if ("why" in link.dataset) return why(link);
    const facet = link.closest("section")?.querySelector("h2").textContent;
    await show(link.href, true);
    if (facet && focusFacet(facet, link.textContent)) return;
    const status = document.getElementById("status");
    status.tabIndex = -1;
    status.focus({ preventScroll: true });
    scrollTo(0, 0);
  });
  addEventListener("popstate", () => {
    const params = new URLSearchParams(location.search);
    box.value = params.get("q") ?? "";
    form.elements.sort.value = params.get("sort") ?? "";
    show(location.href);
  });
}

// focusFacet puts the focus on a value of a facet, in place of the link to it that has gone with the hits before.
function focusFacet(field, value) {
  for (const section of results.querySelectorAll("aside section")) {
    if (section.querySelector("h2").textContent !== field) continue;
    const link = [...section.querySelectorAll("a")].find((a) => a.textContent === value);
    link?.focus();
    return Boolean(link);
  }
  return false;
}

// why shows the explanation of a hit below it, or takes it away again.
async function why(link) {
  const hit = link.closest("li");
  const open = hit.querySelector(".why");
  link.ariaExpanded = String(!open);
  if (open) return open.remove();
  const part = document.createElement("div");
  part.className = "why";
  hit.append(part);
  const answer = await fetch(link.href + "&part=why");
  const text = await answer.text();
  if (answer.ok) part.innerHTML = text;
  else part.textContent = JSON.parse(text).detail;
}

for (const select of document.querySelectorAll("header select")) {
  select.form.querySelector("button").hidden = true;
  select.addEventListener("change", () => select.form.submit());
}

// figuresOf reads the metrics of this index: their names and values, summed over labels other than le.
function figuresOf(text) {
  const sums = new Map();
  for (const line of text.split("\n")) {
    const m = /^(riffle_\w+)(?:\{(.*)\})? (\S+)/.exec(line);
    if (!m || (m[2]?.includes('index="') && !m[2].includes(`index="${index}"`))) continue;
    const bound = /\ble="(.*?)"/.exec(m[2] ?? "");
    const name = bound ? `${m[1]} ${bound[1]}` : m[1];
    sums.set(name, (sums.get(name) ?? 0) + Number(m[3]));
  }
  return sums;
}

// valueOf computes a chart's value from the figures now and some time before.
function valueOf(of, now, before, seconds) {
  const [how, a, b] = of.split(" ");
  const change = (name) => {
    const [to, from] = [now.get(name) ?? 0, before.get(name) ?? 0];
    return to < from ? to : to - from; // a server that was started again counts from 0
  };
  if (how === "rate") return change(a) / seconds;
  if (how === "quantile") return quantile(Number(b), a + "_bucket ", now, change);
  const all = change(a) + change(b);
  return all ? (100 * change(a)) / all : NaN;
}

// quantile estimates a quantile in milliseconds from the buckets of a histogram, as if the values of a bucket were
// spread evenly.
function quantile(q, prefix, now, change) {
  const buckets = [...now.keys()].filter((name) => name.startsWith(prefix))
    .map((name) => ({ most: name.endsWith("+Inf") ? Infinity : Number(name.slice(prefix.length)), count: change(name) }))
    .sort((a, b) => a.most - b.most);
  const rank = q * (buckets.at(-1)?.count ?? 0);
  let below = { most: 0, count: 0 };
  if (!rank) return NaN;
  for (const bucket of buckets) {
    if (bucket.count >= rank) {
      if (bucket.most === Infinity) return 1000 * below.most;
      return 1000 * (below.most + ((bucket.most - below.most) * (rank - below.count)) / (bucket.count - below.count));
    }
    below = bucket;
  }
  return NaN;
}

const drawn = [...document.querySelectorAll("figure[data-of]")].map((figure) => ({ figure, values: [] }));
// Thousands stand apart by thin spaces, as in what the server writes.
const grouped = (v, how) => v.toLocaleString("en", how).replaceAll(",", "\u202f");
const digits = (v) => grouped(v, { maximumSignificantDigits: 3 });

// draw draws the last two minutes of a chart, a point a second, from 0 to a number that is at least the highest value.
function draw({ figure, values }) {
  const last = values.at(-1);
  figure.querySelector("output").textContent = Number.isNaN(last) ? "–" : digits(last);
  const known = values.filter((v) => !Number.isNaN(v));
  const top = figure.dataset.of.startsWith("share") ? 100 : roundUp(Math.max(0, ...known));
  figure.querySelector(".top").textContent = digits(top);
  const from = 120 - values.length;
  const points = values.map((v, i) => (Number.isNaN(v) ? "" : `${from + i + 1},${39 - (38 * v) / top}`)).filter(Boolean);
  if (points.length === 1) points.push(points[0].replace(/^[\d.]+/, (x) => x - 1)); // a point alone has no line
  figure.querySelector("polyline").setAttribute("points", points.join(" "));
}

// roundUp returns the least of 1, 2 and 5 times a power of ten that is at least v.
function roundUp(v) {
  if (!v) return 1;
  const power = 10 ** Math.floor(Math.log10(v));
  return [1, 2, 5, 10].map((m) => m * power).find((m) => m >= v * (1 - 1e-9));
}

async function watch() {
  let before, at;
  for (;;) {
    try {
      const answer = await fetch("/metrics");
      const now = figuresOf(await answer.text());
      const time = performance.now();
      if (before && answer.ok) {
        for (const d of drawn) {
          d.values = [...d.values, valueOf(d.figure.dataset.of, now, before, (time - at) / 1000)].slice(-120);
          draw(d);
        }
      }
      [before, at] = [now, time];
    } catch {
      before = undefined; // the server does not answer: go on when it does
    }
    await new Promise((next) => setTimeout(next, document.hidden ? 5000 : 1000));
  }
}

if (drawn.length) watch();

// follow keeps the view of the cluster up to date.
async function follow(live) {
  const url = new URL(location);
  url.searchParams.set("part", "cluster");
  let shown;
  for (;;) {
    await new Promise((next) => setTimeout(next, document.hidden ? 10000 : 2000));
    try {
      const answer = await fetch(url);
      const text = await answer.text();
      if (!answer.ok || text === shown || live.contains(document.activeElement)) continue; // whoever reads a table keeps it
      shown = text;
      const part = document.createElement("template");
      part.innerHTML = text;
      live.replaceChildren(...part.content.getElementById("live").childNodes);
    } catch {} // the server does not answer: go on when it does
  }
}

if (document.getElementById("live")) follow(document.getElementById("live"));
