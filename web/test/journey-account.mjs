// What somebody does about their own account in the browser, against a real server:
//   node test/journey-account.mjs URL PASSWORD forgot   a password that is forgotten, with a passcode by e-mail (test/mailbox.mjs)
//   node test/journey-account.mjs URL PASSWORD unsent   the same where the server sends no e-mail
//   node test/journey-account.mjs URL PASSWORD tokens   tokens that may less than oneself, of admin/keep and admin/other
//   node test/journey-account.mjs URL PASSWORD own      sessions, the quiet hours
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { sitDown } from './person.mjs';

const [url, password, which] = process.argv.slice(2);
const person = await sitDown(url, password);
const { context, page, heading, button, shows, login } = person;
const dialog = page.getByRole('dialog');
const field = (name) => page.getByRole('textbox', { name, exact: true });
const fresh = `${password}-fresh`;

/** A browser of its own, logged in. */
async function elsewhere(email) {
  const other = await (await context.browser().newContext({ baseURL: url })).newPage();
  await other.request.post('/api/v2/users/login', { data: { email, password } });
  await other.goto('/settings/account');
  await other.getByRole('heading', { name: 'Your account' }).waitFor();
  return other;
}

const journeys = {
  async forgot() {
    const elsewherePage = await elsewhere('member@example.com');
    await page.goto('/login');
    await page.getByRole('link', { name: 'Forgot your password?' }).click();
    await heading('Forgot your password?').waitFor();
    await person.reads();
    await field('Email').fill('member@example.com');
    await button('Send a passcode').click();
    await page.getByRole('status').getByText('an e-mail with a passcode is on its way').waitFor();
    await person.reads();
    const letter = `${process.env.WORK}/letter`;
    while (!existsSync(letter)) await pause(100);
    const text = readFileSync(letter, 'utf8');
    assert.match(text, /^To: .*member@example\.com/m);
    assert.ok(text.replaceAll('=\n', '').includes(`${url}/reset-password`), `it says where to give it:\n${text}`);
    const passcode = /^ {4}([A-Z0-9]{20,})$/m.exec(text)[1];

    await field('Passcode').fill('WRONG');
    await field('New password').fill('short');
    await page.getByText(/at least|short|weak|guess/i).first().waitFor(); // said while one types
    await field('New password').fill(fresh);
    await button('Set the password').click();
    await page.getByRole('alert').getByText('The e-mail or the passcode is wrong').waitFor();
    await field('Passcode').fill(` ${passcode.toLowerCase()} `); // as somebody copies it
    await button('Set the password').click();
    await shows('Your new password is set');
    assert.ok(!page.url().includes(passcode), 'a secret in the address');
    await elsewherePage.reload();
    await elsewherePage.getByRole('button', { name: 'Log in', exact: true }).waitFor(); // all sessions are over
    await field('Email').fill('member@example.com');
    await field('Password').fill(fresh);
    await button('Log in').click();
    await heading('Workspaces').waitFor();

    await page.goto('/reset-password'); // the passcode counts once; who has one need not ask
    await button('I have a passcode').click();
    await field('Email').fill('member@example.com');
    await field('Passcode').fill(passcode);
    await field('New password').fill(password);
    await button('Set the password').click();
    await page.getByRole('alert').getByText('ask for another').waitFor();
  },

  async unsent() {
    await page.goto('/reset-password');
    await field('Email').fill('member@example.com');
    await button('Send a passcode').click();
    await page.getByRole('alert').getByText('ask an administrator').waitFor();
    await page.getByRole('link', { name: 'Back to the login' }).click();
    await button('Log in').waitFor();
  },

  async tokens() {
    await login('admin@example.com');
    await page.goto('/settings/tokens');
    await button('New token').click();
    await dialog.getByRole('textbox', { name: 'Name' }).fill('x'.repeat(10_000));
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByRole('alert').waitFor(); // refused, in words
    await dialog.getByRole('textbox', { name: 'Name' }).fill('narrow');
    const scopes = dialog.getByRole('combobox', { name: 'Scopes' }).or(dialog.getByLabel('Scopes')).first();
    await scopes.click();
    await page.keyboard.press('Backspace'); // takes coder:all away
    await scopes.fill('workspace:read');
    await page.getByRole('option', { name: 'workspace:read', exact: true }).click();
    const only = dialog.getByRole('combobox', { name: 'Only for' }).or(dialog.getByLabel('Only for')).first();
    await only.click();
    await only.fill('keep');
    await page.getByRole('option', { name: 'admin/keep' }).click();
    await page.keyboard.press('Escape');
    await person.reads();
    await dialog.getByRole('button', { name: 'Create' }).click();
    const token = await field('Secret').inputValue();
    await button('Copy').waitFor();
    await page.keyboard.press('Escape');
    const row = page.getByRole('row', { name: /narrow/ });
    await row.getByText('workspace:read').waitFor();
    await row.getByText('workspace keep').waitFor();
    const ask = (path, init) => fetch(`${url}/api/v2${path}`, { headers: { 'Coder-Session-Token': token }, ...init });
    const list = await (await ask('/workspaces')).json();
    assert.deepEqual(list.workspaces.map((w) => w.name), ['keep']);
    const [keep] = list.workspaces;
    assert.equal((await ask('/users/admin/workspace/other')).status, 404);
    assert.equal((await ask(`/workspaces/${keep.id}`)).status, 200);
    const stop = await ask(`/workspaces/${keep.id}/builds`, { method: 'POST', body: '{"transition": "stop"}' });
    assert.ok([403, 404].includes(stop.status), `stopping answered ${stop.status}`);
    assert.deepEqual(await (await ask('/templates')).json(), []);
    await row.getByRole('button', { name: 'Delete narrow' }).click();
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
    await shows('You have no token');
    assert.equal((await ask('/workspaces')).status, 401);
  },

  async own() {
    await login('member@example.com');
    const other = await elsewhere('member@example.com');
    const third = await elsewhere('member@example.com');
    await page.goto('/settings/security');
    await page.getByText('this one', { exact: true }).waitFor();
    const ends = page.getByRole('button', { name: /^End the session/ });
    const before = await ends.count();
    assert.ok(before >= 2, `${before} other sessions are shown`);
    await ends.first().click();
    await page.waitForFunction((n) => document.querySelectorAll('button[aria-label^="End the session"]').length === n, before - 1);
    await button('End all others').click();
    await ends.first().waitFor({ state: 'detached' });
    for (const tab of [other, third]) {
      await tab.reload();
      await tab.getByRole('button', { name: 'Log in', exact: true }).waitFor();
    }
    await page.getByText('this one', { exact: true }).waitFor();

    await page.getByRole('tab', { name: 'Quiet hours' }).click();
    await shows('as for everybody who chose no other time');
    await page.getByLabel('Begin at').fill('22:30');
    await page.getByRole('combobox', { name: 'Time zone' }).fill('Lisbon');
    await page.getByRole('option', { name: 'Europe/Lisbon' }).click();
    await person.reads();
    await button('Save').click();
    await shows('22:30 (Europe/Lisbon)');
    await page.reload();
    await shows('22:30 (Europe/Lisbon)');
    await button('As for everybody').click();
    await shows('as for everybody who chose no other time');
  },
};

await person.go(`account-${which}`, journeys[which]);
