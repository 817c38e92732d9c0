/** Files dropped or chosen in the browser become a report. */
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { launch, onPage, screenshot } from './lib/browser.mjs';
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
