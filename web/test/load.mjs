// Measures the time until a page displays its first row, with an empty browser cache:
// node test/load.mjs URL EMAIL PASSWORD [NAME...] prints a line of JSON per page, with the
// median of five visits in milliseconds, or the error. Without names, it visits all pages.
import { launch } from './browser.mjs';

const [url, email, password, ...only] = process.argv.slice(2);
const row = 'main tbody tr';
const pages = [
  ['workspaces', '/workspaces?q=all', row],
  ['workspaces_found', '/workspaces?q=status%3Arunning+9999', row],
  ['workspaces_sorted', '/workspaces?q=all&sort=-last_used', row],
  ['templates', '/templates', 'main a[href$="/workspace"]'],
  ['organizations', '/organizations', 'main a[href*="/organizations/"]'],
  ['members', '/organizations/coder/members', row],
  ['groups', '/organizations/coder/groups', row],
  ['provisioners', '/organizations/coder/provisioners', row],
  ['queue', '/organizations/coder/queue', 'main p'],
  ['jobs', '/organizations/coder/jobs', row],
  ['users', '/users', row],
  ['audit', '/audit', 'main time'],
];
const browser = await launch();
const session = await browser.newContext({ baseURL: url });
await session.request.post('/api/v2/users/login', { data: { email, password } });
const storageState = await session.storageState();

async function visit(path, shows) {
  const context = await browser.newContext({ baseURL: url, storageState, viewport: { width: 1440, height: 900 } });
  context.setDefaultTimeout(10_000);
  const page = await context.newPage();
  await page.addInitScript((selector) => {
    const look = () => {
      const found = document.querySelector(selector)?.getBoundingClientRect().height > 0;
      if (found) requestAnimationFrame(() => (window.shown = performance.now()));
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  }, shows);
  try {
    await page.goto(path, { waitUntil: 'commit' });
    return await (await page.waitForFunction(() => window.shown)).jsonValue();
  } catch (error) {
    throw new Error(`${path} does not show ${shows}: ${error.message}\n${await page.locator('body').innerText()}`);
  } finally {
    await context.close();
  }
}

for (const [name, path, shows] of pages) {
  if (only.length > 0 && !only.includes(name)) continue;
  try {
    await visit(path, shows); // warms up the server
    const times = [];
    for (let i = 0; i < 5; i++) times.push(await visit(path, shows));
    console.log(JSON.stringify({ name, value: times.sort((a, b) => a - b)[2] }));
  } catch (error) {
    console.log(JSON.stringify({ name, error: error.message.slice(0, 1000) }));
  }
}
await browser.close();
