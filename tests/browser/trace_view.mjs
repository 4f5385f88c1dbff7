// SPDX-License-Identifier: Apache-2.0
// Opens the PyTorch plug-in of a TensorBoard in headless Chromium, chooses a run and its Trace
// view, waits until the timeline is drawn, and prints what is on it as one line of JSON. With it
// drawn_ms, the time from the choice of the view to then, and drawn_at_ms, when that was by the
// machine's clock.
//
//   node trace_view.mjs PORT RUN SCREENSHOT DEADLINE_S
import { openBrowser, setDeadline, until } from './page.mjs';
import { openPlugIn, waitForRun } from './pytorch_plugin.mjs';
import { lookAtModel } from './timeline_model.mjs';

const [port, run, screenshot, deadlineSeconds] = process.argv.slice(2);
const site = `http://localhost:${port}`;

setDeadline(deadlineSeconds);
const [{ browser, page }] = await Promise.all([openBrowser(), waitForRun(site, run)]);
const plugIn = await openPlugIn(page, site);
await plugIn.chooseRun(run);
await plugIn.choose('view', 'Trace');
const chosen = Date.now();
const model = await until('timeline', async () => {
  const frame = page.frames().find((candidate) => candidate.url().includes('trace_embedding'));
  return frame && frame.evaluate(lookAtModel);
});
model.drawn_at_ms = Date.now();
model.drawn_ms = model.drawn_at_ms - chosen;
await page.screenshot({ path: screenshot });
console.log(JSON.stringify(model));
await browser.close();
