/** The way people go: from a search to a report, to the line that proves the finding, to the cause. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { assertInView, launch, onPage, open, screenshot } from './lib/browser.mjs';
import { Server } from './lib/server.mjs';

let server;
let browser;
/** A report whose best finding cites a line of a log. */
let report;
let finding;
let citation;

before(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  report = await server.uploadCase('oom-fragmentation-log');
  await server.uploadCase('dl-worker-killed');
  await server.uploadCase('seg-user-ctypes-null');
  [finding] = report.findings;
  assert.equal(finding?.cause, 'oom-fragmentation');
  citation = finding.citations.find((candidate) => candidate.at.line);
  assert.ok(citation, 'the finding cites no line');
});

after(() => Promise.all([server?.stop(), browser?.close()]));

/** Fails unless the citation's lines are highlighted, in view, and say what the citation quotes. */
async function assertProofShown(page) {
  const [first, last] = citation.at.line;
  const cited = page.locator('li[aria-current="location"][data-place]');
  await cited.first().waitFor();
  const places = await cited.evaluateAll((lines) => lines.map((line) => line.dataset.place));
  assert.deepEqual(
    places,
    Array.from({ length: last - first + 1 }, (_, n) => `${citation.artifact}:${first + n}`),
  );
  await assertInView(cited.first());
  const text = (await cited.locator('code').allTextContents()).join('\n');
  assert.ok(text.includes(citation.quote), `${JSON.stringify(text)} does not say ${JSON.stringify(citation.quote)}`);
  const plain = await page.locator('li[data-place]:not([aria-current])').first().evaluate(background);
  assert.notEqual(await cited.first().evaluate(background), plain, 'the cited line looks like any other');
}

function background(element) {
  return getComputedStyle(element).backgroundColor;
}

function address(page) {
  return new URL(page.url());
}

const place = () => (citation.at.line[0] === citation.at.line[1] ? `${citation.at.line[0]}` : citation.at.line.join('-'));

describe('from search to cause', () => {
  test('by mouse', () =>
    onPage(browser, server.url, {}, async (page) => {
      await page.goto('/');
      await page.getByRole('heading', { name: 'Recent reports' }).waitFor();
      await page.getByText('3 reports', { exact: true }).waitFor();
      await screenshot(page, 'search');

      await page.getByRole('button', { name: /^oom-fragmentation/ }).click();
      await page.getByText('1 report', { exact: true }).waitFor();
      assert.equal(address(page).searchParams.get('q'), 'cause:oom-fragmentation');
      assert.equal(address(page).searchParams.get('v'), '1');

      await page.locator('[data-row]').first().click();
      await page.getByRole('heading', { name: finding.title }).waitFor();
      assert.equal(address(page).pathname, `/reports/${report.report.id}`);
      await page.locator(`a[data-citation="${citation.artifact}:${place()}"]`).first().click();
      assert.equal(address(page).searchParams.get('at'), `${citation.artifact}:${place()}`);
      await assertProofShown(page);
      await screenshot(page, 'report');

      await page.goBack();
      assert.equal(address(page).searchParams.get('at'), null);
      await page
        .getByRole('link', { name: `About this cause: ${finding.cause}` })
        .first()
        .click();
      const cause = await (await fetch(`${server.url}/api/v1/causes/${finding.cause}`)).json();
      await page.getByRole('heading', { level: 1, name: cause.title }).waitFor();
      await screenshot(page, 'cause');

      await page.getByRole('link', { name: /with this cause/ }).click();
      await page.locator(`[data-row][href="/reports/${report.report.id}"]`).waitFor();
    }));

  test('by keyboard alone', () =>
    onPage(browser, server.url, {}, async (page) => {
      const focused = () => page.evaluate(() => document.activeElement?.outerHTML.slice(0, 200) ?? '');
      const press = (key) => page.keyboard.press(key);
      await page.goto('/');
      await page.getByText('3 reports', { exact: true }).waitFor();
      await press('/');
      await page.keyboard.type('cause:oom-fragmentation');
      await press('Enter');
      await page.getByText('1 report', { exact: true }).waitFor();
      await press('j');
      assert.match(await focused(), /data-row/);
      await press('Enter');
      await page.getByRole('heading', { name: finding.title }).waitFor();

      const wanted = `${citation.artifact}:${place()}`;
      for (let step = 0; step < 50; step += 1) {
        await press('j');
        if ((await page.evaluate(() => document.activeElement?.dataset.citation)) === wanted) break;
      }
      await press('Enter');
      await assertProofShown(page);
      assert.equal(await page.evaluate(() => document.activeElement?.dataset.place), `${citation.artifact}:${citation.at.line[0]}`);

      await page.goBack();
      await page.waitForFunction((at) => document.activeElement?.dataset.citation === at, wanted);
      for (let step = 0; step < 50; step += 1) {
        await press('Tab');
        if ((await focused()).includes(`href="/causes/${finding.cause}"`)) break;
      }
      await press('Enter');
      await page.waitForURL(`**/causes/${finding.cause}`);
      await page.getByRole('heading', { name: 'What to do' }).waitFor();
    }));

  test('by a link that someone sent', () =>
    onPage(browser, server.url, {}, async (page) => {
      await page.goto(`/reports/${report.report.id}?at=${encodeURIComponent(`${citation.artifact}:${place()}`)}&v=1`);
      await assertProofShown(page);
    }));
});

test('the best proof is open before anything is asked for', () =>
  onPage(browser, server.url, {}, async (page) => {
    await page.goto(`/reports/${report.report.id}`);
    await page.locator('[data-citation][aria-current="location"]').first().waitFor();
    assert.equal(await page.evaluate(() => scrollY), 0);
  }));

test('the neighbours in the list are one key away', () =>
  onPage(browser, server.url, {}, async (page) => {
    await page.goto('/');
    await page.locator('[data-row]').nth(2).waitFor();
    const hrefs = await page.locator('[data-row]').evaluateAll((rows) => rows.map((row) => row.getAttribute('href')));
    await page.locator('[data-row]').nth(1).click();
    await page.waitForURL(`**${hrefs[1]}`);
    await page.getByText('2 of 3').waitFor();
    await page.keyboard.press(']');
    await page.waitForURL(`**${hrefs[2]}`);
    await page.keyboard.press('[');
    await page.waitForURL(`**${hrefs[1]}`);
    await page.keyboard.press('b');
    await page.getByRole('heading', { name: 'Recent reports' }).waitFor();
  }));

test('the dialog of keys takes the focus and gives it back', () =>
  onPage(browser, server.url, {}, async (page) => {
    await page.goto('/');
    await page.locator('[data-row]').first().focus();
    await page.keyboard.press('?');
    const dialog = page.getByRole('dialog', { name: 'Keys on this page' });
    await dialog.waitFor();
    for (let step = 0; step < 6; step += 1) {
      await page.keyboard.press('Tab');
      assert.ok(await page.evaluate(() => document.activeElement === document.body || document.activeElement?.closest('dialog') !== null));
    }
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    assert.ok(await page.evaluate(() => document.activeElement?.hasAttribute('data-row')));
  }));

test('a query that is not understood is explained', async () => {
  const { page } = await open(browser, server.url);
  await page.goto('/?q=colour:red&v=1');
  const alert = page.getByRole('alert');
  await alert.waitFor();
  assert.match((await alert.textContent()) ?? '', /colour/);
  await page.context().close();
});
