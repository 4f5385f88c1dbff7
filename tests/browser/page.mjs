// SPDX-License-Identifier: Apache-2.0
// What the scripts that look at TensorBoard share: a page in headless Chromium that needs no
// network, and waiting for what it shows.
//
// The plug-ins load scripts from the network, which tests do not have. They are answered here: the
// HTML Imports polyfill by the real one from npm (webcomponents.js), Google Charts by charts.js
// beside this file. Fonts stay away, as they do on a machine without Internet; anything else fails.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import path from 'node:path';

const modules = process.env.INFPROF_NODE_MODULES;
const require = createRequire(path.join(modules, 'package.json'));
const { chromium } = require(path.join(modules, 'playwright-core'));

const pageErrors = [];
let deadline = Infinity;
let allowedSeconds = 0;

export function fail(message) {
  console.error([message, ...pageErrors].join('\n'));
  process.exit(1);
}

export function setDeadline(seconds) {
  allowedSeconds = Number(seconds);
  deadline = Date.now() + 1000 * allowedSeconds;
}

export const leftMilliseconds = () => Math.max(1, deadline - Date.now());

// Asks again until there is an answer; the answer is made somewhere else, in its own time. A frame
// that is still loading cannot be asked, which is an error that means nothing unless it stays.
export async function until(what, question) {
  let lastError = '';
  while (Date.now() < deadline) {
    try {
      const answer = await question();
      if (answer) return answer;
    } catch (error) {
      lastError = String(error);
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return fail(`no ${what} within ${allowedSeconds} s ${lastError}`);
}

export async function openBrowser() {
  const browser = await chromium.launch({
    executablePath: process.env.INFPROF_CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  });
  const context = await browser.newContext({ viewport: { width: 1600, height: 1000 } });
  const polyfill = readFileSync(path.join(modules, 'webcomponents.js', 'webcomponents.min.js'));
  const charts = readFileSync(new URL('charts.js', import.meta.url));
  const script = (body) => (route) => route.fulfill({ contentType: 'text/javascript', body });
  await context.route((url) => url.hostname !== 'localhost', (route) => route.abort());
  await context.route(/cdnjs\.cloudflare\.com/, script(polyfill.toString()));
  await context.route(/gstatic\.com\/charts/, script(charts.toString()));
  await context.route(/fonts\./, (route) => route.fulfill({ contentType: 'text/css', body: '' }));
  const page = await context.newPage();
  page.on('crash', () => fail('the page has crashed'));
  page.on('pageerror', (error) => pageErrors.push(`the page: ${error.stack}`));
  page.on('console', (line) => {
    if (line.type() === 'error') pageErrors.push(`the page: ${line.text()}`);
  });
  return { browser, page };
}
