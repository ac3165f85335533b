// User administration, against a real server:
//   node test/journey-people.mjs URL PASSWORD users     create, assign a role, suspend and delete a user; the audit log
//   node test/journey-people.mjs URL PASSWORD services  create a service account, limit it, and use a token of it
//   node test/journey-people.mjs URL PASSWORD account   account settings of a member: name, token, password, theme
//   node test/journey-people.mjs URL PASSWORD site      the deployment pages of an owner
import assert from 'node:assert/strict';
import { buffer, text } from 'node:stream/consumers';
import { expect } from './browser.mjs';
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

    await button('Create user').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Username' }).fill('not a name 😀');
    await dialog.getByRole('textbox', { name: 'Full name' }).fill('<b onload=x>Eve</b>');
    await dialog.getByRole('textbox', { name: 'Email' }).fill('eve@example.com');
    await dialog.getByRole('textbox', { name: 'Password' }).fill(password);
    await dialog.getByRole('button', { name: 'Create user' }).click();
    await dialog.getByRole('alert').waitFor(); // rejected, and the input is kept
    await expect(dialog.getByRole('textbox', { name: 'Email' })).toHaveValue('eve@example.com');
    await dialog.getByRole('textbox', { name: 'Username' }).fill('eve');
    await dialog.getByRole('button', { name: 'Create user' }).click();
    await shows('<b onload=x>Eve</b>'); // displayed as text
    await watcher.getByText('admin created user eve').waitFor(); // without a reload

    await page.getByRole('button', { name: 'Actions for eve' }).click();
    await page.getByRole('menuitem', { name: 'Edit roles…' }).click();
    await page.getByRole('dialog').getByLabel('Auditor').check();
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByRole('row', { name: /eve@/ }).getByText('Auditor').waitFor();

    const eves = await person.elsewhere();
    await eves.goto('/login');
    await eves.getByLabel('Email').fill('eve@example.com');
    await eves.getByRole('textbox', { name: 'Password' }).fill(password);
    await eves.getByRole('button', { name: 'Sign in', exact: true }).click();
    await eves.getByRole('link', { name: 'Audit' }).first().waitFor(); // auditors have access
    await eves.goto('/users');
    await eves.getByRole('row', { name: /eve@/ }).waitFor();
    await expect(eves.getByRole('button', { name: 'Create user' }), 'an auditor cannot create users').toHaveCount(0);

    await page.getByRole('button', { name: 'Actions for eve' }).click();
    await page.getByRole('menuitem', { name: 'Suspend…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Suspend', exact: true }).click();
    await page.getByRole('row', { name: /eve@/ }).getByText('Suspended').waitFor();
    await eves.goto('/workspaces');
    await eves.getByRole('button', { name: 'Sign in', exact: true }).waitFor(); // the session has ended

    await page.getByRole('button', { name: 'Actions for eve' }).click();
    await page.getByRole('menuitem', { name: /Delete/ }).click();
    await expect(button('Delete user'), 'the name must be typed first').toBeDisabled();
    await page.getByLabel('Type eve to confirm').fill('eve');
    await button('Delete user').click();
    await page.getByRole('row', { name: /eve@/ }).waitFor({ state: 'detached' });
    await page.goto('/audit?q=resource_type%3Auser+action%3Adelete');
    await shows('admin deleted user eve');
  },

  async services() {
    await login('admin@example.com');
    await page.goto('/users');
    await button('Create user').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Username' }).fill('deploy');
    await dialog.getByRole('combobox', { name: 'Login type' }).click();
    await page.getByRole('option', { name: /^Service account/ }).click();
    await dialog.getByRole('button', { name: 'Create user' }).click();
    await page
      .getByRole('row', { name: /deploy/ })
      .getByText('Service account')
      .waitFor();
    const open = async (item) => {
      await page.getByRole('button', { name: 'Actions for deploy' }).click();
      await page.getByRole('menuitem', { name: item }).click();
    };

    await open('Limits…');
    const limits = page.getByRole('dialog', { name: 'Limits of deploy' });
    await limits.locator('input[value="admin"]').waitFor(); // the owner
    await limits.getByRole('combobox', { name: 'Scopes' }).fill('workspace:read');
    await page.getByRole('option', { name: 'workspace:read', exact: true }).click();
    await page.keyboard.press('Tab');
    await limits.getByRole('button', { name: 'Save' }).click();
    await shows('Limits of deploy saved');

    await open('Tokens…');
    await page.getByRole('dialog', { name: 'Tokens of deploy' }).getByRole('button', { name: 'Create token' }).click();
    const form = page.getByRole('dialog', { name: 'Create token' });
    await form.getByRole('textbox', { name: 'Name' }).fill('ci');
    await form.getByText('workspace:read', { exact: true }).first().waitFor(); // the scopes of the account
    await form.getByRole('button', { name: 'Create token' }).click();
    const token = await page.getByRole('textbox', { name: 'Secret' }).inputValue();
    const status = async (path, more) =>
      (await fetch(`${url}/api/v2${path}`, { headers: { 'Coder-Session-Token': token }, ...more })).status;
    assert.equal(await status('/workspaces'), 200);
    const refused = await status('/users/me/keys/tokens', { method: 'POST', body: '{}' });
    assert.equal(refused, 403, 'a token has only the scopes of the account');
    await page.keyboard.press('Escape');
    await page.goto('/users?q=service_account%3Atrue');
    await page.getByRole('row', { name: /deploy/ }).waitFor();
    await expect(page.getByRole('row', { name: /member@/ }), 'the filter shows a user').toHaveCount(0);
  },

  async account() {
    await login('member@example.com');
    for (const no of ['Users', 'Audit', 'Deployment'])
      await expect(page.getByRole('link', { name: no, exact: true }), `a member sees ${no}`).toHaveCount(0);
    await page.goto('/settings/account');
    await page.getByLabel('Full name').fill('Member <i>of</i> 🏔 the staff');
    await button('Save').click();
    await shows('Profile saved');

    await page.getByRole('tab', { name: 'Tokens' }).click();
    await button('Create token').click();
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('ci');
    await page.getByRole('dialog').getByRole('combobox', { name: 'Lifetime' }).click();
    await page.getByRole('option').first().click();
    await page.getByRole('dialog').getByRole('button', { name: 'Create token' }).click();
    const token = await page.getByRole('textbox', { name: 'Secret' }).inputValue();
    const me = await fetch(`${url}/api/v2/users/me`, { headers: { 'Coder-Session-Token': token } });
    assert.equal((await me.json()).username, 'member');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Delete ci' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await shows('No tokens');
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
      await page.getByRole('textbox', { name: 'Confirm new password' }).fill(fresh);
    };
    await fill('not my password', `${password}-next`);
    await button('Change password').click();
    await page.getByRole('main').getByRole('alert').waitFor();
    await fill(password, `${password}-next`);
    await button('Change password').click();
    await shows('Password changed');
    await fill(`${password}-next`, password);
    await button('Change password').click();
    await page.getByRole('textbox', { name: 'Current password' }).and(page.locator('[value=""]')).waitFor();
  },

  async site() {
    await login('admin@example.com');
    await page.goto('/deployment');
    await shows('Daily active users');
    await page.getByRole('tab', { name: 'Health' }).click();
    await shows('Access URL');
    const main = page.getByRole('main');
    await main.getByRole('link', { name: 'Database', exact: true }).click();
    await page.waitForURL('**/deployment/health/database');
    await heading('Measured').waitFor();
    await button('Run checks').click();
    await page.getByRole('img', { name: 'Latency (ms), last 24 hours' }).waitFor();
    await button('Show as table Latency').click();
    await page.getByRole('columnheader', { name: 'Latency (ms)' }).waitFor();
    await person.reads();
    await main.getByRole('link', { name: 'Health', exact: true }).click();
    const pause = (on) =>
      page.evaluate(
        async (on) =>
          (
            await fetch('/api/v2/notifications/settings', {
              method: 'PUT',
              body: JSON.stringify({ notifier_paused: on }),
            })
          ).status,
        on,
      );
    assert.equal(await pause(true), 200);
    await main.getByRole('link', { name: 'Notifications', exact: true }).click();
    await page.waitForURL('**/deployment/health/notifications');
    await heading('Measured').waitFor();
    await button('Run checks').click();
    await heading('What to do').waitFor();
    await button('Dismiss Notifications').click();
    await button('Restore Notifications').click();
    await button('Dismiss Notifications').waitFor();
    assert.equal(await pause(false), 200);
    await main.getByRole('link', { name: 'Health', exact: true }).click();
    await page.getByRole('tab', { name: 'Insights' }).click();
    await heading('Template versions of running workspaces').waitFor();
    await page.getByRole('img', { name: 'Active users by Date' }).waitFor();
    await person.reads();
    const exporting = page.waitForEvent('download');
    await button('Export CSV: Days').click();
    const usage = await exporting;
    assert.match(usage.suggestedFilename(), /^usage-\d{4}-\d\d-\d\d-\d{4}-\d\d-\d\d\.csv$/);
    assert.match(await text(await usage.createReadStream()), /^Date,Active users,Active hours,Credits\r\n(.+\r\n){7}$/);
    await page.getByRole('tab', { name: 'Settings' }).click();
    await page.getByRole('searchbox').fill('--access-url');
    await page
      .getByRole('cell', { name: /--access-url/ })
      .first()
      .waitFor();
    await page.getByRole('tab', { name: 'Support' }).click();
    const downloading = page.waitForEvent('download');
    await button('Create support bundle').click();
    const bundle = await downloading;
    assert.match(bundle.suggestedFilename(), /^coder-support-\d+\.zip$/);
    const archive = await buffer(await bundle.createReadStream());
    assert.equal(archive.subarray(0, 2).toString(), 'PK');
    assert.ok(archive.includes('deployment/health.json') && archive.includes('manifest.json'));
    await button('Download again').waitFor();
    await person.reads();
    await page.getByRole('tab', { name: 'Appearance' }).click();
    await button('Add announcement banner').click();
    await page.getByLabel('Message').fill('Maintenance <script>alert(1)</script> tonight');
    await button('Save').click();
    await shows('Appearance saved');
    await page.goto('/workspaces');
    await shows('Maintenance <script>alert(1)</script> tonight');
    await context.clearCookies(); // like a sign-out in another tab
    // As an event, because a request of the page may have opened the dialog over the link by now.
    await page.getByRole('link', { name: 'Users', exact: true }).first().dispatchEvent('click');
    await heading('Your session has ended').waitFor();
    await page.getByRole('textbox', { name: 'Password' }).fill(password);
    await button('Sign in').click();
    await page.getByRole('row', { name: /admin@/ }).waitFor(); // the requested page
  },
};

await person.go(which, journeys[which]);
