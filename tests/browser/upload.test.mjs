/** Files dropped or chosen in the browser become a report. Large logs are read a window at a time. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { assertInView, launch, onPage, screenshot } from './lib/browser.mjs';
import { corpusFile, Server } from './lib/server.mjs';

let server;
let browser;

before(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
});

after(() => Promise.all([server?.stop(), browser?.close()]));

test('files that are chosen become a report, which shows its findings when it is read', () =>
  onPage(browser, server.url, {}, async (page) => {
    await page.goto('/causes');
    const chooser = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: 'Add a crash' }).click();
    await (await chooser).setFiles(corpusFile('oom-fragmentation-log', 'train.log'));
    await page.waitForURL('**/reports/*');
    await page.getByRole('link', { name: /About this cause: oom-fragmentation/ }).waitFor();
  }));

test('files that are dropped on any page become a report', () =>
  onPage(browser, server.url, {}, async (page) => {
    await page.goto('/plugins');
    const text = await readFile(corpusFile('dl-worker-killed', 'stderr.txt'), 'utf8');
    const files = await page.evaluateHandle((content) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([content], 'stderr.txt', { type: 'text/plain' }));
      return transfer;
    }, text);
    await page.dispatchEvent('body', 'dragover', { dataTransfer: files });
    await page.getByText('Drop the files of one crash here').waitFor();
    await screenshot(page, 'drop');
    await page.dispatchEvent('body', 'drop', { dataTransfer: files });
    await page.waitForURL('**/reports/*');
    await page.getByRole('link', { name: /About this cause: dl-worker-oom-killed/ }).waitFor();
  }));

test('a log of a million lines shows the cited one without being loaded', async () => {
  const crash = await readFile(corpusFile('oom-fragmentation-log', 'train.log'), 'utf8');
  const steps = Array.from({ length: 500_000 }, (_, step) => `step ${step} loss 1.5\n`).join('');
  const document = await server.upload([['train.log', `${steps}${steps}${crash}`]]);
  const [from] = document.findings[0].citations.find((citation) => citation.at.line).at.line;
  assert.ok(from > 1_000_000);
  await onPage(browser, server.url, {}, async (page) => {
    let received = 0;
    page.on('response', async (response) => {
      if (response.url().includes('/lines')) received += (await response.body()).length;
    });
    await page.goto(`/reports/${document.report.id}?at=train.log:${from}&v=1`);
    const cited = page.locator(`[data-place="train.log:${from}"]`);
    await cited.waitFor();
    await assertInView(cited);

    await page.getByLabel('Line', { exact: true }).fill('900,000');
    await page.keyboard.press('Enter');
    const wanted = page.locator('[data-place="train.log:900000"]');
    await wanted.waitFor();
    await assertInView(wanted);
    assert.equal(new URL(page.url()).searchParams.get('at'), 'train.log:900000');

    for (let turn = 0; turn < 12; turn += 1) {
      await page.locator('[data-scroller]').evaluate((pane) => pane.scrollTo(0, pane.scrollHeight));
      await page.waitForTimeout(60);
    }
    const lines = page.locator('li[data-place^="train.log:"]');
    assert.ok((await lines.count()) <= 1500, 'lines pile up in the page');
    assert.ok(received < 1_000_000, `${received} bytes of lines were loaded`);
  });
});
