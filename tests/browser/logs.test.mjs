/** Logs of millions of lines: every way to go through them, and what it costs the server. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { assertAccessible } from './lib/axe.mjs';
import { assertInView, launch, onPage, PHONE, screenshot } from './lib/browser.mjs';
import { Server } from './lib/server.mjs';

const TOTAL = 2_400_000;
const SCROLLER = '[data-log="train.log"]';

let server;
let browser;
let id;
/** A log whose lines wrap, each at another height. */
let wrapped;

before(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  const log = Buffer.from(Array.from({ length: TOTAL }, (_, index) => `step ${index + 1} ok\n`).join(''));
  id = (await server.upload([['train.log', log]])).report.id;
  const words = Array.from({ length: 5000 }, (_, index) => `line ${index + 1} ${'tensor '.repeat((index * 7) % 90)}end`);
  wrapped = (await server.upload([['train.log', Buffer.from(`${words.join('\n')}\n`)]])).report.id;
});

after(() => Promise.all([server?.stop(), browser?.close()]));

/** Opens the log and counts the requests for lines from then on. */
async function openLog(page, address) {
  const asked = [];
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.pathname.endsWith('/lines')) asked.push([Number(url.searchParams.get('from')), Number(url.searchParams.get('to'))]);
  });
  await page.goto(address);
  await page.locator(`${SCROLLER} li[data-place]`).first().waitFor();
  return asked;
}

const at = (line) => `/reports/${id}?at=train.log:${line}&v=1`;

/** Waits until this line is on the page with its text, and fails unless it is in sight. */
async function assertShown(page, line) {
  const row = page.locator(`li[data-place="train.log:${line}"]`);
  await row.waitFor();
  await assertInView(row);
  assert.match(await row.innerText(), new RegExp(`\\b(step|line) ${line}\\b`));
}

/** First line in sight, with where its top is. */
function topLine(page) {
  return page.locator(SCROLLER).evaluate((scroller) => {
    const top = scroller.getBoundingClientRect().top;
    const row = [...scroller.querySelectorAll('li')].find((line) => line.getBoundingClientRect().bottom > top + 1);
    return { line: row.value, y: row.getBoundingClientRect().top - top };
  });
}

/** Fails unless the lines in sight follow each other without gaps, fill the view, and are all here. */
async function assertWhole(page) {
  await page.waitForFunction((selector) => document.querySelectorAll(`${selector} li:not([data-place])`).length === 0, SCROLLER);
  const seen = await page.locator(SCROLLER).evaluate((scroller) => {
    const view = scroller.getBoundingClientRect();
    const rows = [...scroller.querySelectorAll('li')].map((line) => ({ value: line.value, box: line.getBoundingClientRect() }));
    const inside = rows.filter(({ box }) => box.bottom > view.top && box.top < view.bottom);
    return {
      numbers: inside.map(({ value }) => value),
      gaps: inside.slice(1).filter(({ box }, index) => Math.abs(box.top - inside[index].box.bottom) > 1).length,
      top: inside[0].box.top - view.top,
      bottom: inside.at(-1).box.bottom - view.bottom,
    };
  });
  assert.equal(seen.gaps, 0);
  assert.ok(seen.top <= 2 && seen.bottom >= -2, `the view is not filled: ${JSON.stringify(seen)}`);
  assert.deepEqual(seen.numbers, seen.numbers.map((_, index) => seen.numbers[0] + index));
}

describe('a log of 2.4 million lines', () => {
  test('a citation brings its line into the middle, marked, with one request', () =>
    onPage(browser, server.url, {}, async (page) => {
      const asked = await openLog(page, at(1_234_567));
      await assertShown(page, 1_234_567);
      const marked = page.locator('li[aria-current="location"]');
      assert.deepEqual(await marked.evaluateAll((rows) => rows.map((row) => row.value)), [1_234_567]);
      await page.waitForTimeout(600);
      assert.ok(asked.length <= 2, `${asked.length} requests: ${asked.join(' | ')}`);
      await assertAccessible(page, 'a large log');
      await screenshot(page, 'large-log');
    }));

  test('the scroll bar leads to the end, and anywhere', () =>
    onPage(browser, server.url, {}, async (page) => {
      const asked = await openLog(page, at(1));
      const scroller = page.locator(SCROLLER);
      await scroller.evaluate((element) => element.scrollTo(0, element.scrollHeight));
      await assertShown(page, TOTAL);
      await assertWhole(page);
      await scroller.evaluate((element) => element.scrollTo(0, (element.scrollHeight - element.clientHeight) / 2));
      await page.waitForFunction((selector) => document.querySelector(`${selector} li[data-place="train.log:1200000"]`), SCROLLER);
      await assertWhole(page);
      await scroller.evaluate((element) => element.scrollTo(0, 0));
      await assertShown(page, 1);
      assert.ok(asked.length <= 6, `${asked.length} requests: ${asked.join(' | ')}`);
    }));

  test('a scroll that a busy page hears of late is not taken back', () =>
    onPage(browser, server.url, {}, async (page) => {
      await openLog(page, at(1));
      for (const [first, second, line] of [[0.2, 1, TOTAL], [0.6, 0, 1], [0.4, 1, TOTAL]]) {
        await page.locator(SCROLLER).evaluate(
          async (element, [first, second]) => {
            const to = (share) => (element.scrollTop = (element.scrollHeight - element.clientHeight) * share);
            const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
            to(first);
            await frame();
            await frame();
            // What the view does once nothing has moved for a while is due by the end of this.
            for (const until = performance.now() + 400; performance.now() < until; );
            to(second);
          },
          [first, second],
        );
        await assertShown(page, line);
      }
    }));

  test('dragging from the beginning to the end asks for a part of what is flown over', () =>
    onPage(browser, server.url, {}, async (page) => {
      const asked = await openLog(page, at(1));
      await page.locator(SCROLLER).evaluate(async (element) => {
        for (let step = 1; step <= 120; step += 1) {
          element.scrollTop = ((element.scrollHeight - element.clientHeight) * step) / 120;
          await new Promise((resolve) => requestAnimationFrame(resolve));
        }
      });
      await assertShown(page, TOTAL);
      await assertWhole(page);
      assert.ok(asked.length <= 40, `${asked.length} requests: ${asked.join(' | ')}`);
      assert.ok((await page.locator(`${SCROLLER} li`).count()) <= 400, 'lines pile up in the page');
    }));

  test('a burst of the wheel moves line by line and asks a few times at most', () =>
    onPage(browser, server.url, {}, async (page) => {
      const asked = await openLog(page, at(1_000_000));
      await page.locator(SCROLLER).hover();
      const before = asked.length;
      const start = await topLine(page);
      for (let turn = 0; turn < 60; turn += 1) {
        await page.mouse.wheel(0, 120);
        await page.waitForTimeout(16);
      }
      await page.waitForTimeout(700);
      const end = await topLine(page);
      const moved = (end.line - start.line) * 20 - (end.y - start.y);
      assert.ok(Math.abs(moved - 60 * 120) < 60, `moved ${moved} pixels for ${60 * 120} of the wheel`);
      await assertWhole(page);
      assert.ok(asked.length - before <= 4, `${asked.length - before} requests: ${asked.join(' | ')}`);

      for (let turn = 0; turn < 120; turn += 1) await page.mouse.wheel(0, -120);
      await page.waitForTimeout(700);
      const back = await topLine(page);
      assert.ok(back.line < start.line, 'the wheel goes back too');
      await assertWhole(page);
      assert.ok(asked.length - before <= 8, `${asked.length - before} requests: ${asked.join(' | ')}`);
    }));

  test('the keys go to both ends and by pages', () =>
    onPage(browser, server.url, {}, async (page) => {
      await openLog(page, at(500_000));
      await page.locator(SCROLLER).focus();
      await page.keyboard.press('End');
      await assertShown(page, TOTAL);
      await page.keyboard.press('PageUp');
      const up = await topLine(page);
      assert.ok(up.line < TOTAL - 30 && up.line > TOTAL - 200, `after a page up the first line is ${up.line}`);
      await page.keyboard.press('Home');
      await assertShown(page, 1);
      await page.keyboard.press('PageDown');
      const down = await topLine(page);
      assert.ok(down.line > 10 && down.line < 100, `after a page down the first line is ${down.line}`);
      await page.keyboard.press('ArrowDown');
      assert.equal((await topLine(page)).line, down.line + 1);
      await assertWhole(page);
    }));

  test('the field of the line goes there, and past the end to the last one', () =>
    onPage(browser, server.url, {}, async (page) => {
      await openLog(page, at(1));
      await page.getByLabel('Line', { exact: true }).fill('900,000');
      await page.keyboard.press('Enter');
      await assertShown(page, 900_000);
      assert.equal(new URL(page.url()).searchParams.get('at'), 'train.log:900000');
      await page.getByLabel('Line', { exact: true }).fill('99999999');
      await page.keyboard.press('Enter');
      await assertShown(page, TOTAL);
    }));

  test('a line that is clicked is marked where it stands', () =>
    onPage(browser, server.url, {}, async (page) => {
      await openLog(page, at(700_000));
      await assertShown(page, 700_000);
      const before = await topLine(page);
      await page.getByRole('link', { name: 'Link to line 700005', exact: true }).click();
      await page.locator('li[data-place="train.log:700005"][aria-current="location"]').waitFor();
      assert.deepEqual(await topLine(page), before);
    }));

  test('on a phone', () =>
    onPage(browser, server.url, { viewport: PHONE }, async (page) => {
      await openLog(page, at(1_500_000));
      await assertShown(page, 1_500_000);
      await page.locator(SCROLLER).evaluate((element) => element.scrollTo(0, element.scrollHeight));
      await assertShown(page, TOTAL);
      await assertWhole(page);
      await screenshot(page, 'large-log-phone');
    }));
});

/**
 * Where a line is, from frame to frame, until it is so far down as it is to be and some frames after: pages scroll
 * smoothly, and late where the machine is busy.
 */
const placesUntil = (page, line, down) =>
  page.evaluate(
    async ([scroller, line, down]) => {
      const place = () => {
        const row = document.querySelector(`${scroller} li[value="${line}"]`);
        return row.getBoundingClientRect().top - row.closest('[data-log]').getBoundingClientRect().top;
      };
      const places = [place()];
      const deadline = performance.now() + 10_000;
      for (let after = 0; after < 12 && performance.now() < deadline; after += places.at(-1) >= down) {
        await new Promise(requestAnimationFrame);
        places.push(place());
      }
      return places;
    },
    [SCROLLER, line, down],
  );

describe('a log whose lines wrap', () => {
  const open = (page, line) => openLog(page, `/reports/${wrapped}?at=train.log:${line}&v=1`);

  test('does not jump when the lines before those in sight come', () =>
    onPage(browser, server.url, {}, async (page) => {
      await open(page, 2500);
      await assertShown(page, 2500);
      await page.locator(SCROLLER).hover();
      // However high the lines are that come in above, a turn of the wheel moves what is in sight by just that much.
      for (let turn = 0; turn < 40; turn += 1) {
        const mark = await topLine(page);
        await page.mouse.wheel(0, -60);
        const moved = (await placesUntil(page, mark.line, mark.y + 58)).map((place) => place - mark.y);
        const [least, most] = [Math.min(...moved), Math.max(...moved)];
        assert.ok(least >= 0 && most <= 62, `line ${mark.line} moved by ${least} to ${most} pixels`);
        assert.ok(moved.at(-1) >= 58, `line ${mark.line} only moved by ${moved.at(-1)} pixels`);
      }
      await assertWhole(page);
    }));

  test('ends at its end, by key and by scroll bar', () =>
    onPage(browser, server.url, {}, async (page) => {
      await open(page, 1);
      await page.locator(SCROLLER).evaluate((element) => element.scrollTo(0, element.scrollHeight));
      await assertShown(page, 5000);
      await assertWhole(page);
      await page.locator(SCROLLER).focus();
      await page.keyboard.press('Home');
      await assertShown(page, 1);
      await page.keyboard.press('End');
      await assertShown(page, 5000);
      await assertWhole(page);
    }));

  test('is gone through to its end by wheel alone', () =>
    onPage(browser, server.url, { viewport: PHONE }, async (page) => {
      await open(page, 4950);
      await page.locator(SCROLLER).hover();
      const last = page.locator('li[data-place="train.log:5000"]');
      // A page that is busy takes several turns for one.
      for (let turn = 0; turn < 80 || (turn < 400 && !(await last.isVisible())); turn += 1) {
        await page.mouse.wheel(0, 400);
        await page.waitForTimeout(20);
      }
      await page.mouse.wheel(0, 4000);
      await page.waitForTimeout(400);
      await assertShown(page, 5000);
      await assertWhole(page);
    }));
});
