// SPDX-License-Identifier: Apache-2.0
// Another future of an earlier time: what is asked for, and its page beside this one.
"use strict";

window.hoplabFuture = (() => {
  const byId = id => document.getElementById(id);
  const form = byId("what-if");
  let events = [], ask = null, shown = null;

  function fields() {
    for (const label of form.querySelectorAll("[data-of]")) {
      label.hidden = !label.dataset.of.split(" ").includes(form.elements.kind.value);
    }
  }

  // What happens later in this run, each to be left out or kept.
  function list() {
    const rows = events.flatMap((event, i) => {
      if (event.at_s <= shown) return [];
      const row = document.createElement("li");
      const label = document.createElement("label");
      const box = document.createElement("input");
      Object.assign(box, { type: "checkbox", checked: true, value: String(i) });
      label.append(box, ` ${event.at_s} s: ${event.text}`);
      row.append(label);
      return [row];
    });
    byId("later").replaceChildren(...rows);
  }

  function wish() {
    const left = [...byId("later").querySelectorAll("input:not(:checked)")].map(box => box.value);
    const what = { do: "branch", at_s: shown, without: left.join(",") };
    const given = Object.fromEntries(new FormData(form));
    if (!given.kind) return what;
    what.kind = given.kind;
    if (given.kind === "loss") {
      Object.assign(what, { src: given.src, dst: given.dst, rate: Number(given.percent) / 100 });
    } else {
      what.station = given.station;
    }
    if (given.kind === "move") Object.assign(what, { x_m: Number(given.x_m), y_m: Number(given.y_m) });
    return what;
  }

  function select(chosen) {
    for (const frame of byId("futures").querySelectorAll("iframe")) {
      frame.hidden = frame !== chosen.frame;
    }
    for (const button of byId("futures").querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(button === chosen.button));
    }
  }

  function beside(address, name) {
    let place = byId("futures");
    if (!place) {
      place = document.createElement("aside");
      place.id = "futures";
      place.append(document.createElement("nav"));
      document.querySelector("main").after(place);
      document.body.classList.add("split");
    }
    const frame = document.createElement("iframe");
    Object.assign(frame, { src: address, title: name });
    const button = document.createElement("button");
    Object.assign(button, { className: "button", textContent: name });
    button.addEventListener("click", () => select({ frame, button }));
    place.firstChild.append(button);
    place.append(frame);
    select({ frame, button });
    // The figures have half the room.
    window.dispatchEvent(new Event("resize"));
  }

  function begin(about, asks) {
    [events, ask] = [about.events, asks];
  }

  function show(t) {
    shown = t;
    byId("future").hidden = t === null;
    byId("go-back").hidden = t !== null;
    if (t !== null) list();
  }

  form.elements.kind.addEventListener("change", fields);
  form.addEventListener("submit", async event => {
    event.preventDefault();
    const asked = wish();
    const answer = await ask(asked);
    if (answer) beside(answer.page, answer.name);
  });
  fields();

  return { begin, show, isOpen: () => byId("futures") !== null };
})();
