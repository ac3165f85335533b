import { expect as playwright } from 'playwright/test';

// How long an action or a condition may take, in milliseconds: far more than it needs on a
// busy machine, because it ends a test that hangs and measures nothing.
export const patience = 120_000;

/** Assertions that wait until they hold. */
export const expect = playwright.configure({ timeout: patience });

// Starts the installed Chromium without its background requests.
export function launch(chromium) {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    env: { ...process.env, TMPDIR: '/tmp' }, // paths of Unix sockets have a length limit
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

/** Waits until a page has loaded its code and its first data, and has drawn them: no sign of loading in four frames. */
export async function settled(page) {
  await page.locator('main').first().waitFor();
  await page.evaluate(() => (window.framesAtRest = 0));
  await page.waitForFunction(() => {
    const loads = document.querySelector('#root[aria-busy=true], [role=status][aria-label=Loading]') !== null;
    window.framesAtRest = loads ? 0 : window.framesAtRest + 1;
    return window.framesAtRest > 3;
  });
}
