import { existsSync } from 'node:fs';
import { expect as playwright } from 'playwright/test';

// How long an action or a condition may take, in milliseconds: far more than it needs on a
// busy machine, because it ends a test that hangs and measures nothing.
export const patience = 120_000;

/** Assertions that wait until they hold. */
export const expect = playwright.configure({ timeout: patience });

// The Chromium without windows takes two thirds of the other one's processor time, and has no
// notifications. Not every system has it.
const chromiums = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];

/** The options of the installed Chromium, without its background requests. */
const options = {
  executablePath: process.env.CHROMIUM ?? chromiums.find(existsSync),
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
};

/** Connects to the Chromium of test/chromium.mjs if CHROMIUM_SERVER is set, or starts one. */
export function launch(chromium) {
  const server = process.env.CHROMIUM_SERVER;
  return server ? chromium.connect(server) : chromium.launch(options);
}

/** Starts a Chromium that several processes can connect to. */
export const serve = (chromium) => chromium.launchServer(options);

/** Opens a path as a link does, without loading the dashboard again, and waits until its page is drawn. */
export async function visit(page, path) {
  // TanStack Router sets the variable.
  await page.evaluate((href) => window.__TSR_ROUTER__.navigate({ href, ignoreBlocker: true }), path);
  await page.waitForFunction(() => {
    const { location, resolvedLocation } = window.__TSR_ROUTER__.state;
    return location.href === resolvedLocation?.href;
  });
}

/**
 * Waits until a page has loaded its code and its first data, and has drawn them: no sign of
 * loading in that many frames.
 */
export async function settled(page, frames = 4) {
  await page.locator('main').first().waitFor();
  await page.waitForFunction((frames) => {
    const loads = document.querySelector('#root[aria-busy=true], [role=status][aria-label=Loading]') !== null;
    window.framesAtRest = loads ? 0 : (window.framesAtRest ?? 0) + 1;
    if (window.framesAtRest < frames) return false;
    window.framesAtRest = 0; // for the next call
    return true;
  }, frames);
}
