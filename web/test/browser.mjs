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
  if (!server) await mendServer();
  const browser = await (server ? type.connect(server) : type.launch(options));
  if (used === browsers.firefox) await mendClient(browser);
  return browser;
}

/** Starts a browser that several processes can connect to. */
export async function serve() {
  await mendServer();
  return type.launchServer(options);
}

/**
 * Makes Playwright report downloads of blobs in Firefox, which sends their events without an id.
 * Playwright ignores such events. The process that starts the browser must call it before that.
 */
async function mendServer() {
  if (used !== browsers.firefox) return;
  const { default: core } = await import('playwright-core/lib/coreBundle');
  const events = core.utils.eventsHelper;
  const listen = events.addEventListener;
  events.addEventListener = (emitter, name, handler) =>
    listen(
      emitter,
      name,
      /^browsingContext\.download(WillBegin|End)$/.test(name)
        ? (event) => handler({ ...event, download: event.download ?? event.navigation ?? event.url })
        : handler,
    );
}

/** Gives Firefox what Playwright gives Chromium: text input that React receives, and a focus in every page. */
async function mendClient(browser) {
  const newContext = browser.newContext;
  browser.newContext = async function (...options) {
    const context = await newContext.apply(this, options);
    await context.addInitScript(mendInput);
    return context;
  };
  const page = await browser.newPage();
  focusBefore(page.locator('body'), ['check', 'click', 'fill', 'focus', 'press', 'pressSequentially', 'uncheck']);
  focusBefore(page.keyboard, ['down', 'insertText', 'press', 'type']);
  await page.close();
}

const mended = new WeakSet();

/** Makes the methods of an object's class move the focus into the document of their page first. */
function focusBefore(object, names) {
  const methods = Object.getPrototypeOf(object);
  if (mended.has(methods)) return;
  mended.add(methods);
  for (const name of names) {
    const method = methods[name];
    methods[name] = async function (...options) {
      await focusDocument(this._page ?? this.page()); // a keyboard has the field, a locator the method
      return method.apply(this, options);
    };
  }
}

/**
 * Makes fill() and insertText() type into fields. It runs in the page, before its scripts.
 * Playwright sets the value of a field with the setter of React, which then ignores the input event.
 */
function mendInput() {
  let insert; // set by Playwright
  const type = (text) =>
    document.activeElement?.matches('input, textarea')
      ? void document.execCommand('insertText', false, text)
      : insert(text);
  Object.defineProperty(window, '__pw_bidiInsertText', { get: () => insert && type, set: (f) => (insert = f) });
}

/**
 * Moves the focus of Firefox into the document of a page. Another page has the focus if it opened
 * later. The toolbar has it after Tab on the last element. Without the focus, Enter clicks no
 * button and :focus-visible matches no element.
 */
async function focusDocument(page) {
  const focused = () => page.evaluate(() => document.hasFocus());
  if (await focused()) return;
  await page.bringToFront();
  if (await focused()) return;
  // Only closing a tab moves the focus out of the toolbar.
  const opening = page.waitForEvent('popup');
  await page.evaluate(() => void window.open('about:blank'));
  await (await opening).close();
  await page.waitForFunction(() => document.hasFocus());
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
