/** Lists of reports: their order and numbers, their filters, and what they cost while nothing happens. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { launch, onPage, screenshot } from './lib/browser.mjs';
import { Server } from './lib/server.mjs';

let server;
let browser;
let first;
let second;

before(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  const log = [['train.log', 'RuntimeError: CUDA error: device-side assert triggered\n']];
  // The one that crashed first comes last.
  first = await server.upload(log, { host: 'gpu-7', ended: '2024-05-01T10:00:00Z' });
  second = await server.upload(log, { host: 'cpu-1', ended: '2020-01-01T00:00:00Z' });
});

after(() => Promise.all([server?.stop(), browser?.close()]));

const text = async (locator) => (await locator.innerText()).replace(/\s+/g, ' ').trim();

describe('the list of recent reports', () => {
  test('is in the order of arrival, with both times and the numbers of the report itself', () =>
    onPage(browser, server.url, {}, async (page) => {
      await page.goto('/');
      await page.locator('[data-row]').nth(1).waitFor();
      const rows = await page.locator('[data-row]').evaluateAll((links) => links.map((link) => link.getAttribute('href')));
      assert.deepEqual(rows, [second, first].map((document) => `/reports/${document.report.id}`));
      const row = page.locator('li', { has: page.locator(`[data-row][href="${rows[0]}"]`) });
      const listed = await text(row);
      assert.match(listed, /just now|min ago/);
      assert.match(listed, /crashed .*(2019|2020)/);
      assert.match(listed, /seen 2×/);
      const times = await row.locator('time').evaluateAll((all) => all.map((time) => time.dateTime));
      await screenshot(page, 'recent-order');

      await page.locator('[data-row]').first().click();
      const header = page.locator('main header').first();
      await header.getByText('seen 2×').waitFor();
      assert.deepEqual(await header.locator('time').evaluateAll((all) => all.map((time) => time.dateTime)), times);
      assert.match(await text(header), /crashed .*(2019|2020)/);
    }));

  test('says that nothing was found where results stand', () =>
    onPage(browser, server.url, { viewport: { width: 1280, height: 720 } }, async (page) => {
      await page.goto('/?q=nothingmatchesthis&v=1');
      const box = await page.locator('.none').boundingBox();
      assert.ok(box.width > 800, `the box is ${box.width} wide: as narrow as the column of facets`);
    }));
});

describe('filters', () => {
  for (const [term, words] of [
    ['-host:gpu-7', 'not host:gpu-7'],
    ['host:cpu*', 'host:cpu*'],
    ['NOT host:gpu*', 'not host:gpu*'],
  ]) {
    test(`${term} is one, and can be taken away`, () =>
      onPage(browser, server.url, {}, async (page) => {
        await page.goto(`/?q=${encodeURIComponent(`RuntimeError ${term}`)}&v=1`);
        await page.getByText('1 report', { exact: true }).waitFor();
        const chip = page.locator('[data-filter]');
        assert.equal(await text(chip), `${words} ×`);
        await chip.click();
        await page.getByText('2 reports', { exact: true }).waitFor();
        assert.equal(new URL(page.url()).searchParams.get('q'), 'RuntimeError');
        assert.equal(await page.locator('[data-filter]').count(), 0);
      }));
  }
});

/** What the page asks of the API, as `GET 304 /api/v1/reports`. */
function watch(page) {
  const asked = [];
  page.on('response', (response) => {
    const { pathname } = new URL(response.url());
    if (pathname.startsWith('/api/')) asked.push(`${response.request().method()} ${response.status()} ${pathname}`);
  });
  return asked;
}

/** Makes the page believe that it is hidden, or shown again. */
function setHidden(page, hidden) {
  return page.evaluate((value) => {
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => value });
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => (value ? 'hidden' : 'visible') });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);
}

describe('asking again', () => {
  /** A log of its own for each test: bytes that are here already are not asked for again. */
  const log = (pid) => Buffer.from(`RuntimeError: DataLoader worker (pid ${pid}) is killed by signal: Killed.\n`);
  const send = async (path, init) => {
    const response = await fetch(`${server.url}/api/v1${path}`, init);
    assert.ok(response.ok, `${path}: ${response.status}`);
    return response.json();
  };
  /** A report whose artifact is still to come. */
  const declare = (bytes) => {
    const artifact = { name: 'train.log', bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
    return send('/reports', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ metadata: {}, artifacts: [artifact] }),
    });
  };

  for (const [name, path] of [
    ['a list of reports that are read', () => '/'],
    ['a report that is read', () => `/reports/${first.report.id}`],
  ]) {
    test(`${name} is asked for once`, () =>
      onPage(browser, server.url, {}, async (page) => {
        const asked = watch(page);
        await page.goto(path());
        await page.locator('h1').waitFor();
        await page.waitForLoadState('networkidle');
        const before = asked.length;
        await page.waitForTimeout(4000);
        assert.deepEqual(asked.slice(before), []);
        await setHidden(page, true);
        await setHidden(page, false);
        await page.waitForTimeout(500);
        const again = asked.slice(before);
        assert.ok(
          again.every((line) => line.startsWith('GET 304 ')),
          `who comes back is told only what is new: ${again.join(', ')}`,
        );
      }));
  }

  test('a report that is being read is followed by being told, until it is read', () =>
    onPage(browser, server.url, {}, async (page) => {
      const bytes = log(7);
      const { id } = await declare(bytes);
      const asked = watch(page);
      await page.goto(`/reports/${id}`);
      await page.getByText('Artifacts are still arriving').waitFor();
      await page.waitForTimeout(1000);
      assert.ok(
        asked.some((line) => line.endsWith(`/reports/${id}/events`)),
        asked.join(', '),
      );
      const before = asked.length;
      await page.waitForTimeout(4000);
      assert.deepEqual(asked.slice(before), [], 'who is told does not ask');
      await send(`/reports/${id}/artifacts/train.log`, { method: 'PUT', body: bytes });
      await send(`/reports/${id}/complete`, { method: 'POST' });
      await page.getByRole('link', { name: /About this cause/ }).first().waitFor();
    }));

  test('where nobody tells, its state alone is asked for, less and less often, until it is read', () =>
    onPage(browser, server.url, {}, async (page) => {
      const bytes = log(9);
      const { id } = await declare(bytes);
      await page.route('**/events', (route) => route.fulfill({ contentType: 'text/event-stream', body: '' }));
      const asked = watch(page);
      const states = (from) => asked.slice(from).filter((line) => !line.endsWith('/events'));
      await page.goto(`/reports/${id}`);
      await page.getByText('Artifacts are still arriving').waitFor();
      const before = asked.length;
      await page.waitForTimeout(6000);
      const while6s = states(before);
      assert.ok(while6s.length >= 1 && while6s.length <= 6, while6s.join(', '));
      assert.ok(
        while6s.every((line) => line.endsWith(`/reports/${id}/state`)),
        while6s.join(', '),
      );
      assert.ok(while6s.slice(1).every((line) => line.startsWith('GET 304 ')), while6s.join(', '));

      await setHidden(page, true);
      await page.waitForTimeout(300);
      const hidden = asked.length;
      await page.waitForTimeout(4000);
      assert.deepEqual(asked.slice(hidden), [], 'nobody looks');

      await send(`/reports/${id}/artifacts/train.log`, { method: 'PUT', body: bytes });
      await send(`/reports/${id}/complete`, { method: 'POST' });
      await server.whenRead(id);
      await setHidden(page, false);
      await page.getByRole('link', { name: /About this cause/ }).first().waitFor();
    }));

  test('a list with a report that is being read shows when it is', () =>
    onPage(browser, server.url, {}, async (page) => {
      const bytes = log(8);
      const { id } = await declare(bytes);
      const isList = (response) => new URL(response.url()).pathname === '/api/v1/reports';
      await page.goto('/');
      await page.getByText('arriving…').waitFor();
      const again = await page.waitForResponse(isList);
      assert.equal(again.status(), 304, 'a list that is the same is not sent again');
      await send(`/reports/${id}/artifacts/train.log`, { method: 'PUT', body: bytes });
      await send(`/reports/${id}/complete`, { method: 'POST' });
      await page.getByText('arriving…').waitFor({ state: 'hidden' });
      const row = page.locator('li', { has: page.locator(`[data-row][href="/reports/${id}"]`) });
      await row.getByText('dl-worker-oom-killed').waitFor({ timeout: 30_000 });
    }));
});

test('a report is deleted by who says so twice, and is found no more', () =>
  onPage(browser, server.url, {}, async (page) => {
    const { report } = await server.upload([['train.log', 'ValueError: to be deleted\n']], { host: 'gone-1' });
    await page.goto(`/reports/${report.id}`);
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete this report?' });
    await dialog.getByRole('button', { name: 'Keep it' }).click();
    await dialog.waitFor({ state: 'hidden' });
    assert.equal((await fetch(`${server.url}/api/v1/reports/${report.id}`)).status, 200);
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await dialog.getByRole('button', { name: 'Delete it' }).click();
    await page.waitForURL(`${server.url}/`);
    await page.locator('[data-row]').first().waitFor();
    assert.equal(await page.locator(`[data-row][href="/reports/${report.id}"]`).count(), 0);
    assert.equal((await fetch(`${server.url}/api/v1/reports/${report.id}`)).status, 404);
  }));
