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

const looks = [360, 1440].flatMap((width) => ['light', 'dark'].map((colorScheme) => ({ width, colorScheme })));

/** Takes screenshots of pages in every look, and gives what is wrong with them. */
export async function look(browser, url, credentials, paths) {
  const wrong = [];
  mkdirSync('screenshots', { recursive: true });
  const context = await browser.newContext();
  if (credentials) await context.request.post(`${url}/api/v2/users/login`, { data: credentials });
  const storageState = await context.storageState();
  await context.close();
  for (const { width, colorScheme } of looks) {
    const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme, storageState });
    let path = '';
    const say = (what) => wrong.push(`${path} ${width} ${colorScheme}: ${what}`);
    page.on('console', (m) => m.type() === 'error' && !/status of (401|403|404)/.test(m.text()) && say(m.text()));
    page.on('pageerror', (e) => say(e.message));
    for (path of paths) {
      await page.goto(url + path);
      await page.locator('main').first().waitFor();
      await page.waitForLoadState('networkidle');
      await page.screenshot({ path: `screenshots/${path.replace(/\W+/g, '_') || 'root'}-${width}-${colorScheme}.png`, fullPage: true });
      for (const what of await findings(page)) say(what);
    }
    await page.close();
  }
  return wrong;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [url, email, password, ...paths] = process.argv.slice(2);
  const browser = await launch(chromium);
  for (const what of await look(browser, url, { email, password }, paths)) console.log(what);
  await browser.close();
}
