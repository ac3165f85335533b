// The browser of the tests: Chromium, or Firefox with CODER_E2E_BROWSER=firefox.
import { existsSync } from 'node:fs';
import { chromium, firefox } from 'playwright';
import { expect as playwright } from 'playwright/test';

// How long an action or a condition may take, in milliseconds: far more than it needs on a
// busy machine, because it ends a test that hangs and measures nothing.
export const patience = 120_000;

/** Assertions that wait until they hold. */
export const expect = playwright.configure({ timeout: patience });

// The Chromium without windows takes two thirds of the other one's processor time, and has no
// notifications. Not every system has it.
const chromiums = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];

const env = { ...process.env, TMPDIR: '/tmp' }; // paths of Unix sockets have a length limit

/** The installed browsers, without their background requests. */
const browsers = {
  chromium: {
    type: chromium,
    options: {
      executablePath: process.env.CHROMIUM ?? chromiums.find(existsSync),
      env,
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    },
  },
  firefox: {
    type: firefox,
    options: {
      channel: 'moz-firefox', // not Playwright's own Firefox
      executablePath: process.env.FIREFOX ?? ['/usr/bin/firefox-esr', '/usr/bin/firefox'].find(existsSync),
      env,
      firefoxUserPrefs: { 'ui.prefersReducedMotion': 1 },
    },
  },
};
const name = process.env.CODER_E2E_BROWSER || 'chromium';
const used = browsers[name];
if (!used)
  throw new Error(`CODER_E2E_BROWSER=${name} is no browser of the tests: use ${Object.keys(browsers).join(' or ')}`);
const { type, options } = used;

/** Connects to the browser of test/serve.mjs if CODER_E2E_BROWSER_SERVER is set, or starts one. */
export async function launch() {
  const server = process.env.CODER_E2E_BROWSER_SERVER;
  const browser = await (server ? type.connect(server) : type.launch(options));
  if (used === browsers.firefox) await mendFill(browser);
  return browser;
}

/** Starts a browser that several processes can connect to. */
export const serve = () => type.launchServer(options);

const mended = new WeakSet();

/**
 * Makes fill() of locators work in Firefox. There, Playwright sets the value of a field with the
 * setter of React, which then takes the following event for one without a change.
 */
async function mendFill(browser) {
  const page = await browser.newPage();
  const locator = Object.getPrototypeOf(page.locator('body')); // the class of all locators
  await page.close();
  if (mended.has(locator)) return;
  mended.add(locator);
  const fill = locator.fill;
  locator.fill = async function (value, options) {
    await fill.call(this, value, options); // it also waits until the field is editable
    await this.evaluate((field, value) => {
      const native = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value');
      if (!native) return; // an editable element without a value
      field.value = '';
      native.set.call(field, value);
      field.dispatchEvent(new Event('input', { bubbles: true }));
    }, value);
  };
}

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
