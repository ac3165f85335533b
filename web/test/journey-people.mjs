// What somebody does about people in the browser, against a real server:
//   node test/journey-people.mjs URL PASSWORD users     a user made, given a role, suspended, deleted; the audit log tells
//   node test/journey-people.mjs URL PASSWORD account   a member's own account: name, token, password, theme
//   node test/journey-people.mjs URL PASSWORD site      what an owner sees of the deployment
import assert from 'node:assert/strict';
import { sitDown } from './person.mjs';

const [url, password, which] = process.argv.slice(2);
const person = await sitDown(url, password);
const { context, page, heading, button, shows, login } = person;

const journeys = {
  async users() {
    await login('admin@example.com');
    await page.getByRole('link', { name: 'Users', exact: true }).first().click();
    await heading('Users').waitFor();
    const watcher = await context.newPage();
    await watcher.goto('/audit');
    await watcher.getByRole('heading', { name: 'Audit log' }).waitFor();

    await button('New user').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Username' }).fill('not a name 😀');
    await dialog.getByRole('textbox', { name: 'Full name' }).fill('<b onload=x>Eve</b>');
    await dialog.getByRole('textbox', { name: 'Email' }).fill('eve@example.com');
    await dialog.getByRole('textbox', { name: 'Password' }).fill(password);
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByRole('alert').waitFor(); // refused, in words, and what was typed is still there
    assert.equal(await dialog.getByRole('textbox', { name: 'Email' }).inputValue(), 'eve@example.com');
    await dialog.getByRole('textbox', { name: 'Username' }).fill('eve');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await shows('<b onload=x>Eve</b>'); // text, as it was typed
    await watcher.getByText('admin created user eve').waitFor(); // without a reload

    await page.getByRole('button', { name: 'Actions for eve' }).click();
    await page.getByRole('menuitem', { name: /Roles/ }).click();
    await page.getByRole('dialog').getByLabel('Auditor').check();
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByRole('row', { name: /eve@/ }).getByText('Auditor').waitFor();

    const eves = await (await context.browser().newContext({ baseURL: url })).newPage();
    await eves.goto('/login');
    await eves.getByLabel('Email').fill('eve@example.com');
    await eves.getByRole('textbox', { name: 'Password' }).fill(password);
    await eves.getByRole('button', { name: 'Log in', exact: true }).click();
    await eves.getByRole('link', { name: 'Audit' }).first().waitFor(); // an auditor may
    await eves.goto('/users');
    await eves.getByRole('row', { name: /eve@/ }).waitFor();
    assert.equal(await eves.getByRole('button', { name: 'New user' }).count(), 0, 'but not make users');

    await page.getByRole('button', { name: 'Actions for eve' }).click();
    await page.getByRole('menuitem', { name: 'Suspend' }).click();
    await page.getByRole('row', { name: /eve@/ }).getByText('suspended').waitFor();
    await eves.goto('/workspaces');
    await eves.getByRole('button', { name: 'Log in', exact: true }).waitFor(); // the session is over

    await page.getByRole('button', { name: 'Actions for eve' }).click();
    await page.getByRole('menuitem', { name: /Delete/ }).click();
    assert.equal(await button('Delete').isDisabled(), true, 'the name must be typed first');
    await page.getByLabel('Type eve to go on').fill('eve');
    await button('Delete').click();
    await page.getByRole('row', { name: /eve@/ }).waitFor({ state: 'detached' });
    await page.goto('/audit?q=resource_type%3Auser+action%3Adelete');
    await shows('admin deleted user eve');
  },

  async account() {
    await login('member@example.com');
    for (const no of ['Users', 'Audit', 'Deployment']) assert.equal(await page.getByRole('link', { name: no, exact: true }).count(), 0, `a member has no place ${no}`);
    await page.goto('/settings/account');
    await page.getByLabel('Full name').fill('Member <i>of</i> 🏔 the staff');
    await button('Save').click();
    await shows('Saved');

    await page.getByRole('tab', { name: 'Tokens' }).click();
    await button('New token').click();
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('ci');
    await page.getByRole('dialog').getByRole('combobox', { name: 'Lifetime' }).click();
    await page.getByRole('option').first().click();
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
    const token = await page.getByLabel('Secret').inputValue();
    const me = await fetch(`${url}/api/v2/users/me`, { headers: { 'Coder-Session-Token': token } });
    assert.equal((await me.json()).username, 'member');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Delete ci' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await shows('You have no token');
    assert.equal((await fetch(`${url}/api/v2/users/me`, { headers: { 'Coder-Session-Token': token } })).status, 401);

    await page.getByRole('tab', { name: 'SSH key' }).click();
    await shows('ssh-ed25519');
    await page.getByRole('tab', { name: 'Appearance' }).click();
    await page.getByText('Dark', { exact: true }).click();
    await page.waitForFunction(() => document.documentElement.dataset.mantineColorScheme === 'dark');

    await page.getByRole('tab', { name: 'Security' }).click();
    const fill = async (old, fresh) => {
      await page.getByRole('textbox', { name: 'Current password' }).fill(old);
      await page.getByRole('textbox', { name: 'New password', exact: true }).fill(fresh);
      await page.getByRole('textbox', { name: 'New password again' }).fill(fresh);
    };
    await fill('not my password', `${password}-next`);
    await button('Change password').click();
    await page.getByRole('main').getByRole('alert').waitFor();
    await fill(password, `${password}-next`);
    await button('Change password').click();
    await shows('Your password is changed');
    await fill(`${password}-next`, password);
    await button('Change password').click();
    await page.getByRole('textbox', { name: 'Current password' }).and(page.locator('[value=""]')).waitFor();
  },

  async site() {
    await login('admin@example.com');
    await page.goto('/deployment');
    await shows('Users a day');
    await page.getByRole('tab', { name: 'Health' }).click();
    await shows('Access URL');
    await button('Check again').click();
    await page.getByRole('tab', { name: 'Settings' }).click();
    await page.getByRole('searchbox').fill('--access-url');
    await page.getByRole('cell', { name: /--access-url/ }).first().waitFor();
    await page.getByRole('tab', { name: 'Appearance' }).click();
    await button('Add an announcement').click();
    await page.getByLabel('Message').fill('Maintenance <script>alert(1)</script> tonight');
    await button('Save').click();
    await shows('Everybody sees it from now on');
    await page.goto('/workspaces');
    await shows('Maintenance <script>alert(1)</script> tonight');
    await page.waitForLoadState('networkidle'); // or what is asked only now learns it first
    await context.clearCookies(); // as after a logout in another tab
    await page.getByRole('link', { name: 'Users', exact: true }).first().click();
    await heading('Your session has ended').waitFor();
    await page.getByRole('textbox', { name: 'Password' }).fill(password);
    await button('Log in').click();
    await page.getByRole('row', { name: /admin@/ }).waitFor(); // the page that was asked for
  },
};

await person.go(which, journeys[which]);
