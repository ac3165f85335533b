// Template uploads and settings, against a real server:
//   node test/journey-settings.mjs URL PASSWORD upload    a .tar, a .zip, and an invalid file
//   node test/journey-settings.mjs URL PASSWORD set       variables, permissions, schedule; the view of a member
//   node test/journey-settings.mjs URL PASSWORD insights  the insights of a used template
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { expect } from './browser.mjs';
import { sitDown } from './person.mjs';
import { zip } from './zip.mjs';

const [url, password, which] = process.argv.slice(2);
const person = await sitDown(url, password);
const { page, heading, button, shows, login } = person;
const at = '/templates/coder/mine';
const pick = async (box, name) => {
  await page.getByRole('combobox', { name: box, exact: true }).click();
  await page.getByRole('option', { name }).click();
};
const upload = (name, buffer) =>
  page.locator('input[type=file]').setInputFiles({ name, mimeType: 'application/octet-stream', buffer });

const journeys = {
  async upload() {
    await login('admin@example.com');
    await page.goto('/templates/new');
    await button('Upload archive').waitFor();
    await upload('photo.tar', Buffer.from('This is no archive at all.'));
    await button('Create template').click();
    await page.getByRole('main').getByRole('alert').first().waitFor(); // rejected
    await person.reads();
    await button('Change source').click();

    await upload('Mine.tar', readFileSync(`${process.env.WORK}/mine.tar`));
    const name = page.getByRole('textbox', { name: 'Name', exact: true });
    await expect(name).toHaveValue('mine');
    await button('Create template').click();
    await shows('Import failed'); // a variable has no value
    await page.getByLabel('greeting').fill('<b>hello</b> 🏔');
    await button('Retry').click();
    await page.waitForURL(`**${at}`);
    await shows('Read me'); // its README

    await page.goto('/templates/new');
    await button('Upload archive').waitFor();
    await upload(
      'zipped.zip',
      zip({ 'main.tf': 'resource "terraform_data" "x" {}\n', 'README.md': '# Zipped\n\n<script>alert(1)</script>\n' }),
    );
    await button('Create template').click();
    await page.waitForURL('**/templates/coder/zipped');
    await heading('Zipped').waitFor();
  },

  async set() {
    await login('admin@example.com');
    await page.goto(`${at}?tab=variables`);
    await expect(page.getByLabel('greeting')).toHaveValue('<b>hello</b> 🏔');
    assert.equal(
      await page.getByRole('textbox', { name: 'secret' }).inputValue(),
      '',
      'a sensitive value is displayed',
    );
    await page.getByLabel('greeting').fill('good day');
    await button('Build version').click();
    await button('Publish').click();
    await page.getByText('Active', { exact: true }).first().waitFor();
    await page.reload();
    await page.getByLabel('greeting').and(page.locator('[value="good day"]')).waitFor();

    const members = await person.elsewhere();
    await members.request.post('/api/v2/users/login', { data: { email: 'member@example.com', password } });
    await members.goto('/templates');
    await members.getByRole('link', { name: 'Create workspace from mine' }).waitFor();
    await page.getByRole('tab', { name: 'Permissions' }).click();
    await page.getByLabel('Allow all organization members to use this template').click();
    await members.getByRole('link', { name: 'Create workspace from mine' }).waitFor({ state: 'detached' }); // without a reload
    await page.getByRole('combobox', { name: 'User or group' }).fill('crew');
    await page.getByRole('option', { name: 'crew' }).click();
    await button('Add').click();
    await page.getByRole('row', { name: /crew/ }).getByText('1 member').waitFor();
    await members.getByRole('link', { name: 'Create workspace from mine' }).waitFor(); // as a member of the group
    await members.goto(at);
    await members.getByRole('tab', { name: 'Versions' }).waitFor();
    await expect(members.getByRole('tab', { name: 'Permissions' })).toHaveCount(0);
    await page.getByRole('combobox', { name: 'User or group' }).fill('member');
    await page.getByRole('option', { name: /^member/ }).click();
    await pick('Role', /^Admin/);
    await button('Add').click();
    await page.getByRole('row', { name: /member@example.com/ }).waitFor();
    await members.reload();
    await members.getByRole('tab', { name: 'Permissions' }).waitFor(); // now a template admin
    await pick('Role of member', /^Use/);
    await button('Remove crew').click();
    await button('Remove crew').waitFor({ state: 'detached' });
    await members.reload();
    await members.getByRole('tab', { name: 'Versions' }).waitFor();
    await expect(members.getByRole('tab', { name: 'Permissions' })).toHaveCount(0);
    await person.reads();

    await page.getByRole('tab', { name: 'Settings' }).click();
    await page.getByRole('switch', { name: 'Disable user secrets' }).check();
    await button('Save').click();
    await shows('Template saved');
    await page.reload();
    await page.getByRole('switch', { name: 'Disable user secrets', checked: true }).waitFor();
    await person.reads();

    await page.getByRole('tab', { name: 'Schedule' }).click();
    await page.getByLabel('Default autostop (hours)').fill('8');
    await page.getByRole('group', { name: 'Autostop requirement' }).getByLabel('Sunday').check();
    await pick('Frequency', 'Every 2 weeks');
    await page.getByLabel('Dormancy threshold (days)').fill('30');
    await page.getByLabel('Dormancy auto-deletion (days)').fill('7');
    await shows('are deleted soon after you save');
    await page.getByLabel('Reset the dormancy of all workspaces').check();
    await person.reads();
    await button('Save').click();
    await shows('Template saved');
    await page.reload();
    await page.getByLabel('Default autostop (hours)').and(page.locator('[value="8"]')).waitFor();
    await expect(page.getByRole('group', { name: 'Autostop requirement' }).getByLabel('Sunday')).toBeChecked();
    await expect(page.getByLabel('Dormancy auto-deletion (days)')).toHaveValue('7');
    const template = await (await page.request.get('/api/v2/organizations/default/templates/mine')).json();
    assert.deepEqual(
      [template.default_ttl_ms, template.time_til_dormant_ms, template.autostop_requirement],
      [8 * 3_600_000, 30 * 86_400_000, { days_of_week: ['sunday'], weeks: 2 }],
    );
    await page.getByLabel('Default autostop (hours)').fill('-5');
    await button('Save').click();
    await page.getByRole('main').locator('[aria-invalid=true], [role=alert], :invalid').first().waitFor(); // rejected
  },

  async insights() {
    await login('admin@example.com');
    await page.goto(`${at}?tab=insights`);
    await shows('2 active users');
    await page.getByRole('img', { name: /^Active users by / }).waitFor();
    await page.getByRole('button', { name: 'Show as table Active users' }).click(); // the text alternative of the chart
    await page.getByRole('row', { name: /^\S+ \d+ 2$/ }).waitFor();
    await page.getByRole('row', { name: /Web Terminal/i }).waitFor();
    await page
      .getByRole('row', { name: /member/ })
      .getByText('1 h 0 min')
      .waitFor();
    await page.getByRole('heading', { name: 'Size' }).waitFor(); // a parameter and its values
    await shows('Large');
    await page.getByText('Last 30 days').click();
    await shows('2 active users');
    await person.reads();
  },
};

await person.go(`settings-${which}`, journeys[which]);
