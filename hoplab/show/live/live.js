// SPDX-License-Identifier: Apache-2.0
// A run as it goes on: what is new is drawn, back in time what the server says of then.
"use strict";

const CONFIG = { displayModeBar: false, responsive: true };
const AGAIN_MS = 1000;
const EVERY_MS = 150;
const MAX_EVENTS = 200;
const FEW_SAMPLES = 3;
const CURSOR_LINE = { type: "line", yref: "paper", y0: 0, y1: 1, line: { color: "#d0602a", width: 1.5 } };

const byId = id => document.getElementById(id);
const [mapPlot, lossPlot, linePlot, slider] = ["map", "losses", "over-time", "time"].map(byId);
const takesPart = document.body.dataset.takesPart === "yes";

// What the page has been told last; `shown` is the moment looked at, null for now.
const state = { about: null, latest: null, flows: [], t: 0, shown: null, zoomed: false, marks: [] };

function text(id, value) {
  const element = byId(id);
  if (element.textContent !== value) element.textContent = value;
}

function number(value, digits = 0) {
  if (value === null || value === undefined) return "";
  return value.toFixed(digits).replace(/\B(?=(\d{3})+(?!\d))(?<!\.\d*)/g, "\u202f").replace("-", "\u2212");
}

function cell(row, value, right) {
  const made = row.insertCell();
  made.textContent = value;
  if (right) made.className = "n";
  return made;
}

function headCell(row, value) {
  const made = document.createElement("th");
  made.scope = "row";
  made.textContent = value;
  row.append(made);
}

function tell(message) {
  const place = byId("told");
  place.textContent = message;
  place.hidden = !message;
}

function draw(plot, figure) {
  plot.style.height = `${figure.layout.height}px`;
  return Plotly.newPlot(plot, figure.data, figure.layout, CONFIG);
}

// Who goes beyond the map's edge stays on the map: it reaches further then.
function around([low, high], places) {
  const [least, most] = [Math.min(...places), Math.max(...places)];
  const room = 0.15 * Math.max(high - low, most - least);
  return [least < low ? least - room : low, most > high ? most + room : high];
}

function drawMap(message) {
  const drawn = JSON.stringify([message.map, message.shapes]);
  if (drawn === state.drawn && !window.hoplabDrag) return;
  state.drawn = drawn;
  const traces = window.hoplabDrag ? window.hoplabDrag.held(message.map) : message.map;
  const layout = { ...mapPlot.layout, shapes: message.shapes };
  const stations = traces[traces.length - 1];
  for (const [axis, places] of [["xaxis", stations.x], ["yaxis", stations.y]]) {
    layout[axis] = { ...layout[axis], range: around(layout[axis].range, places) };
  }
  Plotly.react(mapPlot, traces, layout, CONFIG);
}

function drawLosses(message) {
  const causes = Object.entries(message.lost);
  lossPlot.hidden = causes.length === 0;
  byId("no-losses").hidden = causes.length > 0;
  text("losses-text", causes.map(([cause, count]) => `${cause}: ${count}`).join(", "));
  const drawn = JSON.stringify(causes);
  if (drawn === state.losses) return;
  state.losses = drawn;
  if (!causes.length) return;
  lossPlot.style.height = `${message.losses_px}px`;
  const layout = { ...lossPlot.layout, height: message.losses_px };
  Plotly.react(lossPlot, [message.losses], layout, CONFIG);
}

function drawMoment(message) {
  drawMap(message);
  drawLosses(message);
  fillFlows(message);
}

function drawOverTime(figure) {
  byId("no-lines").hidden = figure !== null;
  if (figure === null) return;
  state.marks = figure.layout.shapes || [];
  draw(linePlot, figure);
  colourFigures();
  linePlot.removeAllListeners("plotly_relayout");
  linePlot.on("plotly_relayout", change => {
    if ("xaxis.range[0]" in change) state.zoomed = true;
    else if ("xaxis.autorange" in change) state.zoomed = false;
  });
}

function addPoints(points) {
  if (!points.length) return;
  const lines = points.map(([line]) => line);
  Plotly.extendTraces(linePlot, { x: points.map(p => p[1]), y: points.map(p => p[2]) }, lines);
  // A line of a few samples has markers, to be seen at all.
  const grown = lines.filter(line =>
    linePlot.data[line].mode !== "lines" && linePlot.data[line].x.length > FEW_SAMPLES);
  if (grown.length) Plotly.restyle(linePlot, { mode: "lines" }, grown);
}

// The time axis of a run without an end moves on; the moment that is looked at is a line.
function frameTime(message) {
  if (!linePlot.layout) return;
  const changes = {};
  if (message && message.window && !state.zoomed && state.shown === null) {
    for (const name of Object.keys(linePlot.layout)) {
      if (/^xaxis\d*$/.test(name)) changes[`${name}.range`] = [...message.window];
    }
  }
  if (!message) {
    const line = { ...CURSOR_LINE, x0: state.shown, x1: state.shown };
    changes.shapes = state.shown === null ? state.marks : [...state.marks, line];
  }
  if (Object.keys(changes).length) Plotly.relayout(linePlot, changes);
}

function flowRow(name, path) {
  const row = byId("flow-rows").insertRow();
  row.dataset.flow = name;
  headCell(row, name);
  cell(row, path);
  for (const right of [true, true, true, false]) cell(row, "", right);
  if (takesPart) {
    const button = document.createElement("button");
    button.className = "button";
    button.addEventListener("click", () => ask({ do: button.dataset.does, flow: name }));
    cell(row, "").append(button);
  }
  return row;
}

// The flows of the moment shown; one that had not begun by then has no values.
function fillFlows(message) {
  const told = Object.fromEntries(message.flows.map(flow => [flow.flow, flow]));
  for (const [name, row] of Object.entries(state.rows)) {
    const flow = told[name] || {};
    const values = [
      number(flow.goodput_kbps), number(flow.cwnd), number(flow.rtt_ms), flow.state || "",
    ];
    values.forEach((value, i) => {
      if (row.cells[i + 2].textContent !== value) row.cells[i + 2].textContent = value;
    });
  }
}

function showFlows(message) {
  for (const flow of state.about.flows) {
    state.rows[flow.name] ??= flowRow(flow.name, `${flow.source} → ${flow.destination}`);
  }
  const count = state.about.flows.length;
  text("flow-count", `${count} flow${count === 1 ? "" : "s"}`);
  if (!takesPart) return;
  const going = message.going || null;
  for (const [name, row] of Object.entries(state.rows)) {
    const does = going && going.includes(name) ? "stop" : "start";
    const button = row.querySelector("button");
    if (button.dataset.does === does) continue;
    button.dataset.does = does;
    button.textContent = does === "stop" ? "Stop" : "Start";
    button.setAttribute("aria-label", `${button.textContent} ${name}`);
  }
}

function showEvents(message) {
  const body = byId("event-rows");
  for (const event of message.events) {
    const row = body.insertRow(0);
    row.dataset.t = event.t;
    cell(row, number(event.t, 3), true);
    for (const key of ["node", "source", "kind"]) cell(row, event[key]);
    cell(row, event.detail).className = "wrap";
  }
  while (body.rows.length > MAX_EVENTS) body.deleteRow(-1);
  text("event-count", String(message.event_count));
}

function paleEvents() {
  for (const row of byId("event-rows").rows) {
    row.classList.toggle("pale", state.shown !== null && Number(row.dataset.t) > state.shown);
  }
}

function showClock(message) {
  state.t = message.t_s;
  const whole = state.about.duration_s;
  text("clock", `${message.t_s.toFixed(1)} s${whole ? ` of ${whole} s` : ""}`);
  text("status", message.status);
  slider.max = Math.max(0.1, message.t_s);
  if (state.shown === null) slider.value = slider.max;
}

function receive(message) {
  if (message.about) {
    state.about = message.about;
    Object.assign(state, { rows: {}, drawn: null, losses: null });
    byId("flow-rows").replaceChildren();
    byId("event-rows").replaceChildren();
    draw(mapPlot, message.map_figure);
    draw(lossPlot, message.losses_figure);
    colourFigures();
    if (window.hoplabDrag) window.hoplabDrag.begin(mapPlot, message.about, ask, tell);
    if (window.hoplabFuture) window.hoplabFuture.begin(message.about, ask);
  }
  if (message.flow_list) state.about.flows = message.flow_list;
  showClock(message);
  showFlows(message);
  showEvents(message);
  if (window.hoplabDrag) window.hoplabDrag.show(message);
  state.latest = message;
  if (state.shown === null) drawMoment(message);
  if ("over_time" in message) drawOverTime(message.over_time);
  else addPoints(message.points);
  frameTime(message);
  if (message.status === "over") end();
  if (message.status === "failed") {
    following.abort();
    tell(`The run failed: ${message.note}`);
  }
}

// Whether the user looks at what was: the report can wait then.
function holds() {
  return state.shown !== null || Boolean(window.hoplabFuture && window.hoplabFuture.isOpen());
}

// The page becomes the report, which needs no server any more.
function end() {
  byId("to-report").hidden = false;
  if (holds()) return;
  following.abort();
  location.replace("report");
}

// Ended when no news can come: what is asked for after that would find no server.
const following = new AbortController();

const pause = ms => new Promise(done => setTimeout(done, ms));

// The next news are asked for when the last are drawn: nothing piles up in a slow browser.
async function follow() {
  const page = crypto.getRandomValues(new Uint32Array(2)).join("-");
  const {signal} = following;
  for (let has = 0; !signal.aborted;) {
    let message = null;
    try {
      const answer = await fetch(`news?page=${page}&has=${has}${holds() ? "&holds" : ""}`, {signal});
      if (!answer.ok) throw new Error(answer.statusText);
      message = await answer.json();
    } catch {
      if (signal.aborted) return;
      text("status", "the run does not answer");
      await pause(AGAIN_MS);
      continue;
    }
    if (message !== null) {
      has += 1;
      receive(message);
    }
    await pause(EVERY_MS);
  }
}

// The answer to a request; null where it was refused, which the page tells.
async function ask(what) {
  try {
    const answer = await fetch("do", { method: "POST", body: JSON.stringify(what) });
    tell(answer.ok ? "" : await answer.text());
    return answer.ok ? await answer.json() : null;
  } catch {
    tell("The run does not answer.");
    return null;
  }
}

let wanted = null;
let asking = false;

// One question at a time, and the last one always: a slider moves faster than answers come.
async function lookAt(t) {
  wanted = t;
  if (asking) return;
  asking = true;
  while (wanted !== null) {
    const moment = wanted;
    wanted = null;
    const answer = await fetch(`moment?t=${moment}`).catch(() => null);
    if (answer && answer.ok && state.shown !== null) {
      drawMoment(await answer.json());
    }
  }
  asking = false;
}

function show(t) {
  state.shown = t;
  byId("now").disabled = t === null;
  byId("shown").textContent = t === null ? "now" : `${t.toFixed(1)} s`;
  for (const mark of document.querySelectorAll(".when")) {
    mark.textContent = t === null ? "" : ` at ${t.toFixed(1)} s`;
  }
  for (const mark of document.querySelectorAll(".still")) mark.hidden = t === null;
  if (window.hoplabFuture) window.hoplabFuture.show(t);
  frameTime(null);
  paleEvents();
  if (t !== null) {
    lookAt(t);
    return;
  }
  slider.value = slider.max;
  if (state.latest) drawMoment(state.latest);
  if (state.latest && state.latest.status === "over") end();
}

slider.addEventListener("input", () => show(Number(slider.value)));
byId("now").addEventListener("click", () => show(null));
follow();
