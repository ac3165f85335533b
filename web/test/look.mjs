// Takes screenshots of pages at two widths and in both color schemes, saves them to
// web/screenshots and prints problems: node test/look.mjs URL EMAIL PASSWORD PATH...
// With SCREENSHOTS=off it takes none.
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { launch, patience, settled } from './browser.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/**
 * Returns the problems of a page: axe violations, of all rules or of those with these ids, and
 * content wider than the window.
 */
export async function findings(page, rules) {
  await page.evaluate(() =>
    Promise.all(
      document
        .getAnimations()
        .filter((a) => a.effect?.getTiming().iterations !== Infinity)
        .map((a) => a.finished.catch(() => {})),
    ),
  ); // wait for color transitions
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe);
  const options = { resultTypes: ['violations'], ...(rules && { runOnly: { type: 'rule', values: rules } }) };
  const { violations } = await page.evaluate((options) => window.axe.run(options), options);
  const wrong = violations.map(
    (v) =>
      `${v.impact} ${v.id}: ${v.nodes
        .map((n) => n.target.join(' '))
        .slice(0, 3)
        .join(' | ')}`,
  );
  const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  if (over > 0) wrong.push(`wide: ${over} px wider than the window`);
  return wrong;
}

/** The rules of axe that depend on colors. */
const ofColors = ['color-contrast', 'link-in-text-block'];

/** Whether to take screenshots. */
export const screenshots = process.env.SCREENSHOTS !== 'off';

/** The viewport widths and color schemes. */
export const looks = [360, 1440].flatMap((width) => ['light', 'dark'].map((colorScheme) => ({ width, colorScheme })));

/** The pages with a second picture, at 360 px and dark. */
const narrow = [
  '/@admin/looks?tab=builds',
  '/@admin/looks?tab=parameters',
  '/@nobody/nothing',
  '/deployment/insights',
  '/deployment/settings',
  '/deployment/sync',
  '/organizations/coder/groups/crew',
  '/organizations/coder/members',
  '/settings/appearance',
  '/settings/tokens',
  '/templates/coder/local/workspace',
  '/templates/coder/local?tab=embed',
  '/templates/coder/local?tab=files',
  '/templates/coder/local?tab=variables',
  '/templates/new?starter=local',
  '/workspaces?q=name%3Anothing',
];

/** Returns the name of the picture of a page in a look. Each page has one at 1440 px and light. */
function pictureOf(name, { width, colorScheme }) {
  const exists = width === 1440 ? colorScheme === 'light' : colorScheme === 'dark' && narrow.includes(name);
  return exists ? `${name} ${width} ${colorScheme}` : undefined;
}

/** Returns the file name of a screenshot. */
export const fileOf = (name, { width, colorScheme }) =>
  `${name.replace(/\W+/g, '_') || 'root'}-${width}-${colorScheme}.png`;

/** Returns the current route and its selected tab. Runs in the browser. */
function where() {
  const router = window.__TSR_ROUTER__; // set by TanStack Router
  const tabs = [...document.querySelectorAll('main [role=tab]')];
  return {
    routes: Object.values(router.routesById)
      .filter((r) => r.options.component && !r.children)
      .map((r) => r.fullPath),
    route: router.state.matches.at(-1).fullPath,
    tabs: tabs.map((t) => t.textContent),
    tab: tabs.find((t) => t.ariaSelected === 'true')?.textContent,
  };
}

/** Changes the width and the color scheme of an open page, and waits until it is drawn. */
async function change(page, { width, colorScheme }) {
  await page.setViewportSize({ width, height: 900 });
  await page.emulateMedia({ colorScheme });
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
}

/**
 * Opens pages in every look, and takes screenshots of them. Each page is loaded once, the first one in the
 * first look, the second one in the second, and so on. A page is a path, or { path, name,
 * ready, varies }: name is the base name of its files, and ready a selector to wait for. With
 * pictures, pages are compared with them, except those that look different in each run (varies).
 * Returns the problems, and the picture, route and tab of each page.
 */
export async function look(browser, url, credentials, pages, { pictures } = {}) {
  const wrong = [];
  const seen = [];
  if (screenshots) mkdirSync('screenshots', { recursive: true });
  const context = await browser.newContext();
  if (credentials) await context.request.post(`${url}/api/v2/users/login`, { data: credentials });
  const storageState = await context.storageState();
  await context.close();
  const page = await browser.newPage({ storageState, reducedMotion: 'reduce' });
  page.setDefaultTimeout(patience);
  let at = '';
  let as = looks[0];
  const say = (what) => wrong.push(`${at} ${as.width} ${as.colorScheme}: ${what}`);
  page.on('console', (m) => m.type() === 'error' && !/status of (400|401|403|404)/.test(m.text()) && say(m.text()));
  page.on('pageerror', (e) => say(e.message));
  await page.addInitScript(() =>
    document.addEventListener('transitionrun', (e) =>
      console.error(`transition of ${e.propertyName} despite reduced motion`),
    ),
  );
  for (const [i, p] of pages.entries()) {
    const { path, name = path, ready, varies } = typeof p === 'string' ? { path: p } : p;
    const widths = new Set(); // at each the second look has only other colors
    for (let k = 0; k < looks.length; k++) {
      as = looks[(i + k) % looks.length];
      await change(page, as);
      if (k === 0) {
        at = name;
        await page.goto(url + path);
      }
      if (ready) await page.locator(ready).first().waitFor();
      else await settled(page);
      if (screenshots) await page.screenshot({ path: `screenshots/${fileOf(name, as)}`, fullPage: true });
      const picture = pictures && !varies ? pictureOf(name, as) : undefined;
      const difference = picture && (await pictures.compare(page, picture));
      if (difference) say(difference);
      for (const what of await findings(page, widths.has(as.width) ? ofColors : undefined)) say(what);
      widths.add(as.width);
      seen.push({ name, picture, ...(await page.evaluate(where)) });
    }
  }
  await page.close();
  return { wrong, seen };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [url, email, password, ...paths] = process.argv.slice(2);
  const browser = await launch();
  for (const what of (await look(browser, url, { email, password }, paths)).wrong) console.log(what);
  await browser.close();
}
