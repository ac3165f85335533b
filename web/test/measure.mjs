// What the measuring scripts share: a browser and the session of a user.
import { launch } from './browser.mjs';

export const [url, email, password, ...rest] = process.argv.slice(2);

/** The selector of the first row of a list. */
export const row = 'main tbody tr';

export const browser = await launch();
const session = await browser.newContext({ baseURL: url });
await session.request.post('/api/v2/users/login', { data: { email, password } });
const options = { baseURL: url, storageState: await session.storageState(), viewport: { width: 1440, height: 900 } };
await session.close();

/** Runs f with a page of the user that has an empty cache. An action in it may take patience milliseconds. */
export async function fresh(patience, f) {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(patience);
  try {
    return await f(await context.newPage());
  } finally {
    await context.close();
  }
}

/**
 * Opens a path and returns when a frame has displayed the selector. In the page, window.shown is then
 * the time of this frame, and window.interactive becomes that of the first idle moment after it: the
 * page can answer input then. Both are in milliseconds since the page was requested.
 */
export async function open(page, path, selector) {
  await page.addInitScript((selector) => {
    const look = () => {
      const found = document.querySelector(selector)?.getBoundingClientRect().height > 0;
      if (!found) return requestAnimationFrame(look);
      requestAnimationFrame(() => {
        window.shown = performance.now();
        requestIdleCallback(() => (window.interactive = performance.now()));
      });
    };
    requestAnimationFrame(look);
  }, selector);
  try {
    await page.goto(path, { waitUntil: 'commit' });
    await page.waitForFunction(() => window.shown);
  } catch (error) {
    throw new Error(`${path} does not show ${selector}: ${error.message}\n${await page.locator('body').innerText()}`);
  }
}

export const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

/** Returns the median of five results, after one that warms up the server. */
export async function repeated(measure) {
  await measure();
  const values = [];
  for (let i = 0; i < 5; i++) values.push(await measure());
  return median(values);
}

/** Prints a line of JSON for each measure, an object by names: its name and its value or error. */
export async function report(measures) {
  for (const [name, measure] of Object.entries(measures)) {
    try {
      console.log(JSON.stringify({ name, value: await measure() }));
    } catch (error) {
      console.log(JSON.stringify({ name, error: error.message.slice(0, 1000) }));
    }
  }
  await browser.close();
}
