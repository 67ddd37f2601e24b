// SPDX-License-Identifier: Apache-2.0
// Taking part: stations are dragged or typed to their places, switched off, flows started.
"use strict";

window.hoplabDrag = (() => {
  const NEAR_PX = 24;
  const EVERY_MS = 100;
  // So long the fields of a station keep what was asked for, if the run does not tell of it.
  const TOLD_MS = 20000;
  const waiting = new Map();
  let plot, about, ask, tell, held = null, moving = false, begun = false;
  const rows = {};

  const axes = () => plot._fullLayout;
  const stations = traces => traces[traces.length - 1];

  function pointer(event) {
    const box = plot.getBoundingClientRect();
    const { xaxis, yaxis } = axes();
    return [event.clientX - box.left - xaxis._offset, event.clientY - box.top - yaxis._offset];
  }

  // The station under the pointer, none where none is near.
  function nearest([px, py]) {
    const { xaxis, yaxis } = axes();
    const trace = stations(plot.data);
    let found = null, best = NEAR_PX;
    about.stations.forEach((name, i) => {
      const away = Math.hypot(xaxis.d2p(trace.x[i]) - px, yaxis.d2p(trace.y[i]) - py);
      if (away < best && about.radios.includes(name)) [found, best] = [name, away];
    });
    return found;
  }

  const round = metres => Math.round(metres * 10) / 10;

  function place([px, py]) {
    const { xaxis, yaxis } = axes();
    const inside = (value, [low, high]) => Math.min(Math.max(value, low), high);
    return {
      x: round(inside(xaxis.p2d(px), xaxis.range)),
      y: round(inside(yaxis.p2d(py), yaxis.range)),
    };
  }

  // One at a time, so that none overtakes another; at most one every EVERY_MS; of each station
  // the last place always.
  async function move(station, { x, y }, dragged = false) {
    waiting.delete(station);
    waiting.set(station, { x, y, dragged });
    if (moving) return;
    moving = true;
    while (waiting.size) {
      const [next, at] = waiting.entries().next().value;
      waiting.delete(next);
      const what = at.dragged ? "drag" : "move";
      const done = await ask({ do: what, station: next, x_m: at.x, y_m: at.y });
      if (!done) rows[next].asked = null;
      await new Promise(done => setTimeout(done, EVERY_MS));
    }
    moving = false;
  }

  function drawHeld() {
    const traces = withHeld(plot.data);
    Plotly.react(plot, traces, plot.layout);
  }

  // What is dragged stays under the pointer, whatever the run tells of a moment ago.
  function withHeld(traces) {
    if (!held || held.x === undefined) return traces;
    const last = { ...stations(traces) };
    const i = about.stations.indexOf(held.station);
    last.x = [...last.x];
    last.y = [...last.y];
    [last.x[i], last.y[i]] = [held.x, held.y];
    return [...traces.slice(0, -1), last];
  }

  function listen() {
    plot.addEventListener("pointermove", event => {
      if (!held) {
        plot.classList.toggle("grab", nearest(pointer(event)) !== null);
        return;
      }
      event.preventDefault();
      Object.assign(held, place(pointer(event)));
      move(held.station, held, true);
      drawHeld();
    }, true);
    plot.addEventListener("pointerdown", event => {
      const station = event.button === 0 ? nearest(pointer(event)) : null;
      if (!station) return;
      event.preventDefault();
      event.stopPropagation();
      held = { station };
      plot.classList.add("grabbing");
      plot.setPointerCapture(event.pointerId);
    }, true);
    for (const kind of ["pointerup", "pointercancel"]) {
      plot.addEventListener(kind, () => {
        plot.classList.remove("grabbing");
        if (held && held.x !== undefined) move(held.station, held);
        // The run tells the new place within a moment.
        const last = held;
        setTimeout(() => { if (held === last) held = null; }, 500);
      }, true);
    }
    document.getElementById("new-flow").addEventListener("submit", event => {
      event.preventDefault();
      ask({ do: "flow", ...Object.fromEntries(new FormData(event.target)) });
    });
    document.getElementById("loss").addEventListener("submit", event => {
      event.preventDefault();
      const { src, dst, percent } = Object.fromEntries(new FormData(event.target));
      ask({ do: "loss", src, dst, rate: Number(percent) / 100 });
    });
    document.getElementById("end").addEventListener("click", () => ask({ do: "end" }));
  }

  function number(row, station, axis) {
    const input = document.createElement("input");
    Object.assign(input, { type: "number", step: 10 });
    input.setAttribute("aria-label", `${axis} of ${station} in m`);
    input.addEventListener("change", () => {
      const [x, y] = rows[station].places.map(field => field.valueAsNumber);
      if (!Number.isFinite(x) || !Number.isFinite(y)) {
        refuse(station);
        return;
      }
      // The other field is typed next, often before the run tells of this one.
      rows[station].asked = { at: [x, y], until: Date.now() + TOLD_MS };
      move(station, { x, y });
    });
    const cell = row.insertCell();
    cell.className = "n";
    cell.append(input);
    return input;
  }

  // To the digits that a map's message has.
  const same = (one, other) => one.every((value, i) => Math.abs(value - other[i]) < 0.01);

  // What is no number moves nothing: the fields say again where the station is.
  function refuse(station) {
    rows[station].asked = null;
    rows[station].places.forEach((field, i) => { field.value = rows[station].at[i]; });
    tell(`${station}: its place is a number of metres; it stays where it is.`);
  }

  function makeRow(station) {
    const row = document.getElementById("station-rows").insertRow();
    const head = document.createElement("th");
    head.scope = "row";
    head.textContent = station;
    row.append(head);
    const places = ["x", "y"].map(axis => number(row, station, axis));
    const on = row.insertCell();
    const power = document.createElement("button");
    power.className = "button";
    power.addEventListener("click", () => {
      ask({ do: on.textContent === "off" ? "up" : "down", station });
    });
    row.insertCell().append(power);
    rows[station] = { places, on, power, at: [0, 0], asked: null };
  }

  function begin(mapPlot, said, asks, tells) {
    [plot, about, ask, tell] = [mapPlot, said, asks, tells];
    if (begun) return;
    begun = true;
    about.radios.forEach(makeRow);
    listen();
  }

  function show(message) {
    const trace = stations(message.map);
    about.stations.forEach((station, i) => {
      const row = rows[station];
      if (!row) return;
      row.at = [trace.x[i], trace.y[i]];
      if (row.asked && (same(row.asked.at, row.at) || Date.now() > row.asked.until)) {
        row.asked = null;
      }
      (row.asked ? row.asked.at : row.at).forEach((value, axis) => {
        const field = row.places[axis];
        if (document.activeElement !== field) field.value = value;
      });
      const state = message.down.includes(station) ? "off" : "on";
      if (row.on.textContent === state) return;
      const does = state === "on" ? "off" : "on";
      row.on.textContent = state;
      row.power.textContent = `Switch ${does}`;
      row.power.setAttribute("aria-label", `Switch the radio of ${station} ${does}`);
    });
  }

  return { begin, show, held: withHeld };
})();
