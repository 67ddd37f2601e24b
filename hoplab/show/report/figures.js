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
    if (figure.layout.updatemenus) {
      changes["updatemenus[0].bgcolor"] = paper;
      changes["updatemenus[0].bordercolor"] = grid;
    }
    if (figure.layout.sliders) {
      changes["sliders[0].bgcolor"] = grid;
      changes["sliders[0].bordercolor"] = grid;
      changes["sliders[0].tickcolor"] = ink;
    }
    window.Plotly.relayout(figure, changes);
  }
}

colourFigures();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", colourFigures);
