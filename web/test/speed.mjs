// Measures how fast the dashboard is in use: node test/speed.mjs URL EMAIL PASSWORD prints a line
// of JSON per value, or an error.
//
//   first_page         kilobytes of scripts, styles and fonts that the list of workspaces requests
//                      before its first row, with Brotli, which browsers accept over HTTPS
//   interactive        milliseconds until this page with an empty cache displays its first row and
//                      answers input, on a processor that Chromium slows down four times
//   route_change       milliseconds from a click on a link until the page displays its first row,
//                      if its data is cached: the median of the slowest page
//   layout_shift       how much content moves while pages load: the largest score of a page
//                      (https://web.dev/articles/cls)
import { get } from 'node:http';
import { settled } from './browser.mjs';
import { fresh, median, open, repeated, report, row } from './measure.mjs';

const list = '/workspaces?q=all';
const patience = 30_000;

/** Returns the size of a file in bytes as the server sends it with Brotli. */
const size = (address) =>
  new Promise((done, fail) =>
    get(address, { headers: { 'Accept-Encoding': 'br' } }, (answer) => {
      let bytes = 0;
      answer.on('data', (part) => (bytes += part.length));
      answer.on('end', () => done(bytes));
      answer.on('error', fail);
    }).on('error', fail),
  );

await report({
  first_page: () =>
    fresh(patience, async (page) => {
      await open(page, list, row);
      const loaded = await page.evaluate(() =>
        performance
          .getEntriesByType('resource')
          .filter((e) => e.startTime < window.shown && e.name.includes('/assets/'))
          .map((e) => e.name),
      );
      let bytes = 0;
      for (const name of loaded) bytes += await size(name);
      return bytes / 1000;
    }),

  interactive: () =>
    repeated(() =>
      fresh(patience, async (page) => {
        const devtools = await page.context().newCDPSession(page);
        await devtools.send('Emulation.setCPUThrottlingRate', { rate: 4 });
        await open(page, list, row);
        return (await page.waitForFunction(() => window.interactive)).jsonValue();
      }),
    ),

  route_change: () =>
    fresh(patience, async (page) => {
      const visits = 5;
      const links = ['/templates', '/workspaces', '/users', '/audit'];
      const shows = { '/templates': 'main a[href$="/workspace"]', '/audit': 'main time' };
      const times = new Map(links.map((path) => [path, []]));
      await page.goto('/audit');
      for (let i = 0; i <= visits; i++) {
        for (const path of links) {
          const link = page.getByRole('navigation', { name: 'Main' }).locator(`[href="${path}"]`);
          const time = await link.evaluate(
            (a, selector) =>
              new Promise((done) => {
                const from = performance.now();
                const before = document.querySelector('main').firstElementChild;
                a.click();
                const look = () => {
                  const found = before.isConnected ? null : document.querySelector(selector);
                  if (found?.getBoundingClientRect().height > 0) done(performance.now() - from);
                  else requestAnimationFrame(look);
                };
                requestAnimationFrame(look);
              }),
            shows[path] ?? row,
          );
          if (i > 0) times.get(path).push(time); // the first visit loads code and data
          await settled(page);
        }
      }
      return Math.max(...[...times.values()].map(median));
    }),

  layout_shift: async () => {
    const scores = [];
    for (const path of [list, '/templates', '/users', '/audit', '/deployment/overview', '/settings/account']) {
      scores.push(
        await fresh(patience, async (page) => {
          await page.addInitScript(() => {
            window.shift = 0;
            new PerformanceObserver((list) => {
              for (const e of list.getEntries()) if (!e.hadRecentInput) window.shift += e.value;
            }).observe({ type: 'layout-shift', buffered: true });
          });
          await page.goto(path);
          await settled(page, 30);
          const shift = await page.evaluate(() => window.shift);
          if (process.env.DETAILS) console.error(path, shift);
          return shift;
        }),
      );
    }
    return Math.max(...scores);
  },
});
