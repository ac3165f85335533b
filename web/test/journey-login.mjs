// Sign-in without a password, against a real server that uses test/provider.mjs:
//   node test/journey-login.mjs URL PASSWORD cli       a session token for the CLI
//   node test/journey-login.mjs URL PASSWORD convert   switch from a password to an identity provider
//   node test/journey-login.mjs URL PASSWORD device    sign in to GitHub with a device code
import assert from 'node:assert/strict';
import { sitDown } from './person.mjs';

const [url, password, which] = process.argv.slice(2);
const person = await sitDown(url, password);
const { context, page, heading, button, shows, login } = person;
const dialog = page.getByRole('dialog');

const journeys = {
  async cli() {
    await login('admin@example.com');
    await page.goto('/cli-auth');
    await person.reads();
    await button('Show session token').click();
    const token = await page.getByLabel('Session token', { exact: true }).innerText();
    const me = await fetch(`${url}/api/v2/users/me`, { headers: { 'Coder-Session-Token': token } });
    assert.equal((await me.json()).username, 'admin');
    await person.reads();
  },

  async convert() {
    await login('member@example.com');
    await page.goto('/settings/security');
    await button('Switch to Example Corp…').click();
    await dialog.getByRole('textbox', { name: 'Current password' }).fill('not my password');
    await dialog.getByRole('button', { name: 'Switch to Example Corp' }).click();
    await dialog.getByRole('alert').waitFor(); // wrong password
    await person.reads();
    await dialog.getByRole('textbox', { name: 'Current password' }).fill(password);
    await dialog.getByRole('button', { name: 'Switch to Example Corp' }).click();
    await page.getByRole('link', { name: 'member' }).click(); // at the provider
    await shows('You sign in with OpenID Connect');
    assert.match(page.url(), /\/settings\/security$/, 'the URL contains sign-in data');
    await page.getByRole('button', { name: 'Account menu of member' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByLabel('Email').fill('member@example.com');
    await page.getByRole('textbox', { name: 'Password' }).fill(password);
    await button('Sign in').click();
    await page.getByRole('alert').waitFor(); // the password was removed
    await page.getByRole('link', { name: 'Example Corp' }).click();
    await page.getByRole('link', { name: 'member' }).click();
    await heading('Workspaces').waitFor();
  },

  async device() {
    await page.goto('/login');
    await page.getByRole('link', { name: 'GitHub' }).click();
    await heading('Sign in with GitHub').waitFor();
    await shows('ABCD-1234');
    await person.reads();
    const there = await context.newPage();
    await there.goto(await page.getByRole('link', { name: /login\/device/ }).getAttribute('href'));
    await there.getByLabel('Code').fill('ABCD-1234');
    await there.getByRole('button', { name: 'Continue' }).click();
    await heading('Workspaces').waitFor(); // continues automatically
    await page.getByRole('button', { name: 'Account menu of octo' }).waitFor();
    await page.goto('/login/device?state=nobodys');
    await shows('was not started in this browser');
  },
};

await person.go(`login-${which}`, journeys[which]);
