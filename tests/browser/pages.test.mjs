/** Every page: free of accessibility violations, in light and dark, on a laptop and on a phone. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { assertAccessible } from './lib/axe.mjs';
import { LAPTOP, launch, onPage, open, PHONE, screenshot } from './lib/browser.mjs';
import { Server } from './lib/server.mjs';

let server;
let empty;
let browser;
const reports = {};

/** Corpus cases that together have every kind of evidence the interface shows. */
const CASES = {
  log: 'oom-fragmentation-log',
  snapshot: 'oom-fragmentation-snapshot',
  traceback: 'dl-worker-killed',
  core: 'seg-null-deref-worker-thread',
  nothing: 'none-clean',
};

before(async () => {
  [server, empty, browser] = await Promise.all([Server.start(), Server.start(), launch()]);
  for (const [name, corpusCase] of Object.entries(CASES)) reports[name] = await server.uploadCase(corpusCase);
  const begun = await fetch(`${server.url}/api/v1/previews?page=team-tried.md`, { method: 'POST', body: TRIED });
  assert.equal(begun.status, 202, await begun.text());
});

/** A page of a cause that finds something in the cases with a traceback. */
const TRIED = `+++
id = "team-tried"
title = "An exception that the team knows"
summary = "It is tried on what is stored."
severity = "fatal"
domain = "program"
retry = { advice = "unknown" }
tags = []
signs = ["a traceback"]
references = ["https://example.com/"]

[[fixes]]
summary = "Ask the team"
steps = ["Ask."]

[[recognise]]
kind = "python-exception"
where.exception = { matches = "Error$" }
confidence = 0.99
explanation = "The team has seen this one."
+++

## What happens

It.
`;

after(() => Promise.all([server?.stop(), empty?.stop(), browser?.close()]));

const id = (name) => reports[name].report.id;

/** Name of the page, its address, and what must be on it before it is looked at. */
const PAGES = [
  ['recent reports', () => '/', '[data-row]'],
  ['results', () => '/?q=signal:SIGSEGV&v=1', '[data-row]'],
  ['no results', () => '/?q=nothingmatchesthis&v=1', 'text=No report matches'],
  ['report with a log', () => `/reports/${id('log')}`, 'li[aria-current="location"]'],
  ['report with a core', () => `/reports/${id('core')}?tab=threads&v=1`, '[data-place*=":frame:"]'],
  ['report with a traceback', () => `/reports/${id('traceback')}?tab=threads&v=1`, '[data-place*=":frame:"]'],
  ['report with a snapshot', () => `/reports/${id('snapshot')}?tab=memory&v=1`, 'role=tabpanel >> text=/^GPU \\d+: .* reserved$/'],
  ['report without findings', () => `/reports/${id('nothing')}`, 'text=There is nothing to explain'],
  ['timeline', () => `/reports/${id('log')}?tab=timeline&v=1`, '[data-place^="event:"]'],
  ['context', () => `/reports/${id('log')}?tab=context&v=1`, 'dl'],
  ['artifacts', () => `/reports/${id('core')}?tab=artifacts&v=1`, 'text=Download'],
  ['plugin runs', () => `/reports/${id('log')}?tab=plugins&v=1`, 'role=tabpanel >> table'],
  ['group', () => `/groups/${reports.log.report.signature.key}`, '[data-row]'],
  ['causes', () => '/causes', '[data-row]'],
  ['cause', () => '/causes/oom-fragmentation', 'text=What to do'],
  ['plugins', () => '/plugins', 'h2'],
  ['preview', () => '/previews/1', 'role=button[name="Apply"]'],
  ['before and after', () => `/previews/1?report=${id('traceback')}`, 'role=heading[name="after"]'],
  ['unknown page', () => '/no/such/page', 'text=There is no such page'],
];

// Each is loaded in one scheme and then changes to the other: loading costs more than all that is looked at.
for (const [device, viewport, schemes] of [
  ['laptop', LAPTOP, ['light', 'dark']],
  ['phone', PHONE, ['dark', 'light']],
]) {
  describe(`on a ${device}, ${schemes.join(', then ')}`, () => {
    for (const [name, address, landmark] of PAGES) {
      test(name, () =>
        onPage(browser, server.url, { viewport, colorScheme: schemes[0] }, async (page) => {
          await page.goto(address());
          await page.locator(landmark).first().waitFor();
          assert.equal(await page.locator('h1').count(), 1, 'a page has one main heading');
          assert.notEqual(await page.title(), '');
          const [wide, shown] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
          assert.ok(wide <= shown, `the page is ${wide} wide on a screen of ${shown}`);
          for (const colorScheme of schemes) {
            await page.emulateMedia({ colorScheme });
            const luminance = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
            const [red] = luminance.match(/[\d.]+/g).map(Number);
            assert.equal(red < 128, colorScheme === 'dark', `background ${luminance}`);
            await assertAccessible(page, `${name}, ${colorScheme}`);
            await screenshot(page, `${name.replaceAll(' ', '-')}-${colorScheme}${device === 'phone' ? '-phone' : ''}`);
          }
        }),
      );
    }
  });
}

test('a server without reports says how to send the first one', () =>
  onPage(browser, empty.url, {}, async (page) => {
    await page.goto('/');
    await page.getByRole('heading', { name: 'No crash here yet' }).waitFor();
    await page.getByText(`whycrash run --server ${empty.url} -- python train.py`).waitFor();
    await assertAccessible(page, 'no reports');
    await screenshot(page, 'first-crash');
  }));

test('the dialog of keys is accessible', () =>
  onPage(browser, server.url, {}, async (page) => {
    await page.goto('/');
    await page.locator('[data-row]').first().waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
    await assertAccessible(page, 'keys');
    await screenshot(page, 'keys');
  }));

for (const [name, address, hint] of [
  ['report', '/reports/00000000000000000000000000000000', /upload/],
  ['cause', '/causes/no-such-cause', /causes/],
  ['group', '/groups/00', /search/],
]) {
  test(`a ${name} that is not there is said so, with a hint`, async () => {
    const { page } = await open(browser, server.url);
    await page.goto(address);
    const alert = page.getByRole('alert');
    await alert.waitFor();
    assert.match((await alert.textContent()) ?? '', hint);
    await assertAccessible(page, name);
    await page.context().close();
  });
}

test('a server that is gone is said so, and asked again', async () => {
  const { page } = await open(browser, empty.url);
  await page.goto('/');
  await page.getByRole('heading', { name: 'No crash here yet' }).waitFor();
  await empty.halt();
  await page.getByRole('link', { name: 'Causes', exact: true }).click();
  await page.getByRole('alert').getByText('The server does not answer').waitFor();
  await empty.resume();
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.locator('[data-row]').first().waitFor();
  await page.context().close();
});
