// SPDX-License-Identifier: Apache-2.0
// Tables sort by a click on a heading, and long ones show their first rows only; without scripts
// they stand there whole.
"use strict";

// What a cell sorts by: its number, where it begins with one, else its text.
function sortKey(row, column) {
  const text = row.cells[column].textContent.trim();
  const number = parseFloat(text.replace(/\u202f/g, "").replace("\u2212", "-"));
  return { text, number: /^[\d\u2212]/.test(text) ? number : NaN };
}

function compare(a, b) {
  if (isNaN(a.number) !== isNaN(b.number)) return isNaN(a.number) ? 1 : -1;
  if (!isNaN(a.number)) return a.number - b.number;
  return a.text.localeCompare(b.text, "en", { numeric: true });
}

function sort(table, heading, column) {
  const body = table.tBodies[0];
  const rows = [...body.rows].map(row => ({ row, key: sortKey(row, column) }));
  const before = heading.getAttribute("aria-sort");
  // Numbers are looked at from the largest down first, names from the first on.
  const first = heading.classList.contains("n") ? "descending" : "ascending";
  const other = first === "ascending" ? "descending" : "ascending";
  const direction = before === first ? other : first;
  const sign = direction === "ascending" ? 1 : -1;
  // A cell without a value stays at the end, whichever way.
  const empty = entry => entry.key.text === "";
  rows.sort((a, b) => empty(a) - empty(b) || sign * compare(a.key, b.key));
  for (const cell of table.tHead.rows[0].cells) cell.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", direction);
  body.append(...rows.map(entry => entry.row));
}

function makeSortable(table) {
  [...table.tHead.rows[0].cells].forEach((heading, column) => {
    if (!heading.textContent.trim()) return;
    const button = document.createElement("button");
    button.append(...heading.childNodes);
    button.addEventListener("click", () => sort(table, heading, column));
    heading.append(button);
  });
}

// Which rows show is the style sheet's matter, by their place: so sorting needs no more here.
function makeFoldable(table) {
  const count = table.tBodies[0].rows.length;
  const shown = Number(table.dataset.fold);
  if (count <= shown + 2) return;
  const button = document.createElement("button");
  button.className = "more";
  const fold = folded => {
    table.classList.toggle("folded", folded);
    button.textContent = folded ? `Show all ${count}` : `Show the first ${shown}`;
    button.setAttribute("aria-expanded", String(!folded));
  };
  button.addEventListener("click", () => fold(!table.classList.contains("folded")));
  fold(true);
  table.closest(".scroll").after(button);
}

// A cell of a CSV file (RFC 4180): figures as programs read them.
function csvCell(cell) {
  const text = cell.innerText.trim().replace(/\s+/g, " ");
  const plain = text.replace(/ /g, "").replace("\u2212", "-");
  if (/^-?[\d\s]+(\.\d+)?$/.test(plain)) return plain;
  return /[",]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

function csv(table) {
  const rows = [table.tHead.rows[0], ...table.tBodies[0].rows];
  const named = [...rows[0].cells].map((cell, i) => cell.textContent.trim() ? i : -1);
  const columns = named.filter(i => i >= 0);
  return rows.map(row => columns.map(i => csvCell(row.cells[i])).join(",") + "\r\n").join("");
}

function makeDownload(table) {
  const heading = table.closest("section").querySelector("h2").textContent.trim();
  const button = document.createElement("button");
  button.className = "more";
  button.textContent = "CSV";
  button.setAttribute("aria-label", `${heading} as CSV`);
  button.addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([csv(table)], { type: "text/csv" }));
    link.download = `${heading.toLowerCase().replace(/[^a-z0-9]+/g, "-")}.csv`;
    link.click();
    URL.revokeObjectURL(link.href);
  });
  table.closest(".scroll").after(button);
}

for (const table of document.querySelectorAll("table[data-fold]")) {
  makeSortable(table);
  makeDownload(table);
  makeFoldable(table);
}
