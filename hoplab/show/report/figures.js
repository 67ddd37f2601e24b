// SPDX-License-Identifier: Apache-2.0
// Figures follow the page's colours, of a report and of a run that goes on.
"use strict";

function colourFigures() {
  if (!window.Plotly) return;
  const style = getComputedStyle(document.documentElement);
  const ink = style.getPropertyValue("--ink").trim();
  const grid = style.getPropertyValue("--grid").trim();
  const paper = style.getPropertyValue("--paper").trim();
  for (const figure of document.querySelectorAll(".js-plotly-plot")) {
    const changes = { "font.color": ink, "hoverlabel.bgcolor": paper, "hoverlabel.font.color": ink };
    for (const name of Object.keys(figure.layout)) {
      if (/^[xy]axis\d*$/.test(name)) {
        changes[`${name}.gridcolor`] = grid;
        changes[`${name}.linecolor`] = grid;
      }
    }
    (figure.layout.updatemenus || []).forEach((menu, i) => {
      changes[`updatemenus[${i}].bgcolor`] = paper;
      changes[`updatemenus[${i}].bordercolor`] = grid;
    });
    if (figure.layout.sliders) {
      changes["sliders[0].bgcolor"] = grid;
      changes["sliders[0].bordercolor"] = grid;
      changes["sliders[0].currentvalue.font.color"] = ink;
    }
    window.Plotly.relayout(figure, changes);
  }
}

// A figure as a file is for paper: dark on white, without what only a page can press.
const PAPER = { ink: "#1b2330", grid: "#dfe3ea", paper: "#ffffff", below: 60 };
const LONGEST_NAME = 40;
const FORMATS = { SVG: { format: "svg" }, PNG: { format: "png", scale: 3 } };

function onPaper(figure) {
  const layout = structuredClone(figure.layout);
  const slider = (layout.sliders || []).length ? layout.margin.b - PAPER.below : 0;
  if (slider) layout.margin.b = PAPER.below;
  Object.assign(layout, { updatemenus: [], sliders: [], paper_bgcolor: PAPER.paper });
  layout.font = { ...layout.font, color: PAPER.ink };
  for (const name of Object.keys(layout)) {
    if (/^[xy]axis\d*$/.test(name)) {
      Object.assign(layout[name], { gridcolor: PAPER.grid, linecolor: PAPER.grid });
    }
  }
  const { width, height } = figure.getBoundingClientRect();
  return [{ data: figure.data, layout }, { width, height: height - slider }];
}

const slug = (text, most) =>
  text.toLowerCase().replace(/[^a-z0-9]+/g, "-").slice(0, most).replace(/^-|-$/g, "");

function fileName(label) {
  const title = document.title.split(" \u00b7 ")[0];
  return `${slug(title, LONGEST_NAME)}-${slug(label, LONGEST_NAME)}`;
}

// Buttons below a figure; a live page makes them once, for whatever the figure shows then.
function makeDownloads(place) {
  const label = place.getAttribute("aria-label") ||
    document.getElementById(place.getAttribute("aria-labelledby")).textContent;
  const row = document.createElement("p");
  row.className = "downloads";
  for (const [name, form] of Object.entries(FORMATS)) {
    const button = document.createElement("button");
    button.className = "more";
    button.textContent = name;
    button.setAttribute("aria-label", `${label} as ${name}`);
    button.addEventListener("click", () => {
      const plot = place.matches(".js-plotly-plot") ? place : place.querySelector(".js-plotly-plot");
      if (!plot) return;
      const [figure, size] = onPaper(plot);
      window.Plotly.downloadImage(figure, { ...form, ...size, filename: fileName(label) });
    });
    row.append(button);
  }
  place.after(row);
}

colourFigures();
for (const place of document.querySelectorAll("[role=figure]")) makeDownloads(place);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", colourFigures);
