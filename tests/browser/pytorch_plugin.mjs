// SPDX-License-Identifier: Apache-2.0
// The PyTorch plug-in's page, used as a user uses it: list boxes on its left side, and a view.
import { leftMilliseconds, until } from './page.mjs';

const BOXES = '[role=button][aria-haspopup=listbox]';
const BOX = { run: 0, view: 1, worker: 2 };

// Waits until the plug-in of a TensorBoard that may be starting yet has found a run.
export async function waitForRun(site, run) {
  await until(`run ${run} in the plug-in`, async () => {
    const answer = await fetch(`${site}/data/plugin/pytorch_profiler/runs`);
    return (await answer.json()).runs?.includes(run);
  });
}

export async function openPlugIn(page, site) {
  await page.goto(`${site}/#pytorch_profiler`);
  const frame = await until('plug-in', async () => {
    for (const candidate of page.frames()) {
      if ((await candidate.locator(BOXES).count()) >= 3) return candidate;
    }
    return null;
  });
  return {
    frame,

    async shown(what) {
      return (await frame.locator(BOXES).nth(BOX[what]).innerText()).trim();
    },

    // False where it is chosen already.
    async choose(what, text) {
      if ((await this.shown(what)) === text) return false;
      await frame.locator(BOXES).nth(BOX[what]).click();
      const option = frame.getByRole('option', { name: text, exact: true });
      await option.waitFor({ timeout: leftMilliseconds() });
      await option.click();
      await until(text, async () => (await this.shown(what)) === text);
      return true;
    },

    // A run comes with the list of its views, and begins with the first.
    async chooseRun(run) {
      await this.choose('run', run);
      await until('list of views', async () => (await this.shown('view')).length > 1);
    },
  };
}
