// SPDX-License-Identifier: Apache-2.0
// Opens xprof, TensorBoard's profile plug-in, in headless Chromium, goes through tools of its only
// run, and prints what they show as one line of JSON:
//
//   overview  the lines of text on the Overview page
//   kernels   the rows of the table of Kernel Stats, each by heading
//   trace     what the Trace Viewer shows with all hosts selected, as timeline_model.mjs has it
//
//   node xprof.mjs PORT FOLDER DEADLINE_S
//
// Into FOLDER goes a picture of each.
import path from 'node:path';
import { leftMilliseconds, openBrowser, setDeadline, until } from './page.mjs';
import { lookAtModel } from './timeline_model.mjs';

const [port, folder, deadlineSeconds] = process.argv.slice(2);
const site = `http://localhost:${port}`;
const BOX = { tool: 1, hosts: 2 };

setDeadline(deadlineSeconds);
await until('TensorBoard', () => fetch(`${site}/data/plugin/profile/runs`));
const { browser, page } = await openBrowser();
page.setDefaultTimeout(leftMilliseconds());
await page.goto(`${site}/#profile`);
const frame = await until('xprof', async () => {
  for (const candidate of page.frames()) {
    if ((await candidate.locator('mat-select').count()) >= 3) return candidate;
  }
  return null;
});

// The list boxes are behind a menu, except on the Overview; after a choice they slide away.
async function openBox(what) {
  const box = frame.locator('mat-select').nth(BOX[what]);
  await until(`list box of ${what}`, async () => {
    if (await box.getAttribute('aria-expanded') === 'true') return true;
    if (!await box.isVisible()) await frame.getByRole('button', { name: 'menu' }).click();
    await box.click({ timeout: 2000 });
    return false;
  });
}

async function chooseTool(name) {
  await openBox('tool');
  await frame.getByRole('option', { name, exact: true }).click();
}

const picture = (name) => page.screenshot({ path: path.join(folder, `xprof-${name}.png`) });

const readOverview = () => {
  const text = document.querySelector('performance-summary')?.innerText ?? '';
  return /\d ms/.test(text) && text.split(/\s*\n\s*/);
};

const readKernels = () => {
  const table = document.querySelector('figure[data-chart=Table] table');
  if (!table) return null;
  const [headings, ...rows] = [...table.rows]
    .map((row) => [...row.cells].map((cell) => cell.textContent.trim()));
  return rows.map((row) => Object.fromEntries(row.map((text, i) => [headings[i], text])));
};

async function showAllHosts() {
  await openBox('hosts');
  await frame.getByText(/select all/i).click();
  await frame.locator('.sticky-footer button').click();
}

const traceFrame = () => page.frames().find((candidate) => (
  candidate.url().includes('trace_viewer_index')));

const overview = await until('Overview', () => frame.evaluate(readOverview));
await picture('overview');
await chooseTool('Kernel Stats');
const kernels = await until('Kernel Stats', () => frame.evaluate(readKernels));
await picture('kernels');
await chooseTool('Trace Viewer');
await until('one host', () => traceFrame()?.evaluate(lookAtModel));
await showAllHosts();
const trace = await until('all hosts', async () => {
  const viewer = traceFrame();
  return viewer?.url().includes('rank0001') && viewer.evaluate(lookAtModel);
});
await picture('trace');
console.log(JSON.stringify({ overview, kernels, trace }));
await browser.close();
