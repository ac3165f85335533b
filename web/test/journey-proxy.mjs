// Apps and terminals through a workspace proxy, against a real server and a real proxy:
//   node test/journey-proxy.mjs URL PASSWORD PROXY chosen  the selected proxy serves an app and a terminal
//   node test/journey-proxy.mjs URL PASSWORD PROXY dead    the selected proxy is unhealthy: the server serves them
import assert from 'node:assert/strict';
import { expect } from './browser.mjs';
import { sitDown } from './person.mjs';

const [url, password, proxy, which] = process.argv.slice(2);
const person = await sitDown(url, password, /status of 502/);
const { context, page, login } = person;
const region = page.getByRole('button', { name: /^Region: / });
const link = page.getByRole('link', { name: 'inside' });

const journeys = {
  async chosen() {
    await login('admin@example.com');
    await page.goto('/@admin/dev');
    await region.waitFor();
    await person.reads();
    await region.click();
    await page.getByRole('menuitem', { name: 'Sydney' }).click();
    await expect(link).toHaveAttribute('href', `${proxy}/@admin/dev.main/apps/inside/`);
    await page.reload(); // the browser stores the selection
    await page.getByRole('button', { name: 'Region: Sydney' }).waitFor();
    const app = await context.newPage();
    await app.goto(await link.getAttribute('href'));
    await app.getByText('GET / HTTP').waitFor(); // signed in automatically
    assert.equal(new URL(app.url()).origin, proxy);
    await app.close();

    const sockets = [];
    page.on('websocket', (s) => sockets.push(s.url()));
    await page.goto('/@admin/dev/terminal');
    await page.locator('[data-terminal=open]').waitFor();
    assert.ok(
      sockets.some((s) => s.startsWith(proxy.replace('http', 'ws'))),
      `terminals are at ${sockets}`,
    );
    await page.keyboard.type('echo by-$((40+2))\n');
    await page.locator('.xterm-rows').getByText('by-42').first().waitFor();
  },
  async dead() {
    await login('admin@example.com');
    await page.evaluate(() => localStorage.setItem('region', 'sydney'));
    await page.goto('/@admin/dev');
    await region.waitFor();
    await expect(link).toHaveAttribute('href', '/@admin/dev.main/apps/inside/');
    await region.click();
    await expect(page.getByRole('menuitem', { name: 'Sydney unhealthy' })).toBeDisabled();
    await page.goto('/@admin/dev/terminal');
    await page.locator('[data-terminal=open]').waitFor();
  },
};
await person.go(`proxy-${which}`, journeys[which]);
