// Ways in that are no password, in the browser, against a real server that
// trusts test/provider.mjs:
//   node test/journey-login.mjs URL PASSWORD cli       a token for the command line
//   node test/journey-login.mjs URL PASSWORD convert   a password given up for a provider
//   node test/journey-login.mjs URL PASSWORD device    GitHub by a code
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
    await button('Show a token').click();
    const token = await page.getByLabel('Token', { exact: true }).innerText();
    const me = await fetch(`${url}/api/v2/users/me`, { headers: { 'Coder-Session-Token': token } });
    assert.equal((await me.json()).username, 'admin');
    await person.reads();
  },

  async convert() {
    await login('member@example.com');
    await page.goto('/settings/security');
    await button('Change to Example Corp …').click();
    await dialog.getByRole('textbox', { name: 'Your password' }).fill('not my password');
    await dialog.getByRole('button', { name: 'Go on to Example Corp' }).click();
    await dialog.getByRole('alert').waitFor(); // refused, in words
    await person.reads();
    await dialog.getByRole('textbox', { name: 'Your password' }).fill(password);
    await dialog.getByRole('button', { name: 'Go on to Example Corp' }).click();
    await page.getByRole('link', { name: 'member' }).click(); // at the provider
    await shows('You log in with OpenID Connect');
    assert.match(page.url(), /\/settings\/security$/, 'nothing of the login stays in the address');
    await page.getByRole('button', { name: 'Account of member' }).click();
    await page.getByRole('menuitem', { name: 'Log out' }).click();
    await page.getByLabel('Email').fill('member@example.com');
    await page.getByRole('textbox', { name: 'Password' }).fill(password);
    await button('Log in').click();
    await page.getByRole('alert').waitFor(); // the password is gone
    await page.getByRole('link', { name: 'Example Corp' }).click();
    await page.getByRole('link', { name: 'member' }).click();
    await heading('Workspaces').waitFor();
  },

  async device() {
    await page.goto('/login');
    await page.getByRole('link', { name: 'GitHub' }).click();
    await heading('Log in by GitHub').waitFor();
    await shows('ABCD-1234');
    await person.reads();
    const there = await context.newPage();
    await there.goto(await page.getByRole('link', { name: /login\/device/ }).getAttribute('href'));
    await there.getByLabel('Code').fill('ABCD-1234');
    await there.getByRole('button', { name: 'Continue' }).click();
    await heading('Workspaces').waitFor(); // the page goes on by itself
    await page.getByRole('button', { name: 'Account of octo' }).waitFor();
    await page.goto('/login/device?state=nobodys');
    await shows('was not begun in this browser');
  },
};

await person.go(`login-${which}`, journeys[which]);
