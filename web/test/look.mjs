// Writes a screenshot of pages, at two widths and in both colour schemes, to
// web/screenshots: node test/look.mjs URL EMAIL PASSWORD PATH...
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';
import { launch } from './browser.mjs';

const [url, email, password, ...paths] = process.argv.slice(2);
const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const browser = await launch(chromium);
mkdirSync('screenshots', { recursive: true });
for (const colorScheme of ['light', 'dark']) {
  for (const width of [360, 1440]) {
    const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme, bypassCSP: false });
    page.on('console', (m) => m.type() === 'error' && console.log('console:', m.text()));
    page.on('pageerror', (e) => console.log('page error:', e.message));
    await page.request.post(`${url}/api/v2/users/login`, { data: { email, password } });
    for (const path of paths) {
      await page.goto(url + path, { waitUntil: 'networkidle' });
      await page.screenshot({ path: `screenshots/${path.replace(/\W+/g, '_') || 'root'}-${width}-${colorScheme}.png`, fullPage: true });
      await page.evaluate((await import('node:fs')).readFileSync(axe, 'utf8'));
      const { violations } = await page.evaluate(() => window.axe.run());
      for (const v of violations) console.log(path, width, colorScheme, v.impact, v.id, v.nodes.map((n) => n.target.join(' ')).slice(0, 3).join(' | '));
    }
    await page.close();
  }
}
await browser.close();
