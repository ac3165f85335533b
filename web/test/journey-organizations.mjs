// Organization administration, against a real server:
//   node test/journey-organizations.mjs URL PASSWORD people        create an organization; members, groups, roles
//   node test/journey-organizations.mjs URL PASSWORD provisioners  provisioners, keys and the queue
//   node test/journey-organizations.mjs URL PASSWORD provider      IdP sync
//   node test/journey-organizations.mjs URL PASSWORD member        the view of a member
import assert from 'node:assert/strict';
import { expect } from './browser.mjs';
import { sitDown } from './person.mjs';

const [url, password, which] = process.argv.slice(2);
const person = await sitDown(url, password);
const { context, page, heading, button, shows, login } = person;
const dialog = page.getByRole('dialog');

const journeys = {
  async people() {
    await login('admin@example.com');
    await page.getByRole('link', { name: 'Organizations', exact: true }).first().click();
    await heading('Organizations').waitFor();
    await button('Create organization').click();
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('invalid name 😀');
    await dialog.getByRole('textbox', { name: 'Display name' }).fill('<b>Lab</b>');
    await dialog.getByRole('button', { name: 'Create organization' }).click();
    await dialog.getByRole('alert').waitFor(); // rejected, and the input is kept
    await expect(dialog.getByRole('textbox', { name: 'Display name' })).toHaveValue('<b>Lab</b>');
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('lab');
    await dialog.getByRole('button', { name: 'Create organization' }).click();
    await heading('<b>Lab</b>').waitFor(); // displayed as text

    const watcher = await context.newPage();
    await watcher.goto('/organizations/lab/members');
    await watcher.getByRole('button', { name: 'Add member' }).waitFor();
    await button('Add member').click();
    await dialog.getByRole('combobox', { name: 'User' }).fill('member');
    await page
      .getByRole('option', { name: /member/ })
      .first()
      .click();
    await dialog.getByRole('button', { name: 'Add member', exact: true }).click();
    await watcher.getByText('member@example.com').waitFor(); // without a reload

    await page.getByRole('tab', { name: 'Roles' }).click();
    await button('Create role').click();
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('template-reader');
    await dialog.getByRole('textbox', { name: 'Display name' }).fill('Reader <i>of</i> templates');
    await dialog
      .getByRole('group', { name: 'Templates', exact: true })
      .getByRole('checkbox', { name: 'read', exact: true })
      .check();
    await shows('1 permission');
    await dialog.getByRole('button', { name: 'Create role' }).click();
    await page
      .getByRole('row', { name: /Reader <i>of<\/i> templates/ })
      .getByText('templates', { exact: true })
      .waitFor();
    await page.getByRole('tab', { name: 'Members' }).click();
    await button('Actions for member').click();
    await page.getByRole('menuitem', { name: 'Edit roles…' }).click();
    await dialog.getByRole('checkbox', { name: 'Reader <i>of</i> templates' }).check();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await watcher
      .getByRole('row', { name: /member@/ })
      .getByText('Reader <i>of</i> templates')
      .waitFor();

    await page.getByRole('tab', { name: 'Groups' }).click();
    await button('Create group').click();
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('crew');
    await dialog.getByRole('textbox', { name: 'Quota per member (credits per day)' }).fill('7');
    await dialog.getByRole('button', { name: 'Create group' }).click();
    await page.getByRole('link', { name: 'crew', exact: true }).click();
    await heading('crew').waitFor();
    await page.getByRole('combobox', { name: 'Add members' }).fill('member');
    await page
      .getByRole('option', { name: /member/ })
      .first()
      .click();
    await page.keyboard.press('Escape');
    await button('Add').click();
    await page.getByRole('cell', { name: /member@example.com/ }).waitFor();
    await shows('7 credits per member and day');

    await page.goto('/organizations/lab/settings');
    await button('Delete organization…').click();
    await expect(button('Delete organization'), 'the name must be typed first').toBeDisabled();
    await page.getByLabel('Type lab to confirm').fill('lab');
    await button('Delete organization').click();
    await heading('Organizations').waitFor();
    await watcher.getByRole('main').getByRole('alert').first().waitFor(); // open pages report the deletion
  },

  async provisioners() {
    await login('admin@example.com');
    await page.goto('/organizations/coder/provisioners');
    await page.getByText(/\d+ of \d+ slots busy/).waitFor();
    await page
      .getByRole('cell', { name: /Idle|Busy/ })
      .first()
      .waitFor();

    await page.getByRole('tab', { name: 'Provisioner keys' }).click();
    await button('Create key').click();
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('mars');
    await dialog.getByLabel('Tags').first().fill('mars');
    await page.keyboard.press('Enter');
    await dialog.getByText('Enter tags as name=value').waitFor();
    await page.keyboard.press('Backspace');
    await page.keyboard.insertText('place=mars');
    await page.keyboard.press('Enter');
    await dialog.getByRole('button', { name: 'Create key' }).click();
    const secret = await page.getByRole('textbox', { name: 'Secret', exact: true }).inputValue();
    assert.ok(secret.length > 30);
    await page.keyboard.press('Escape');
    await page.getByRole('row', { name: /mars/ }).getByText('place=mars').waitFor();
    await button('Rotate mars').click();
    await dialog.getByRole('button', { name: 'Rotate' }).click();
    await expect(page.getByRole('textbox', { name: 'Secret', exact: true })).not.toHaveValue(secret);
    await page.keyboard.press('Escape');
    await shows('Rotated');
    await button('Delete mars').click();
    await page.getByLabel('Type mars to confirm').fill('mars');
    await button('Delete key').click();
    await page.getByText('place=mars').first().waitFor({ state: 'detached' });

    await page.getByRole('tab', { name: 'Queue' }).click();
    const watcher = await context.newPage();
    await watcher.goto('/templates/coder/elsewhere/workspace');
    await watcher.getByRole('textbox', { name: 'Name', exact: true }).fill('waits');
    await watcher.getByRole('button', { name: 'Create workspace', exact: true }).click();
    const set = page.getByRole('region', { name: /zone=mars/ });
    await set.getByText('coder provisioner start').first().waitFor(); // without a reload, with a fix
    await page.getByRole('tab', { name: 'Jobs' }).click();
    await page.goto('/organizations/coder/jobs?status=pending');
    await button('Cancel job of waits').click();
    await shows('No jobs found');
    await page.goto('/organizations/coder/jobs?status=canceled&tags=zone%3Dmars');
    await page.getByRole('row', { name: /waits/ }).waitFor();
  },

  async provider() {
    await login('admin@example.com');
    await page.request.post('/api/v2/organizations', { data: { name: 'desk', display_name: '<b>Desk</b>' } });
    await page.request.post('/api/v2/organizations/desk/groups', { data: { name: 'crew' } });
    await page.goto('/organizations/desk/sync');
    const groups = page.getByRole('region', { name: 'Group sync' });
    await groups.getByRole('combobox', { name: 'Claim', exact: true }).fill('teams');
    await groups.getByRole('textbox', { name: 'Filter', exact: true }).fill('(');
    await groups.getByRole('button', { name: 'Save' }).click();
    await groups.getByRole('alert').waitFor(); // not a regular expression
    await groups.getByRole('textbox', { name: 'Filter', exact: true }).fill('^eng-');
    await groups.getByRole('switch', { name: 'Create missing groups' }).check();
    await groups.getByRole('button', { name: 'Save' }).click();
    await groups.getByText('Saved.').waitFor();
    const map = async (section, given, name) => {
      await section.getByRole('combobox', { name: 'Claim value' }).fill(given);
      await section.getByRole('combobox', { name: /^Mapped/ }).click();
      await page.getByRole('option', { name, exact: true }).click();
      await page.keyboard.press('Escape');
      await section.getByRole('button', { name: 'Add mapping', exact: true }).click();
      await section.getByRole('row', { name: given }).getByText(name).waitFor();
    };
    await map(groups, '<i>eng</i> 🏔', 'crew');
    const roles = page.getByRole('region', { name: 'Role sync' });
    await roles.getByRole('combobox', { name: 'Claim', exact: true }).fill('roles');
    await roles.getByRole('button', { name: 'Save' }).click();
    await roles.getByText('Saved.').waitFor();
    await map(roles, 'boss', 'Organization Admin');
    await person.reads();
    const read = async (path) => (await page.request.get(`/api/v2${path}`)).json();
    const set = await read('/organizations/desk/settings/idpsync/groups');
    assert.deepEqual(
      [set.field, set.regex_filter, set.auto_create_missing_groups, Object.keys(set.mapping)],
      ['teams', '^eng-', true, ['<i>eng</i> 🏔']],
    );
    assert.deepEqual((await read('/organizations/desk/settings/idpsync/roles')).mapping, {
      boss: ['organization-admin'],
    });
    await button('Remove mapping from <i>eng</i> 🏔 to crew').click();
    await groups.getByText('No mappings').waitFor();

    await page.goto('/organizations/desk/rules');
    await page.getByRole('textbox', { name: 'Maximum token lifetime' }).fill('7');
    await page.getByRole('combobox', { name: 'Token scopes' }).fill('workspace:read');
    await page.getByRole('option', { name: 'workspace:read', exact: true }).click();
    await page.keyboard.press('Tab');
    await page.getByRole('switch', { name: 'Restrict external authentication' }).check();
    await shows('This deployment has no providers.');
    await button('Save').click();
    await shows('Rules saved');
    assert.deepEqual(await read('/organizations/desk/settings/rules'), {
      token_scopes: ['workspace:read'],
      max_token_lifetime_seconds: 604_800,
      external_auth_restricted: true,
      external_auth: [],
    });

    await page.goto('/deployment/sync');
    const organizations = page.getByRole('region', { name: 'Organization sync' });
    await map(organizations, 'desk people', '<b>Desk</b>');
    await organizations.getByRole('combobox', { name: 'Claim', exact: true }).fill('orgs');
    await organizations.getByRole('switch', { name: 'Assign all users to the default organization' }).check();
    await organizations.getByRole('button', { name: 'Save' }).click();
    await organizations.getByText('Saved.').waitFor();
    await person.reads();
    assert.equal((await read('/settings/idpsync/organization')).field, 'orgs');
  },

  async member() {
    await login('member@example.com');
    await page.goto('/organizations/coder');
    await heading('Coder').or(heading('coder')).first().waitFor();
    await page.getByRole('tab').first().waitFor();
    for (const no of ['Provisioner keys', 'Settings'])
      await expect(page.getByRole('tab', { name: no }), `a member sees ${no}`).toHaveCount(0);
    await expect(button('Add member'), 'a member cannot add members').toHaveCount(0);
  },
};

await person.go(`organizations-${which}`, journeys[which]);
