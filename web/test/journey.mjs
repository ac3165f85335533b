// The main journeys in a browser, against a real server:
//   node test/journey.mjs URL PASSWORD setup     create the first user, sign out
//   node test/journey.mjs URL PASSWORD work      create, use, stop and delete a workspace
//   node test/journey.mjs URL PASSWORD failed    a failed build and its log
//   node test/journey.mjs URL PASSWORD pending   a build without a matching provisioner
//   node test/journey.mjs URL PASSWORD member    the view of a member
// The CLI pushes the templates first (e2e/testdata/dashboard.txtar).
import assert from 'node:assert/strict';
import { expect } from './browser.mjs';
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
    await button('Create user').click();
    await page.getByRole('alert').waitFor(); // the password is too weak
    await page.getByRole('textbox', { name: 'Password' }).fill(password);
    await button('Create user').click();
    await heading('Workspaces').waitFor();
    await shows('No workspaces yet');
    await page.getByRole('button', { name: 'Account menu of admin' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await button('Sign in').waitFor();
    assert.equal(
      await page.evaluate(() => localStorage.length + document.cookie.length),
      0,
      'scripts can read session data',
    );
    await page.getByLabel('Email').fill('admin@example.com');
    await page.getByRole('textbox', { name: 'Password' }).fill('wrong password');
    await button('Sign in').click();
    await page.getByRole('alert').waitFor();
  },

  async work() {
    await login('admin@example.com');
    await page.getByRole('link', { name: 'Templates' }).first().click();
    await page.getByRole('link', { name: 'Create workspace from local' }).click();
    await heading('Create workspace').waitFor();
    await page.getByLabel('Repository').fill('no address');
    await shows('Enter the URL of a Git repository, or leave the field empty.');
    await page.getByLabel('Repository').fill('');
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('in valid!');
    await shows('Use letters, digits and single hyphens between them.');
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('first');
    await button('Create workspace').click();
    await heading('first').waitFor();
    await shows('Ready');

    await page.goto('/@admin/first/terminal');
    await page.locator('[data-terminal=open]').waitFor();
    await page.keyboard.type('echo "six times seven is $((6*7))"\n');
    await page.locator('.xterm-rows').getByText('six times seven is 42').first().waitFor();
    await page.reload();
    await page.locator('.xterm-rows').getByText('six times seven is 42').first().waitFor(); // the same shell session, with its screen restored

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
    await shows('Build timeline');
    await page.getByRole('button', { name: /^Apply / }).click();
    await button('Show all phases').click();
    await page.goto('/@admin/first');
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: /Delete/ }).click();
    await expect(button('Delete workspace'), 'the name must be typed first').toBeDisabled();
    await page.getByLabel('Type first to confirm').fill('first');
    await button('Delete workspace').click();
    await watcher.getByText('No workspaces yet').waitFor();
  },

  async failed() {
    await login('admin@example.com');
    await create('broken', 'breaks');
    await shows('The last build (start) failed');
    await shows('this build always fails');
    await button('Start').waitFor();
    await button('Retry').waitFor();
    await button('Copy error').waitFor();
    await page.getByRole('link', { name: /^main\.tf, line \d+$/ }).click();
    await page.locator('.cm-activeLine').waitFor();
    await page.goBack();
    await heading('breaks').waitFor();
    await button('Retry with debug logging').waitFor();
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
    await page.getByRole('link', { name: 'Create workspace from local' }).waitFor();
    await expect(page.getByRole('link', { name: 'Create template' }), 'a member cannot create templates').toHaveCount(
      0,
    );
    await page.goto('/@admin/breaks');
    await page.getByRole('alert').waitFor(); // workspaces of other users are not found
    await page.goto('/@member/nothing');
    await page.getByRole('alert').waitFor(); // the same message for an unknown workspace
    assert.equal((await page.goto('/no/such/page')).status(), 404);
    await person.reads();
    await page.locator('main').getByRole('link').click();
    await heading('Workspaces').waitFor();
  },
};

await person.go(which, journeys[which]);
