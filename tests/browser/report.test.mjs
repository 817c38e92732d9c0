/** A report says at once what matters, in words, and keeps its evidence in sight. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { assertAccessible } from './lib/axe.mjs';
import { assertInView, launch, onPage, PHONE, screenshot } from './lib/browser.mjs';
import { caseFiles, corpusFile, Server } from './lib/server.mjs';

let server;
let browser;
const reports = {};

before(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  for (const name of ['dist-rank-branch-gloo', 'oom-fragmentation-snapshot', 'oom-fragmentation-log']) {
    reports[name] = await server.uploadCase(name);
  }
  const dumps = await caseFiles('dist-rank-branch-gloo');
  const traceback = [0, 2].flatMap((rank) => [
    `[rank${rank}]: Traceback (most recent call last):`,
    `[rank${rank}]:   File "/job/train.py", line ${rank + 10}, in step`,
    `[rank${rank}]: ValueError: of rank ${rank}`,
  ]);
  reports.joined = await server.upload([...dumps, ['train.log', `${traceback.join('\n')}\n`]]);
  const core = await readFile(corpusFile('seg-null-deref-worker-thread', 'core.zst'));
  reports.damaged = await server.upload([
    ['core.zst', core.subarray(0, core.length / 2)],
    ['train.log', 'RuntimeError: \u202egnirts\u202c \u001b[31mred\u001b[0m \u0007bell\n'],
  ]);
  const errors = Array.from({ length: 150 }, (_, n) => `Traceback (most recent call last):\n  File "a${n}.py", line ${n + 1}, in f${n}\nE${n}Error: ${n}\n`);
  reports.long = await server.upload([['train.log', errors.join('\n')]]);
});

after(() => Promise.all([server?.stop(), browser?.close()]));

const address = (name) => `/reports/${reports[name].report.id}`;

describe('the ranks that hold the others up', () => {
  test('are named at the top, and lead to the verdict', () =>
    onPage(browser, server.url, {}, async (page) => {
      const { culprits, verdicts } = reports['dist-rank-branch-gloo'].evidence.collectives;
      assert.deepEqual(culprits, [2]);
      await page.goto(address('dist-rank-branch-gloo'));
      const blame = page.locator('[data-blame]');
      await blame.waitFor();
      const says = `rank 2 did not join ALL_REDUCE #${verdicts[0].sequence} of group default_pg`;
      assert.equal((await blame.innerText()).replace(/\s+/g, ' ').trim(), says);
      await blame.getByRole('link', { name: 'rank 2' }).click();
      const panel = page.getByRole('tabpanel', { name: 'Collectives' });
      await panel.getByText(says, { exact: false }).first().waitFor();
      await panel.locator('tr.cited').getByText('missing rank').waitFor();
      await assertAccessible(page, 'collectives');
      await screenshot(page, 'collectives');
    }));
});

test('a failure that was told again and again is one event that says how often, and leads to its last place', () =>
  onPage(browser, server.url, {}, async (page) => {
    const told = 700;
    const log = 'RuntimeError: CUDA error: an illegal memory access was encountered\n'.repeat(told);
    const { report, evidence } = await server.upload([['again.log', log]]);
    const event = evidence.timeline.find((candidate) => candidate.count === told);
    assert.ok(event, 'no event says how often it was told');
    await page.goto(`/reports/${report.id}?at=event:${event.event}&v=1`);
    const row = page.locator(`[data-place="event:${event.event}"]`);
    await row.getByText(`× ${told}`).waitFor();
    await row.getByRole('link', { name: 'last time' }).click();
    const [last] = event.last_at.line;
    assert.equal(last, told);
    await page.locator(`[data-place="again.log:${last}"][aria-current="location"]`).waitFor();
  }));

test('a rank that is named leads to what it left itself', () =>
  onPage(browser, server.url, {}, async (page) => {
    const own = reports.joined.evidence.timeline.find((event) => event.rank === 2);
    assert.ok(own, 'no event is of rank 2');
    await page.goto(address('joined'));
    await page.locator('[data-blame]').getByRole('link', { name: 'rank 2' }).click();
    const event = page.locator(`[data-place="event:${own.event}"][aria-current="location"]`);
    await event.getByText('ValueError: of rank 2').waitFor();
    await assertInView(event);
  }));

describe('the evidence', () => {
  for (const viewport of [
    { width: 1280, height: 720 },
    { width: 1440, height: 900 },
    { width: 1920, height: 1080 },
  ]) {
    test(`ends above the edge of a screen of ${viewport.width} by ${viewport.height}, and scrolls in itself`, () =>
      onPage(browser, server.url, { viewport }, async (page) => {
        await page.goto(`${address('long')}?tab=timeline&v=1`);
        await page.locator('[data-place="event:0"]').waitFor();
        for (const scrolled of [0, 200]) {
          await page.evaluate((y) => scrollTo(0, y), scrolled);
          const box = await page.locator('.pane').boundingBox();
          assert.ok(box.y >= 0 && box.y + box.height <= viewport.height, `the evidence reaches to ${box.y + box.height}`);
        }
        const [content, shown] = await page.locator('[data-scroller]').evaluate((panel) => [panel.scrollHeight, panel.clientHeight]);
        assert.ok(content > shown, 'there is more than the panel shows, and it scrolls');
      }));
  }

  test('is no higher than a phone', () =>
    onPage(browser, server.url, { viewport: PHONE }, async (page) => {
      await page.goto(`${address('long')}?tab=timeline&v=1`);
      await page.locator('[data-place="event:0"]').waitFor();
      const box = await page.locator('.pane').boundingBox();
      assert.ok(box.height <= PHONE.height, `the evidence is ${box.height} high`);
    }));
});

test('a long list shows how it begins, and all of it when somebody asks, or a link leads further', () =>
  onPage(browser, server.url, {}, async (page) => {
    const { entries, shown } = reports.long.parts.timeline;
    assert.ok(shown > 0 && shown < entries, `${shown} of ${entries}`);
    const asked = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    const parts = () => asked.filter((path) => path.endsWith('/timeline')).length;
    await page.goto(`${address('long')}?tab=timeline&v=1`);
    await page.locator('[data-place="event:0"]').waitFor();
    await page.getByText(`The first ${shown} of ${entries}.`).waitFor();
    assert.equal(parts(), 0, 'nobody has asked yet');
    await assertAccessible(page, 'long list');
    await page.getByRole('button', { name: 'Show all' }).click();
    await page.getByText(`The first ${shown} of ${entries}.`).waitFor({ state: 'detached' });
    assert.equal(parts(), 1);
    await page.goto(`${address('long')}?at=event:${entries - 1}&v=1`);
    await page.locator(`[data-place="event:${entries - 1}"]`).waitFor();
  }));

test('a damaged artifact is named at the top, with what is wrong', () =>
  onPage(browser, server.url, {}, async (page) => {
    const { problems } = reports.damaged.report.artifacts.find((artifact) => artifact.name === 'core.zst');
    assert.ok(problems.length > 0);
    await page.goto(`${address('damaged')}?tab=logs&v=1`);
    const warning = page.getByRole('region', { name: 'Problems with the artifacts' });
    await assertInView(warning);
    assert.match(await warning.innerText(), /core\.zst/);
    assert.ok((await warning.innerText()).includes(problems.find((problem) => !problem.code.startsWith('limit-')).message));
    await warning.getByRole('link').first().click();
    await page.getByRole('tabpanel', { name: /Artifacts/ }).waitFor();
    await assertAccessible(page, 'damaged');
    await screenshot(page, 'damaged');
  }));

test('facts are told in words, and their paths on demand', () =>
  onPage(browser, server.url, {}, async (page) => {
    const [finding] = reports['oom-fragmentation-snapshot'].findings;
    const asked = finding.citations.find((citation) => citation.at.fact?.endsWith('.oom.requested'));
    assert.ok(asked, 'the finding cites no request');
    await page.goto(address('oom-fragmentation-snapshot'));
    const citation = page.locator(`[data-citation="fact:${asked.at.fact}"]`).first();
    await citation.waitFor();
    assert.match(await citation.innerText(), /^asked for 1\.17 GiB/);
    const words = (await page.locator('[data-citation^="fact:"]').allInnerTexts()).join('\n');
    assert.doesNotMatch(words, /memory_snapshots|\d{7}/);
    await citation.click();
    const fact = page.locator('[data-place^="fact:"]');
    await fact.getByText('asked for 1.17 GiB').waitFor();
    await fact.getByText('where it stands').click();
    await fact.getByText(asked.at.fact, { exact: true }).waitFor();
    await screenshot(page, 'fact');
  }));

test('Markdown in fixes and signs is drawn', () =>
  onPage(browser, server.url, {}, async (page) => {
    await page.goto('/causes/dist-cross-rank-assumption');
    await page.locator('em', { hasText: /^every$/ }).waitFor();
    assert.doesNotMatch(await page.locator('main').innerText(), /\*every\*|`all_reduce`/);
    // In titles and summaries too.
    await page.goto('/causes');
    await page.locator('[data-row]').first().waitFor();
    assert.doesNotMatch(await page.locator('main').innerText(), /`/);
  }));

test('what can not be seen in names and lines is shown', () =>
  onPage(browser, server.url, {}, async (page) => {
    await server.upload([['train.log', 'ValueError: x\n']], { host: 'gpu-\u202e71' });
    await page.goto('/?q=&v=1');
    await page.locator('[data-row]').first().waitFor();
    await page.getByRole('link', { name: 'gpu-⟨U+202E⟩71' }).waitFor();
    await page.goto(`${address('damaged')}?at=train.log:1&v=1`);
    const line = page.locator('li[data-place="train.log:1"]');
    await line.waitFor();
    assert.match(await line.innerText(), /RuntimeError: ⟨U\+202E⟩gnirts⟨U\+202C⟩ red ␇bell/);
    for (const path of ['/', address('damaged')]) {
      await page.goto(path);
      await page.locator('h1').waitFor();
      await page.waitForLoadState('networkidle');
      assert.doesNotMatch(await page.locator('body').innerText(), /[\u202a-\u202e\u2066-\u2069\u0007\u001b]/);
    }
  }));

describe('GPUs while the job ran', () => {
  /** What the collector notes of two devices, one of which has trouble. */
  const context = (told = {}) => ({
    whycrash_context: 1,
    command: ['python', 'train.py'],
    kind: 'crash',
    started: '2026-03-01T10:00:00Z',
    ended: '2026-03-01T10:01:00Z',
    exit: { signal: null, code: 1 },
    gpus: [
      { name: 'Some GPU', uuid: 'GPU-a' },
      { name: 'Some GPU', uuid: 'GPU-b' },
    ],
    gpu_timeline: [
      {
        device: 0,
        uuid: 'GPU-a',
        total: 80 * 2 ** 30,
        peak_used: 2 ** 20,
        used: [[20, 2 ** 20]],
        failures: [],
      },
      {
        device: 1,
        uuid: 'GPU-b',
        total: 80 * 2 ** 30,
        peak_used: 60 * 2 ** 30,
        used: Array.from({ length: 20_000 }, (_, n) => [n * 3, (n % 60) * 2 ** 30]),
        failures: [{ at: 59_000, why: 'the device fell off the bus' }],
        health: {
          busy_percent: [
            [0, 3],
            [5000, 97],
            [50_000, 12],
          ],
          sm_clock_mhz: [
            [0, 1980],
            [30_000, 345],
          ],
          throttled_by: [
            [0, []],
            [30_000, ['hardware-thermal-slowdown']],
          ],
          temperature_c: [
            [0, 41],
            [30_000, 92],
          ],
          ecc_uncorrected: [
            [0, 0],
            [40_000, 11],
          ],
          row_remap_pending: [
            [0, false],
            [40_000, true],
          ],
          pcie_replays: [
            [0, 0],
            [40_000, 7],
          ],
          nvlink_errors: [
            [0, 0],
            [40_000, 20],
          ],
        },
        processes: [
          {
            pid: 4711,
            used: [
              [0, 2 ** 30],
              [50_000, 0],
            ],
          },
        ],
        xids: [{ at: 40_500, code: 48 }],
        ...told,
      },
    ],
  });
  const uploaded = (told) => server.upload([['context.json', JSON.stringify(context(told))]]);

  for (const [name, options] of [
    ['light', {}],
    ['dark', { colorScheme: 'dark' }],
    ['phone', { viewport: PHONE }],
  ]) {
    test(`have curves, a table of how they did, and what they told of: ${name}`, () =>
      onPage(browser, server.url, options, async (page) => {
        const { report } = await uploaded();
        await page.goto(`/reports/${report.id}?tab=gpus&v=1`);
        const gpu = page.getByRole('region', { name: 'GPU 1: Some GPU' });
        await gpu.getByText('Xid 48').waitFor();
        await gpu.getByText('the device fell off the bus').waitFor();
        await gpu
          .getByRole('img', {
            name: 'Memory in use on GPU 1 while the job ran: up to 59.0 GiB of 80.0 GiB',
          })
          .waitFor();
        await gpu
          .getByRole('img', {
            name: 'How busy GPU 1 was while the job ran: up to 97 %',
          })
          .waitFor();
        const row = async (name) => (await gpu.getByRole('row', { name }).innerText()).replace(/\s+/g, ' ').trim();
        assert.equal(await row(/^SM clock/), 'SM clock 345 MHz 345 MHz to 1,980 MHz');
        assert.match(
          await row(/^clocks held down by/),
          /hardware thermal slowdown at the start: nothing after 30 s: hardware thermal slowdown/,
        );
        assert.match(await row(/^ECC errors, uncorrected/), /^ECC errors, uncorrected 11/);
        assert.match(await row(/^rows wait to be remapped/), /yes/);
        assert.match(await row(/^PCIe replays/), /7/);
        assert.match(await row(/^NVLink errors/), /20/);
        assert.equal(await row(/^4711/), '4711 0 B 1.00 GiB');
        await assertAccessible(page, `gpus ${name}`);
        await screenshot(page, `gpus-${name}`);
        // Two devices, one of which has nothing but its memory.
        const other = page.getByRole('region', { name: 'GPU 0: Some GPU' });
        assert.equal(await other.getByRole('table').count(), 0);
        await page.goto(`/reports/${report.id}?tab=context&v=1`);
        await page.getByText('train.py').first().waitFor();
        assert.equal(await page.getByText('gpu timeline').count(), 0);
      }));
  }

  test('may be told of by anybody in any way', () =>
    onPage(browser, server.url, {}, async (page) => {
      const { report } = await uploaded({
        used: 7,
        health: {
          new_one: [
            [1, { a: 'b' }],
            [2, null],
          ],
          odd: 'x',
        },
        processes: [null],
        xids: [[]],
      });
      await page.goto(`/reports/${report.id}?tab=gpus&v=1`);
      const gpu = page.getByRole('region', { name: 'GPU 1: Some GPU' });
      await gpu.getByRole('row', { name: /^new one/ }).waitFor();
      await assertAccessible(page, 'gpus told oddly');
    }));
});
