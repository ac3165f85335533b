// A person at a browser, for the journeys beside this file.
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';
import { launch } from './browser.mjs';
import { findings } from './look.mjs';

/** Opens a browser at url. Refusals of the server are no complaints: journeys provoke some. */
export async function sitDown(url, password, fine = /status of (400|401|403|404|409|412)/) {
  const browser = await launch(chromium);
  const context = await browser.newContext({ baseURL: url, viewport: { width: 1280, height: 900 } });
  context.setDefaultTimeout(30_000);
  const page = await context.newPage();
  const complaints = [];
  page.on('console', (m) => m.type() === 'error' && !/status of (400|401|403|404|409|412)/.test(m.text()) && !fine.test(m.text()) && complaints.push(m.text()));
  page.on('pageerror', (e) => complaints.push(e.message));
  const person = {
    context,
    page,
    heading: (name) => page.getByRole('heading', { name, exact: true }).first(),
    button: (name) => page.getByRole('button', { name, exact: true }),
    shows: (text) => page.getByText(text).first().waitFor(),
    async login(email, secret = password) {
      await page.goto('/login');
      await page.getByLabel('Email').fill(email);
      await page.getByRole('textbox', { name: 'Password' }).fill(secret);
      await person.button('Log in').click();
      await person.heading('Workspaces').waitFor();
    },
    /** Nothing on the page is hard to use for who sees, hears or moves otherwise. */
    async reads(tab = page) {
      await tab.getByRole('heading', { level: 1 }).first().waitFor({ state: 'attached' });
      assert.deepEqual(await findings(tab), []);
    },
    /** Runs a journey; when it fails, what the page shows is told and kept. */
    async go(name, journey) {
      try {
        await journey();
        assert.deepEqual(complaints, [], 'the browser complained');
      } catch (error) {
        await page.screenshot({ path: `${process.env.WORK ?? '.'}/${name}.png`, fullPage: true });
        console.error(`at ${page.url()}:\n${await page.locator('body').innerText()}`);
        throw error;
      } finally {
        await browser.close();
      }
    },
  };
  return person;
}
