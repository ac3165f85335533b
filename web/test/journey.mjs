// What a person does in the browser, against a real server:
//   node test/journey.mjs URL PASSWORD setup     the first user, and out again
//   node test/journey.mjs URL PASSWORD work      a workspace: made, used, stopped, deleted
//   node test/journey.mjs URL PASSWORD failed    a build that fails, its log, another try
//   node test/journey.mjs URL PASSWORD pending   a build nobody takes, and why
//   node test/journey.mjs URL PASSWORD member    what a plain member sees
// The templates are pushed before, with the command line (e2e/testdata/dashboard.txtar).
import assert from 'node:assert/strict';
import { sitDown } from './person.mjs';

const [url, password, which] = process.argv.slice(2);
const person = await sitDown(url, password);
const { context, page, heading, button, shows, login } = person;

async function create(template, name) {
  await page.goto(`/templates/coder/${template}/workspace`);
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill(name);
  await button('Create workspace').click();
  await heading(name).waitFor();
}

const journeys = {
  async setup() {
    await page.goto('/');
    await heading('Welcome to Coder').waitFor();
    await page.getByLabel('Username').fill('admin');
    await page.getByLabel('Email').fill('admin@example.com');
    await page.getByRole('textbox', { name: 'Password' }).fill('short');
    await button('Create account').click();
    await page.getByRole('alert').waitFor(); // a password that is too weak is refused, in words
    await page.getByRole('textbox', { name: 'Password' }).fill(password);
    await button('Create account').click();
    await heading('Workspaces').waitFor();
    await shows('You have no workspace yet');
    await page.getByRole('button', { name: 'Account of admin' }).click();
    await page.getByRole('menuitem', { name: 'Log out' }).click();
    await button('Log in').waitFor();
    assert.equal(await page.evaluate(() => localStorage.length + document.cookie.length), 0, 'nothing of the session may be left for scripts');
    await page.getByLabel('Email').fill('admin@example.com');
    await page.getByRole('textbox', { name: 'Password' }).fill('wrong password');
    await button('Log in').click();
    await page.getByRole('alert').waitFor();
  },

  async work() {
    await login('admin@example.com');
    await page.getByRole('link', { name: 'Templates' }).first().click();
    await page.getByRole('link', { name: 'Create a workspace of local' }).click();
    await heading('New workspace').waitFor();
    await page.getByLabel('Repository').fill('no address');
    await shows('Give the URL of a Git repository, or nothing.');
    await page.getByLabel('Repository').fill('');
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('in valid!');
    await button('Create workspace').click();
    await page.getByRole('alert').waitFor();
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('first');
    await button('Create workspace').click();
    await heading('first').waitFor();
    await shows('ready');

    await page.goto('/@admin/first/terminal');
    await page.locator('[data-terminal=open]').waitFor();
    await page.keyboard.type('echo "six times seven is $((6*7))"\n');
    await page.locator('.xterm-rows').getByText('six times seven is 42').first().waitFor();
    await page.reload();
    await page.locator('.xterm-rows').getByText('six times seven is 42').first().waitFor(); // the same shell, its screen restored

    await page.goto('/workspaces');
    const watcher = await context.newPage();
    await watcher.goto('/workspaces');
    await watcher.getByText('Running').first().waitFor();
    await page.goto('/@admin/first');
    await button('Stop').click();
    await watcher.getByRole('cell', { name: 'Stopped' }).waitFor(); // without a reload
    await button('Start').waitFor();
    await page.getByRole('tab', { name: 'Builds' }).click();
    await page.getByRole('link', { name: '#2', exact: true }).click();
    await heading('first #2').waitFor();
    await shows('What took how long');
    await page.goto('/@admin/first');
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: /Delete/ }).click();
    assert.equal(await button('Delete').isDisabled(), true, 'the name must be typed first');
    await page.getByLabel('Type first to go on').fill('first');
    await button('Delete').click();
    await watcher.getByText('You have no workspace yet').waitFor();
  },

  async failed() {
    await login('admin@example.com');
    await create('broken', 'breaks');
    await shows('The last build (start) failed');
    await shows('this build always fails');
    await button('Start').waitFor();
  },

  async pending() {
    await login('admin@example.com');
    await create('elsewhere', 'waits');
    await shows('zone');
    await page.getByText('coder provisioner start').first().waitFor();
    await button('Cancel').click();
    await shows('Canceled');
  },

  async member() {
    await login('member@example.com');
    await page.goto('/templates');
    await page.getByRole('link', { name: 'Create a workspace of local' }).waitFor();
    assert.equal(await page.getByRole('link', { name: 'New template' }).count(), 0, 'a member may make no template');
    await page.goto('/@admin/breaks');
    await page.getByRole('alert').waitFor(); // somebody else's: as if it were not there
  },
};

await person.go(which, journeys[which]);
