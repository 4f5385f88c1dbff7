// SPDX-License-Identifier: Apache-2.0
// Opens the PyTorch plug-in of a TensorBoard in headless Chromium, chooses a run and its Trace
// view, waits until the timeline is drawn, and prints what is on it as one line of JSON, with the
// time from the choice of the view to then as drawn_ms.
//
//   node trace_view.mjs PORT RUN SCREENSHOT DEADLINE_S
//
// The plug-in loads two scripts from the network, which tests do not have. Both are answered here:
// the HTML Imports polyfill by the real one from npm (webcomponents.js), the loader of Google
// Charts by a stand-in that draws nothing. The Trace view needs no charts.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import path from 'node:path';

const modules = process.env.INFPROF_NODE_MODULES;
const require = createRequire(path.join(modules, 'package.json'));
const { chromium } = require(path.join(modules, 'playwright-core'));

const [port, run, screenshot, deadlineSeconds] = process.argv.slice(2);
const deadline = Date.now() + 1000 * Number(deadlineSeconds);
const site = `http://localhost:${port}`;

// Everything that is asked of it is an object that can be called, made and looked into again.
const chartsStandIn = `
  (() => {
    const anything = () => new Proxy(function () {}, {
      get: (target, key) => {
        if (key === Symbol.toPrimitive) return () => 0;
        return key === 'length' || typeof key === 'symbol' ? undefined : anything();
      },
      apply: anything,
      construct: anything,
    });
    window.google = {
      charts: { load() {}, setOnLoadCallback(callback) { setTimeout(callback, 0); } },
      visualization: anything(),
    };
  })();`;

let lastError = '';

function fail(message) {
  console.error(message);
  process.exit(1);
}

// Asks again until there is an answer; the answer is made somewhere else, in its own time.
async function until(what, question) {
  while (Date.now() < deadline) {
    const answer = await question();
    if (answer) return answer;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return fail(`no ${what} within ${deadlineSeconds} s ${lastError}`);
}

async function plugInHasRun() {
  try {
    const answer = await fetch(`${site}/data/plugin/pytorch_profiler/runs`);
    return (await answer.json()).runs?.includes(run);
  } catch {
    return false; // TensorBoard is not listening yet
  }
}

async function openBrowser() {
  const browser = await chromium.launch({
    executablePath: process.env.INFPROF_CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  });
  const context = await browser.newContext({ viewport: { width: 1600, height: 1000 } });
  const polyfill = readFileSync(path.join(modules, 'webcomponents.js', 'webcomponents.min.js'));
  const script = (body) => (route) => route.fulfill({ contentType: 'text/javascript', body });
  await context.route(/cdnjs\.cloudflare\.com/, script(polyfill.toString()));
  await context.route(/gstatic\.com/, script(chartsStandIn));
  const page = await context.newPage();
  page.on('crash', () => fail('the page has crashed'));
  return { browser, page };
}

// A list box of the plug-in's left side: the one that shows (or offers) a certain text.
async function choose(frame, box, text) {
  await box.click();
  const option = frame.getByRole('option', { name: text, exact: true });
  await option.waitFor({ timeout: Math.max(1, deadline - Date.now()) });
  await option.click();
}

async function openTraceView(page) {
  await page.goto(`${site}/#pytorch_profiler`);
  const boxes = '[role=button][aria-haspopup=listbox]';
  const frame = await until('plug-in', async () => {
    for (const candidate of page.frames())
      if ((await candidate.locator(boxes).count().catch(() => 0)) >= 3) return candidate;
    return null;
  });
  const shown = async (i) => (await frame.locator(boxes).nth(i).innerText()).trim();
  if ((await shown(0)) !== run) await choose(frame, frame.locator(boxes).nth(0), run);
  await until('list of views', async () => (await shown(0)) === run && (await shown(1)) !== '');
  await choose(frame, frame.locator(boxes).nth(1), 'Trace');
}

// What the viewer's own model holds: asked inside its frame.
function lookAtModel() {
  const view = document.querySelector('tr-ui-timeline-view');
  if (!view?.model) return null;
  const processes = [...view.model.getAllProcesses()].map((process) => ({
    name: process.name ?? '',
    order: process.sortIndex,
    threads: Object.values(process.threads).map((thread) => ({
      name: thread.name ?? '',
      slices: thread.sliceGroup.slices.length,
    })),
    // Points of each, with the values of the first and the last.
    counters: Object.fromEntries(Object.values(process.counters).map((counter) => {
      const samples = counter.getSeries(0).samples;
      return [counter.name, [samples.length, samples[0].value, samples.at(-1).value]];
    })),
  }));
  processes.sort((a, b) => a.order - b.order);
  return {
    processes,
    arrows: view.model.flowEvents.length,
    warnings: view.model.importWarnings.map((warning) => warning.message),
  };
}

// While the frame is still loading it cannot be asked, which is an error of no meaning.
async function waitForModel(page) {
  return until('timeline', async () => {
    const frame = page.frames().find((candidate) => candidate.url().includes('trace_embedding'));
    try {
      return frame ? await frame.evaluate(lookAtModel) : null;
    } catch (error) {
      lastError = String(error);
      return null;
    }
  });
}

await until('run in the plug-in', plugInHasRun);
const { browser, page } = await openBrowser();
await openTraceView(page);
const clicked = Date.now();
const model = await waitForModel(page);
model.drawn_ms = Date.now() - clicked;
await page.screenshot({ path: screenshot });
console.log(JSON.stringify(model));
await browser.close();
