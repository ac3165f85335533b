// Notifications of this browser, against a real server and test/pushbox.mjs:
//   node test/journey-push.mjs URL PASSWORD
// Chromium subscribes at the push service of its vendor, which tests cannot reach. So the
// subscription is a stand-in with real keys, and the message that the push service got is
// decrypted here and delivered to the service worker as the browser would do it.
import assert from 'node:assert/strict';
import { createDecipheriv, createECDH, hkdfSync, randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, patience } from './browser.mjs';
import { sitDown } from './person.mjs';

const [url, password] = process.argv.slice(2);
const person = await sitDown(url, password);
const { page, button, login, context } = person;
const received = `${process.env.WORK}/push`;
const host = /"([^"]+)"/.exec(readFileSync(`${process.env.WORK}/push.yaml`, 'utf8'))[1];

const browser = createECDH('prime256v1');
const keys = { p256dh: browser.generateKeys().toString('base64'), auth: randomBytes(16).toString('base64') };

/** Replaces the subscription of the push manager by one that is kept in local storage. */
function standIn({ endpoint, keys }) {
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
  const open = (applicationServerKey) => ({
    endpoint,
    options: { applicationServerKey: bytes(applicationServerKey) },
    getKey: (name) => bytes(keys[name]),
    async unsubscribe() {
      localStorage.removeItem('stand-in');
      return true;
    },
  });
  PushManager.prototype.getSubscription = async () => {
    const key = localStorage.getItem('stand-in');
    return key ? open(key) : null;
  };
  PushManager.prototype.subscribe = async ({ applicationServerKey, userVisibleOnly }) => {
    if (!userVisibleOnly) throw new Error('browsers refuse silent pushes');
    const key = applicationServerKey.replaceAll('-', '+').replaceAll('_', '/');
    localStorage.setItem('stand-in', key);
    return open(key);
  };
}

/** Waits until a check returns true. */
async function until(what, check) {
  for (const end = Date.now() + patience; !(await check()); await pause(100))
    assert.ok(Date.now() < end, `timed out: ${what}`);
}

/** Decrypts a message for this browser (RFC 8291). */
function decrypt(body) {
  const salt = body.subarray(0, 16);
  const sender = body.subarray(21, 86);
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), browser.getPublicKey(), sender]);
  const derive = (key, salt, info, length) => Buffer.from(hkdfSync('sha256', key, salt, info, length));
  const material = derive(browser.computeSecret(sender), Buffer.from(keys.auth, 'base64'), info, 32);
  const key = derive(material, salt, 'Content-Encoding: aes128gcm\0', 16);
  const decipher = createDecipheriv('aes-128-gcm', key, derive(material, salt, 'Content-Encoding: nonce\0', 12));
  decipher.setAuthTag(body.subarray(-16));
  const plain = Buffer.concat([decipher.update(body.subarray(86, -16)), decipher.final()]);
  return plain.subarray(0, plain.lastIndexOf(2)).toString();
}

/**
 * Delivers a message to the service worker and waits until it has displayed a notification.
 * Asking for the displayed notifications earlier can remove one: Chromium deletes those that
 * are stored but not yet on the screen.
 */
async function deliver(data) {
  const worker = context.serviceWorkers()[0] ?? (await context.waitForEvent('serviceworker'));
  await worker.evaluate(() => {
    const { registration } = self;
    const show = registration.showNotification;
    self.displayed = new Promise((resolve) => {
      registration.showNotification = (...args) => {
        const done = show.apply(registration, args);
        resolve(done);
        return done;
      };
    });
  });
  const devtools = await context.newCDPSession(page);
  const registration = new Promise((resolve) =>
    devtools.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) =>
      registrations.filter((r) => !r.isDeleted).forEach((r) => resolve(r.registrationId)),
    ),
  );
  await devtools.send('ServiceWorker.enable');
  await devtools.send('ServiceWorker.deliverPushMessage', { origin: url, registrationId: await registration, data });
  await worker.evaluate(() => self.displayed);
}

await person.go('push', async () => {
  await context.grantPermissions(['notifications'], { origin: url });
  await context.addInitScript(standIn, { endpoint: `http://${host}/push/1`, keys });
  await login('admin@example.com');
  await page.goto('/settings/notifications');
  const toggle = page.getByRole('switch', { name: 'Show notifications in this browser' });
  await expect(toggle).not.toBeChecked();
  await toggle.click();
  await button('Send test notification').click();
  await page.getByText('The test notification was sent.').waitFor();
  await person.reads();
  await until('the push service receives the message', () => existsSync(received));
  const data = decrypt(readFileSync(received));
  assert.equal(JSON.parse(data).title, 'Test notification');

  await deliver(data);
  const shown = () =>
    page.evaluate(async () => {
      const worker = await navigator.serviceWorker.ready;
      return (await worker.getNotifications()).map((n) => n.title);
    });
  assert.deepEqual(await shown(), ['Test notification']);

  await page.reload(); // the choice of the user stays
  await button('Send test notification').waitFor();
  await toggle.click();
  await button('Send test notification').waitFor({ state: 'hidden' });
  await expect(toggle).not.toBeChecked();
});
