/** What a page shows when a part of the server does not answer, or not to everybody. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, onPage, screenshot } from './lib/browser.mjs';
import { Server } from './lib/server.mjs';

const LOG = [['train.log', 'RuntimeError: CUDA error: device-side assert triggered\n']];

let browser;

before(async () => {
  browser = await launch();
});

after(() => browser?.close());

/** Has `act` use a server of its own. */
async function withServer(settings, act) {
  const server = await Server.start(settings);
  try {
    await act(server);
  } finally {
    await server.stop();
  }
}

test('recent reports are listed although no search is answered', () =>
  withServer('[limits]\nsearches = 0\n', async (server) => {
    const { report } = await server.upload(LOG);
    await onPage(browser, server.url, { refusals: [503] }, async (page) => {
      await page.goto('/');
      await page.locator(`[data-row][href="/reports/${report.id}"]`).waitFor();
      await page.getByText('1 report', { exact: true }).waitFor();
      assert.equal(await page.getByRole('alert').count(), 0);
      await page.goto('/?q=RuntimeError&v=1');
      await page.getByRole('alert').getByText('busy').waitFor();
    });
  }));

test('a token that does not allow reading can be replaced by one that does', () =>
  withServer('', async (server) => {
    const { report } = await server.upload(LOG);
    const [sends, reads] = [await server.token('ingest'), await server.token('read')];
    await onPage(browser, server.url, { refusals: [401, 403] }, async (page) => {
      await page.goto('/');
      const use = async (token) => {
        await page.getByLabel('Access token').fill(token);
        await page.getByRole('button', { name: 'Use it' }).click();
      };
      await use(sends);
      await page.getByRole('alert').getByText('forbidden').waitFor();
      await screenshot(page, 'forbidden');
      await use(reads);
      await page.locator(`[data-row][href="/reports/${report.id}"]`).waitFor();
    });
  }));
