// What somebody who administers an organization does in the browser, against a real server:
//   node test/journey-organizations.mjs URL PASSWORD people        an organization made; members, groups, roles
//   node test/journey-organizations.mjs URL PASSWORD provisioners  daemons, keys, the queue that says why a job waits
//   node test/journey-organizations.mjs URL PASSWORD provider      what an identity provider arranges
//   node test/journey-organizations.mjs URL PASSWORD member        what a plain member sees
import assert from 'node:assert/strict';
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
    await button('New organization').click();
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('no name 😀');
    await dialog.getByRole('textbox', { name: 'Display name' }).fill('<b>Lab</b>');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByRole('alert').waitFor(); // refused, in words, and what was typed is still there
    assert.equal(await dialog.getByRole('textbox', { name: 'Display name' }).inputValue(), '<b>Lab</b>');
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('lab');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await heading('<b>Lab</b>').waitFor(); // text, as it was typed

    const watcher = await context.newPage();
    await watcher.goto('/organizations/lab/members');
    await watcher.getByRole('button', { name: 'Add member' }).waitFor();
    await button('Add member').click();
    await dialog.getByRole('combobox', { name: 'User' }).fill('member');
    await page.getByRole('option', { name: /member/ }).first().click();
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await watcher.getByText('member@example.com').waitFor(); // without a reload

    await page.getByRole('tab', { name: 'Roles' }).click();
    await button('New role').click();
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('template-reader');
    await dialog.getByRole('textbox', { name: 'Display name' }).fill('Reader <i>of</i> templates');
    await dialog.getByRole('group', { name: 'Templates', exact: true }).getByRole('checkbox', { name: 'read', exact: true }).check();
    await shows('1 permissions');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('row', { name: /Reader <i>of<\/i> templates/ }).getByText('templates', { exact: true }).waitFor();
    await page.getByRole('tab', { name: 'Members' }).click();
    await button('Actions for member').click();
    await page.getByRole('menuitem', { name: /Roles/ }).click();
    await dialog.getByRole('checkbox', { name: 'Reader <i>of</i> templates' }).check();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await watcher.getByRole('row', { name: /member@/ }).getByText('Reader <i>of</i> templates').waitFor();

    await page.getByRole('tab', { name: 'Groups' }).click();
    await button('New group').click();
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('crew');
    await dialog.getByRole('textbox', { name: 'Credits a day for each member' }).fill('7');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('link', { name: 'crew', exact: true }).click();
    await heading('crew').waitFor();
    await page.getByRole('combobox', { name: 'Add members' }).fill('member');
    await page.getByRole('option', { name: /member/ }).first().click();
    await page.keyboard.press('Escape');
    await button('Add').click();
    await page.getByRole('cell', { name: /member@example.com/ }).waitFor();
    await shows('7 credits a day');

    await page.goto('/organizations/lab/settings');
    await button('Delete …').click();
    assert.equal(await button('Delete the organization').isDisabled(), true, 'the name must be typed first');
    await page.getByLabel('Type lab to go on').fill('lab');
    await button('Delete the organization').click();
    await heading('Organizations').waitFor();
    await watcher.getByRole('main').getByRole('alert').first().waitFor(); // who still looks at it is told
  },

  async provisioners() {
    await login('admin@example.com');
    await page.goto('/organizations/coder/provisioners');
    await page.getByText(/\d+ of \d+ slots are busy/).waitFor();
    await page.getByRole('cell', { name: /idle|busy/ }).first().waitFor();

    await page.getByRole('tab', { name: 'Keys' }).click();
    await button('New key').click();
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('mars');
    await dialog.getByLabel('Tags').first().fill('mars');
    await page.keyboard.press('Enter');
    await dialog.getByText('Write each as name=value').waitFor();
    await page.keyboard.press('Backspace');
    await page.keyboard.insertText('place=mars');
    await page.keyboard.press('Enter');
    await dialog.getByRole('button', { name: 'Create' }).click();
    const secret = await page.getByRole('textbox', { name: 'Secret', exact: true }).inputValue();
    assert.ok(secret.length > 30);
    await page.keyboard.press('Escape');
    await page.getByRole('row', { name: /mars/ }).getByText('place=mars').waitFor();
    await button('Rotate mars').click();
    await dialog.getByRole('button', { name: 'Rotate' }).click();
    assert.notEqual(await page.getByRole('textbox', { name: 'Secret', exact: true }).inputValue(), secret);
    await page.keyboard.press('Escape');
    await shows('replaced');
    await button('Delete mars').click();
    await page.getByLabel('Type mars to go on').fill('mars');
    await button('Delete the key').click();
    await page.getByText('place=mars').first().waitFor({ state: 'detached' });

    await page.getByRole('tab', { name: 'Queue' }).click();
    const watcher = await context.newPage();
    await watcher.goto('/templates/coder/elsewhere/workspace');
    await watcher.getByRole('textbox', { name: 'Name', exact: true }).fill('waits');
    await watcher.getByRole('button', { name: 'Create workspace', exact: true }).click();
    const set = page.getByRole('region', { name: /zone=mars/ });
    await set.getByText('coder provisioner start').first().waitFor(); // without a reload, with what would help
    await page.getByRole('tab', { name: 'Jobs' }).click();
    await page.goto('/organizations/coder/jobs?status=pending');
    await button('Cancel the job of waits').click();
    await shows('No job matches');
    await page.goto('/organizations/coder/jobs?status=canceled&tags=zone%3Dmars');
    await page.getByRole('row', { name: /waits/ }).waitFor();
  },

  async provider() {
    await login('admin@example.com');
    await page.request.post('/api/v2/organizations', { data: { name: 'desk', display_name: '<b>Desk</b>' } });
    await page.request.post('/api/v2/organizations/desk/groups', { data: { name: 'crew' } });
    await page.goto('/organizations/desk/sync');
    const groups = page.getByRole('region', { name: 'Groups' });
    await groups.getByLabel('Claim').fill('teams');
    await groups.getByLabel('Only names that match').fill('(');
    await groups.getByRole('button', { name: 'Save' }).click();
    await groups.getByRole('alert').waitFor(); // no regular expression
    await groups.getByLabel('Only names that match').fill('^eng-');
    await groups.getByRole('switch', { name: 'Make groups that are not there' }).check();
    await groups.getByRole('button', { name: 'Save' }).click();
    await groups.getByText('Saved.').waitFor();
    const map = async (section, given, name) => {
      await section.getByRole('combobox', { name: 'The provider says' }).fill(given);
      await section.getByRole('combobox', { name: /^Becomes/ }).click();
      await page.getByRole('option', { name, exact: true }).click();
      await page.keyboard.press('Escape');
      await section.getByRole('button', { name: 'Map', exact: true }).click();
      await section.getByRole('row', { name: given }).getByText(name).waitFor();
    };
    await map(groups, '<i>eng</i> 🏔', 'crew');
    const roles = page.getByRole('region', { name: 'Roles' });
    await roles.getByLabel('Claim').fill('roles');
    await roles.getByRole('button', { name: 'Save' }).click();
    await roles.getByText('Saved.').waitFor();
    await map(roles, 'boss', 'Organization Admin');
    await person.reads();
    const read = async (path) => (await page.request.get(`/api/v2${path}`)).json();
    const set = await read('/organizations/desk/settings/idpsync/groups');
    assert.deepEqual([set.field, set.regex_filter, set.auto_create_missing_groups, Object.keys(set.mapping)], ['teams', '^eng-', true, ['<i>eng</i> 🏔']]);
    assert.deepEqual((await read('/organizations/desk/settings/idpsync/roles')).mapping, { boss: ['organization-admin'] });
    await button('Map <i>eng</i> 🏔 to crew no longer').click();
    await groups.getByText('No value is mapped.').waitFor();

    await page.goto('/deployment/sync');
    const organizations = page.getByRole('region', { name: 'Organizations' });
    await map(organizations, 'desk people', '<b>Desk</b>');
    await organizations.getByLabel('Claim').fill('orgs');
    await organizations.getByRole('switch', { name: 'Everybody is in the default organization' }).check();
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
    for (const no of ['Keys', 'Settings']) assert.equal(await page.getByRole('tab', { name: no }).count(), 0, `a member has no ${no}`);
    assert.equal(await button('Add member').count(), 0, 'and adds nobody');
  },
};

await person.go(`organizations-${which}`, journeys[which]);
