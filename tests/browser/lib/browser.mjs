/** Chromium, and pages that watch for what must never happen: errors in the console, and requests to other origins. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const SCREENSHOTS = process.env.WHYCRASH_SCREENSHOTS ?? fileURLToPath(new URL('../screenshots', import.meta.url));

export const LAPTOP = { width: 1440, height: 900 };
export const PHONE = { width: 390, height: 844 };

/** Where systems put Chromium; set-up looks in the same places. */
const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? CHROMIUM.find(existsSync) ?? CHROMIUM[0],
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

/**
 * Opens a page on `origin`; `complaints` collects what must not happen. The browser tells of every refusal of the server:
 * those with a status in `refusals` are what the test is about.
 */
export async function open(browser, origin, { viewport = LAPTOP, colorScheme = 'light', refusals = [] } = {}) {
  const context = await browser.newContext({ baseURL: origin, viewport, colorScheme });
  context.setDefaultTimeout(30_000);
  const page = await context.newPage();
  const complaints = [];
  page.on('console', (message) => {
    const refused = /^Failed to load resource: the server responded with a status of (\d+)/.exec(message.text());
    if (refused && refusals.includes(Number(refused[1]))) return;
    if (['error', 'warning'].includes(message.type())) complaints.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`exception: ${error.message}`));
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== origin) complaints.push(`request to another origin: ${request.url()}`);
  });
  return { page, complaints };
}

/** Runs `work` on a fresh page and fails if the page complained. */
export async function onPage(browser, origin, options, work) {
  const { page, complaints } = await open(browser, origin, options);
  try {
    await work(page);
    assert.deepEqual(complaints, []);
  } finally {
    await page.context().close();
  }
}

/** Keeps a picture for people to look at. */
export async function screenshot(page, name) {
  await mkdir(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: path.join(SCREENSHOTS, `${name}.png`) });
}

/** Fails unless the element lies within what is visible of the page and of everything that scrolls around it. */
export async function assertInView(locator) {
  const visible = await locator.evaluate((element) => {
    const box = element.getBoundingClientRect();
    const inside = (top, bottom) => box.top >= top - 1 && box.top < bottom;
    for (let around = element.parentElement; around; around = around.parentElement) {
      if (getComputedStyle(around).overflowY === 'visible') continue;
      const frame = around.getBoundingClientRect();
      if (around !== document.documentElement && !inside(frame.top, frame.bottom)) return false;
    }
    return inside(0, innerHeight);
  });
  assert.ok(visible, `${locator} is not in view`);
}
