// SPDX-License-Identifier: Apache-2.0
// Opens views of the PyTorch plug-in in headless Chromium and prints what each shows, as one line
// of JSON: [{ run, view, worker, tables: [{ chart, title, headings, rows }] }].
//
//   node plugin_views.mjs PORT FOLDER DEADLINE_S RUN,VIEW,WORKER,TABLES...
//
// TABLES is how many there are in the view once it is drawn, those of charts (charts.js) included;
// chart is null for the page's own. Into FOLDER goes a picture of each view.
import path from 'node:path';
import { openBrowser, setDeadline, until } from './page.mjs';
import { openPlugIn, waitForRun } from './pytorch_plugin.mjs';

const [port, folder, deadlineSeconds, ...views] = process.argv.slice(2);
const site = `http://localhost:${port}`;

// What was there before a choice, and must have gone after it.
const markOld = () => {
  for (const table of document.querySelectorAll('table')) table.dataset.old = 'yes';
};

const isDrawn = (tables) => !document.querySelector('[role=progressbar], table[data-old]')
  && document.querySelectorAll('table').length === tables;

const readTables = () => [...document.querySelectorAll('table')].map((table) => {
  const rows = [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent.trim()));
  const figure = table.closest('figure');
  return {
    chart: figure?.dataset.chart ?? null,
    title: figure?.querySelector('figcaption')?.textContent ?? '',
    headings: table.tHead ? rows.shift() : [],
    rows,
  };
});

// The page's own tables come in pages: turns to the next ones, and tells of which tables.
const turnPages = () => [...document.querySelectorAll('table')].flatMap((table, i) => {
  const next = table.closest('.ant-table-wrapper')
    ?.querySelector('.ant-pagination-next[aria-disabled=false]');
  next?.click();
  return next ? [i] : [];
});

async function look(plugIn, run, view, worker, tables) {
  const { frame } = plugIn;
  await frame.evaluate(markOld);
  await plugIn.chooseRun(run);
  await plugIn.choose('view', view);
  await until('list of workers', async () => (await plugIn.shown('worker')).length > 1);
  if (await plugIn.shown('worker') !== worker) {
    await frame.evaluate(markOld);
    await plugIn.choose('worker', worker);
  }
  await until(`${view} with ${tables} tables`, () => frame.evaluate(isDrawn, tables));
  await frame.page().screenshot({ path: path.join(folder, `${view}.png`) });
  const shown = { run, view, worker, tables: await frame.evaluate(readTables) };
  for (;;) {
    const turned = await frame.evaluate(turnPages);
    if (!turned.length) return shown;
    const now = await frame.evaluate(readTables);
    for (const i of turned) shown.tables[i].rows.push(...now[i].rows);
  }
}

setDeadline(deadlineSeconds);
for (const view of views) await waitForRun(site, view.split(',')[0]);
const { browser, page } = await openBrowser();
const plugIn = await openPlugIn(page, site);
const found = [];
for (const wanted of views) {
  const [run, view, worker, tables] = wanted.split(',');
  found.push(await look(plugIn, run, view, worker, Number(tables)));
}
console.log(JSON.stringify(found));
await browser.close();
