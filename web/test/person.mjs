// A browser session of one user, for the journeys in this directory.
import assert from 'node:assert/strict';
import { launch, patience, settled } from './browser.mjs';
import { findings } from './look.mjs';

/** Opens a browser at url. Client errors of the API are not failures: journeys provoke some. */
export async function sitDown(url, password, fine = /status of (400|401|403|404|409|412)/) {
  const browser = await launch();
  const context = await browser.newContext({
    baseURL: url,
    viewport: { width: 1280, height: 900 },
    reducedMotion: 'reduce', // drawing without a GPU takes most of the processor time
  });
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  const complaints = [];
  page.on(
    'console',
    (m) =>
      m.type() === 'error' &&
      !/status of (400|401|403|404|409|412)|WebSocket .* failed: HTTP Authentication failed/.test(m.text()) &&
      !fine.test(m.text()) &&
      complaints.push(m.text()),
  );
  page.on('pageerror', (e) => complaints.push(e.message));
  const person = {
    context,
    page,
    /** Opens a page in a browser session of its own. */
    async elsewhere() {
      const other = await browser.newContext({ baseURL: url, reducedMotion: 'reduce' });
      other.setDefaultTimeout(patience);
      return other.newPage();
    },
    heading: (name) => page.getByRole('heading', { name, exact: true }).first(),
    button: (name) => page.getByRole('button', { name, exact: true }),
    shows: (text) => page.getByText(text).filter({ visible: true }).first().waitFor(),
    async login(email, secret = password) {
      await page.goto('/login');
      await page.getByLabel('Email').fill(email);
      await page.getByRole('textbox', { name: 'Password' }).fill(secret);
      await person.button('Sign in').click();
      await person.heading('Workspaces').waitFor();
    },
    /** Asserts that axe finds no accessibility violation on the page. */
    async reads(tab = page) {
      await tab.getByRole('heading', { level: 1 }).first().waitFor({ state: 'attached' });
      await settled(tab);
      assert.deepEqual(await findings(tab), []);
    },
    /** Runs a journey. On failure, prints the text of the page and saves a screenshot. */
    async go(name, journey) {
      try {
        await journey();
        assert.deepEqual(complaints, [], 'the browser logged errors');
      } catch (error) {
        const show = async () => {
          console.error(`at ${page.url()}:\n${await page.locator('body').innerText()}`);
          // In Firefox, Playwright adds the style "body {}" without a nonce here. The server then logs
          // a Content-Security-Policy violation, which is not the reason of the failure.
          await page.screenshot({ path: `${process.env.WORK ?? '.'}/${name}.png`, fullPage: true });
        };
        await show().catch((e) => console.error(`The page cannot be shown: ${e.message}`)); // error says why it failed
        throw error;
      } finally {
        await browser.close();
      }
    },
  };
  return person;
}
