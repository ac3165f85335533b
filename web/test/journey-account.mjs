// The account settings, against a real server:
//   node test/journey-account.mjs URL PASSWORD forgot   reset a password by email (test/mailbox.mjs)
//   node test/journey-account.mjs URL PASSWORD unsent   the same without an email server
//   node test/journey-account.mjs URL PASSWORD tokens   limited tokens, with admin/keep and admin/other
//   node test/journey-account.mjs URL PASSWORD own      sessions, quiet hours and daily emails
//   node test/journey-account.mjs URL PASSWORD secrets  the dialogs of user secrets
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { sitDown } from './person.mjs';

const [url, password, which] = process.argv.slice(2);
const person = await sitDown(url, password);
const { page, heading, button, shows, login } = person;
const dialog = page.getByRole('dialog');
const field = (name) => page.getByRole('textbox', { name, exact: true });
const fresh = `${password}-fresh`;

/** Opens a separate browser session. */
async function elsewhere(email) {
  const other = await person.elsewhere();
  await other.request.post('/api/v2/users/login', { data: { email, password } });
  await other.goto('/settings/account');
  await other.getByRole('heading', { name: 'Account settings' }).waitFor();
  return other;
}

const journeys = {
  async forgot() {
    const elsewherePage = await elsewhere('member@example.com');
    await page.goto('/login');
    await page.getByRole('link', { name: 'Forgot your password?' }).click();
    await heading('Reset your password').waitFor();
    await person.reads();
    await field('Email').fill('member@example.com');
    await button('Send passcode').click();
    await page.getByRole('status').getByText('a passcode was sent').waitFor();
    await person.reads();
    const letter = `${process.env.WORK}/letter`;
    while (!existsSync(letter)) await pause(100);
    const text = readFileSync(letter, 'utf8');
    assert.match(text, /^To: .*member@example\.com/m);
    assert.ok(text.replaceAll('=\n', '').includes(`${url}/reset-password`), `the email links to the page:\n${text}`);
    const passcode = /^ {4}([A-Z0-9]{20,})$/m.exec(text)[1];

    await field('Passcode').fill('WRONG');
    await field('New password').fill('short');
    await page
      .getByText(/at least|short|weak|guess/i)
      .first()
      .waitFor(); // validated while typing
    await field('New password').fill(fresh);
    await button('Set password').click();
    await page
      .getByRole('alert')
      .getByText('The email or the passcode is wrong, or the passcode has expired.')
      .waitFor();
    await field('Passcode').fill(` ${passcode.toLowerCase()} `); // spaces and case do not matter
    await button('Set password').click();
    await shows('Password changed');
    assert.ok(!page.url().includes(passcode), 'a secret in the address');
    await elsewherePage.reload();
    await elsewherePage.getByRole('button', { name: 'Sign in', exact: true }).waitFor(); // all sessions have ended
    await field('Email').fill('member@example.com');
    await field('Password').fill(fresh);
    await button('Sign in').click();
    await heading('Workspaces').waitFor();

    await page.goto('/reset-password'); // a passcode works once
    await button('I have a passcode').click();
    await field('Email').fill('member@example.com');
    await field('Passcode').fill(passcode);
    await field('New password').fill(password);
    await button('Set password').click();
    await page
      .getByRole('alert')
      .getByText('The email or the passcode is wrong, or the passcode has expired.')
      .waitFor();
  },

  async unsent() {
    await page.goto('/reset-password');
    await field('Email').fill('member@example.com');
    await button('Send passcode').click();
    await page
      .getByRole('alert')
      .getByText('This deployment does not send email. Ask an administrator to reset your password.')
      .waitFor();
    await page.getByRole('link', { name: 'Back to sign-in' }).click();
    await button('Sign in').waitFor();
  },

  async tokens() {
    await login('admin@example.com');
    await page.goto('/settings/tokens');
    await button('Create token').click();
    await dialog.getByRole('textbox', { name: 'Name' }).fill('x'.repeat(10_000));
    await dialog.getByRole('button', { name: 'Create token' }).click();
    await dialog.getByRole('alert').waitFor(); // the name is too long
    await dialog.getByRole('textbox', { name: 'Name' }).fill('narrow');
    const scopes = dialog.getByRole('combobox', { name: 'Scopes' }).or(dialog.getByLabel('Scopes')).first();
    await scopes.click();
    await page.keyboard.press('Backspace'); // removes coder:all
    await scopes.fill('workspace:read');
    await page.getByRole('option', { name: 'workspace:read', exact: true }).click();
    const only = dialog.getByRole('combobox', { name: 'Resources' }).or(dialog.getByLabel('Resources')).first();
    await only.click();
    await only.fill('keep');
    await page.getByRole('option', { name: 'admin/keep' }).click();
    await page.keyboard.press('Escape');
    await person.reads();
    await dialog.getByRole('button', { name: 'Create token' }).click();
    const token = await field('Secret').inputValue();
    await button('Copy').waitFor();
    await page.keyboard.press('Escape');
    const row = page.getByRole('row', { name: /narrow/ });
    await row.getByText('workspace:read').waitFor();
    await row.getByText('workspace keep').waitFor();
    const ask = (path, init) => fetch(`${url}/api/v2${path}`, { headers: { 'Coder-Session-Token': token }, ...init });
    const list = await (await ask('/workspaces')).json();
    assert.deepEqual(
      list.workspaces.map((w) => w.name),
      ['keep'],
    );
    const [keep] = list.workspaces;
    assert.equal((await ask('/users/admin/workspace/other')).status, 404);
    assert.equal((await ask(`/workspaces/${keep.id}`)).status, 200);
    const stop = await ask(`/workspaces/${keep.id}/builds`, { method: 'POST', body: '{"transition": "stop"}' });
    assert.ok([403, 404].includes(stop.status), `stopping answered ${stop.status}`);
    assert.deepEqual(await (await ask('/templates')).json(), []);
    await row.getByRole('button', { name: 'Delete narrow' }).click();
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
    await shows('No tokens');
    assert.equal((await ask('/workspaces')).status, 401);
  },

  async own() {
    await login('member@example.com');
    const other = await elsewhere('member@example.com');
    const third = await elsewhere('member@example.com');
    await page.goto('/settings/security');
    await page.getByText('Current session', { exact: true }).waitFor();
    const ends = page.getByRole('button', { name: /^Sign out session/ });
    const before = await ends.count();
    assert.ok(before >= 2, `${before} other sessions are shown`);
    await ends.first().click();
    await page.waitForFunction(
      (n) => document.querySelectorAll('button[aria-label^="Sign out session"]').length === n,
      before - 1,
    );
    await button('Sign out other sessions').click();
    await ends.first().waitFor({ state: 'detached' });
    for (const tab of [other, third]) {
      await tab.reload();
      await tab.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
    }
    await page.getByText('Current session', { exact: true }).waitFor();

    await page.getByRole('tab', { name: 'Quiet hours' }).click();
    await shows('This is the deployment default');
    await page.getByLabel('Start time').fill('22:30');
    await page.getByRole('combobox', { name: 'Time zone' }).fill('Lisbon');
    await page.getByRole('option', { name: 'Europe/Lisbon' }).click();
    await person.reads();
    await button('Save').click();
    await shows('22:30 (Europe/Lisbon)');
    await page.reload();
    await shows('22:30 (Europe/Lisbon)');
    await button('Reset to default').click();
    await shows('This is the deployment default');

    await page.getByRole('tab', { name: 'Notifications' }).click();
    const daily = page.getByRole('switch', { name: 'Send one email a day' });
    const on = daily.and(page.locator(':checked'));
    await daily.click();
    await on.waitFor({ state: 'attached' });
    await person.reads();
    await page.reload();
    await on.waitFor({ state: 'attached' });
  },

  async secrets() {
    await login('member@example.com');
    await page.goto('/settings/secrets');
    await shows('No secrets');
    await button('Create secret').click();
    await dialog.getByRole('textbox', { name: 'Name' }).fill('npm');
    await dialog.getByRole('textbox', { name: 'Value' }).fill('hush-4711\n<b>second line</b>');
    await dialog.getByRole('textbox', { name: 'Environment variable' }).fill('PATH');
    await dialog.getByRole('button', { name: 'Create secret' }).click();
    await dialog.getByText('PATH is reserved').first().waitFor();
    await person.reads();
    await dialog.getByRole('textbox', { name: 'Environment variable' }).fill('NPM_TOKEN');
    await dialog.getByRole('textbox', { name: 'File' }).fill('~/../etc/passwd');
    await dialog.getByRole('button', { name: 'Create secret' }).click();
    await dialog.getByText('must name a file').first().waitFor();
    await dialog.getByRole('textbox', { name: 'File' }).fill('~/.npmrc');
    await dialog.getByRole('button', { name: 'Create secret' }).click();
    await dialog.waitFor({ state: 'detached' });
    const row = page.getByRole('row', { name: /npm/ });
    await row.getByText('NPM_TOKEN').waitFor();
    await row.getByText('~/.npmrc').waitFor();
    await person.reads();

    await button('Create secret').click(); // the name and the variable are taken
    await dialog.getByRole('textbox', { name: 'Name' }).fill('npm');
    await dialog.getByRole('textbox', { name: 'Value' }).fill('other');
    await dialog.getByRole('textbox', { name: 'Environment variable' }).fill('OTHER');
    await dialog.getByRole('button', { name: 'Create secret' }).click();
    await dialog.getByText('A secret named').first().waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });

    await button('Edit npm').click();
    const value = dialog.getByRole('textbox', { name: 'New value' });
    await value.waitFor();
    assert.equal(await value.inputValue(), '', 'the value of a secret is displayed');
    await dialog.getByLabel('Enabled').uncheck();
    await dialog.getByRole('textbox', { name: 'Description' }).fill('Registry');
    await person.reads();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    await row.getByText('Disabled').waitFor();
    await page.reload();
    await row.getByText('Registry').waitFor();
    assert.ok(!(await page.content()).includes('hush-4711'), 'the page contains the value of a secret');

    await button('Delete npm').click();
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
    await shows('No secrets');
  },
};

await person.go(`account-${which}`, journeys[which]);
