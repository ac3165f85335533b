// Pages as people see them. As a command, it writes a screenshot of pages, at two
// widths and in both colour schemes, to web/screenshots, and says what is wrong
// with them: node test/look.mjs URL EMAIL PASSWORD PATH...
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { launch } from './browser.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What is wrong with a page as it is now: what axe finds, and being wider than the window. */
export async function findings(page) {
  await page.evaluate(() => Promise.all(document.getAnimations().filter((a) => a.effect?.getTiming().iterations !== Infinity).map((a) => a.finished.catch(() => {})))); // colours while they fade are none
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run());
  const wrong = violations.map((v) => `${v.impact} ${v.id}: ${v.nodes.map((n) => n.target.join(' ')).slice(0, 3).join(' | ')}`);
  const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  if (over > 0) wrong.push(`wide: ${over} px wider than the window`);
  return wrong;
}

/** How each page is looked at. */
export const looks = [360, 1440].flatMap((width) => ['light', 'dark'].map((colorScheme) => ({ width, colorScheme })));

/** The file of a page's screenshot. */
export const fileOf = (name, { width, colorScheme }) => `${name.replace(/\W+/g, '_') || 'root'}-${width}-${colorScheme}.png`;

/** Which page of the router is shown, and which of its tabs. */
function where() {
  const router = window.__TSR_ROUTER__; // put there by TanStack Router
  const tabs = [...document.querySelectorAll('main [role=tab]')];
  return {
    routes: Object.values(router.routesById).filter((r) => r.options.component && !r.children).map((r) => r.fullPath),
    route: router.state.matches.at(-1).fullPath,
    tabs: tabs.map((t) => t.textContent),
    tab: tabs.find((t) => t.ariaSelected === 'true')?.textContent,
  };
}

/**
 * Takes screenshots of pages in every look. A page is a path, or { path, name,
 * ready }: name is that of its files, and ready a selector of what has to be
 * there first. Gives what is wrong with them, and what was seen of each (where).
 */
export async function look(browser, url, credentials, pages) {
  const wrong = [];
  const seen = [];
  mkdirSync('screenshots', { recursive: true });
  const context = await browser.newContext();
  if (credentials) await context.request.post(`${url}/api/v2/users/login`, { data: credentials });
  const storageState = await context.storageState();
  await context.close();
  for (const each of looks) {
    const page = await browser.newPage({ viewport: { width: each.width, height: 900 }, colorScheme: each.colorScheme, storageState });
    let at = '';
    const say = (what) => wrong.push(`${at} ${each.width} ${each.colorScheme}: ${what}`);
    page.on('console', (m) => m.type() === 'error' && !/status of (400|401|403|404)/.test(m.text()) && say(m.text()));
    page.on('pageerror', (e) => say(e.message));
    for (const p of pages) {
      const { path, name = path, ready } = typeof p === 'string' ? { path: p } : p;
      at = name;
      await page.goto(url + path);
      await page.locator('main').first().waitFor();
      if (ready) await page.locator(ready).first().waitFor();
      await page.waitForLoadState('networkidle');
      await page.screenshot({ path: `screenshots/${fileOf(name, each)}`, fullPage: true });
      for (const what of await findings(page)) say(what);
      seen.push({ name, ...(await page.evaluate(where)) });
    }
    await page.close();
  }
  return { wrong, seen };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [url, email, password, ...paths] = process.argv.slice(2);
  const browser = await launch(chromium);
  for (const what of (await look(browser, url, { email, password }, paths)).wrong) console.log(what);
  await browser.close();
}
