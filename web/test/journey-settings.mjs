// A template of one's own files and all that is set about it, in the browser,
// against a real server:
//   node test/journey-settings.mjs URL PASSWORD upload    of a .tar, of a .zip, and of what is neither
//   node test/journey-settings.mjs URL PASSWORD set       variables, permissions, schedule; what a member then may
//   node test/journey-settings.mjs URL PASSWORD insights  after people worked with it
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { sitDown } from './person.mjs';
import { zip } from './zip.mjs';

const [url, password, which] = process.argv.slice(2);
const person = await sitDown(url, password);
const { context, page, heading, button, shows, login } = person;
const at = '/templates/coder/mine';
const pick = async (box, name) => {
  await page.getByRole('combobox', { name: box, exact: true }).click();
  await page.getByRole('option', { name }).click();
};
const upload = (name, buffer) => page.locator('input[type=file]').setInputFiles({ name, mimeType: 'application/octet-stream', buffer });

const journeys = {
  async upload() {
    await login('admin@example.com');
    await page.goto('/templates/new');
    await button('Upload a .tar or .zip').waitFor();
    await upload('photo.tar', Buffer.from('This is no archive at all.'));
    await button('Create template').click();
    await page.getByRole('main').getByRole('alert').first().waitFor(); // refused, in words
    await person.reads();
    await button('Another source').click();

    await upload('Mine.tar', readFileSync(`${process.env.WORK}/mine.tar`));
    const name = page.getByRole('textbox', { name: 'Name', exact: true });
    assert.equal(await name.inputValue(), 'mine');
    await button('Create template').click();
    await shows('The import failed'); // for want of a value
    await page.getByLabel('greeting').fill('<b>hello</b> 🏔');
    await button('Try again').click();
    await page.waitForURL(`**${at}`);
    await shows('Read me'); // its README

    await page.goto('/templates/new');
    await button('Upload a .tar or .zip').waitFor();
    await upload('zipped.zip', zip({ 'main.tf': 'resource "terraform_data" "x" {}\n', 'README.md': '# Zipped\n\n<script>alert(1)</script>\n' }));
    await button('Create template').click();
    await page.waitForURL('**/templates/coder/zipped');
    await heading('Zipped').waitFor();
  },

  async set() {
    await login('admin@example.com');
    await page.goto(`${at}?tab=variables`);
    assert.equal(await page.getByLabel('greeting').inputValue(), '<b>hello</b> 🏔');
    assert.equal(await page.getByRole('textbox', { name: 'secret' }).inputValue(), '', 'what is sensitive is not shown');
    await page.getByLabel('greeting').fill('good day');
    await button('Build a version').click();
    await button('Publish').click();
    await page.getByText('active', { exact: true }).first().waitFor();
    await page.reload();
    await page.getByLabel('greeting').and(page.locator('[value="good day"]')).waitFor();

    const members = await (await context.browser().newContext({ baseURL: url })).newPage();
    await members.request.post('/api/v2/users/login', { data: { email: 'member@example.com', password } });
    await members.goto('/templates');
    await members.getByRole('link', { name: 'Create a workspace of mine' }).waitFor();
    await page.getByRole('tab', { name: 'Permissions' }).click();
    await page.getByLabel('Everyone in the organization may use it').click();
    await members.getByRole('link', { name: 'Create a workspace of mine' }).waitFor({ state: 'detached' }); // without a reload
    await page.getByRole('combobox', { name: 'Add a user or a group' }).fill('crew');
    await page.getByRole('option', { name: 'crew' }).click();
    await button('Add').click();
    await page.getByRole('row', { name: /crew/ }).getByText('1 member').waitFor();
    await members.getByRole('link', { name: 'Create a workspace of mine' }).waitFor(); // by the group
    await members.goto(at);
    await members.getByRole('tab', { name: 'Versions' }).waitFor();
    assert.equal(await members.getByRole('tab', { name: 'Permissions' }).count(), 0);
    await page.getByRole('combobox', { name: 'Add a user or a group' }).fill('member');
    await page.getByRole('option', { name: /^member/ }).click();
    await pick('May', /^Admin/);
    await button('Add').click();
    await page.getByRole('row', { name: /member@example.com/ }).waitFor();
    await members.reload();
    await members.getByRole('tab', { name: 'Permissions' }).waitFor(); // an administrator of it now
    await pick('What member may do', /^Use/);
    await button('Remove crew').click();
    await button('Remove crew').waitFor({ state: 'detached' });
    await members.reload();
    await members.getByRole('tab', { name: 'Versions' }).waitFor();
    assert.equal(await members.getByRole('tab', { name: 'Permissions' }).count(), 0);
    await person.reads();

    await page.getByRole('tab', { name: 'Schedule' }).click();
    await page.getByLabel('Stops after, in hours').fill('8');
    await page.getByRole('group', { name: 'Has to stop on' }).getByLabel('Sunday').check();
    await pick('How often', 'Every 2 weeks');
    await page.getByLabel('Unused workspaces become dormant after, in days').fill('30');
    await page.getByLabel('Dormant workspaces are deleted after, in days').fill('7');
    await shows('will be deleted soon after you save');
    await page.getByLabel('Count for dormant ones from now on').check();
    await person.reads();
    await button('Save').click();
    await shows('Saved');
    await page.reload();
    await page.getByLabel('Stops after, in hours').and(page.locator('[value="8"]')).waitFor();
    assert.equal(await page.getByRole('group', { name: 'Has to stop on' }).getByLabel('Sunday').isChecked(), true);
    assert.equal(await page.getByLabel('Dormant workspaces are deleted after, in days').inputValue(), '7');
    const template = await (await page.request.get('/api/v2/organizations/default/templates/mine')).json();
    assert.deepEqual(
      [template.default_ttl_ms, template.time_til_dormant_ms, template.autostop_requirement],
      [8 * 3_600_000, 30 * 86_400_000, { days_of_week: ['sunday'], weeks: 2 }],
    );
    await page.getByLabel('Stops after, in hours').fill('-5');
    await button('Save').click();
    await page.getByRole('main').locator('[aria-invalid=true], [role=alert], :invalid').first().waitFor(); // said, not saved
  },

  async insights() {
    await login('admin@example.com');
    await page.goto(`${at}?tab=insights`);
    await shows('2 people worked with it');
    await page.getByRole('img', { name: /: 2/ }).waitFor(); // the chart, for who does not see it
    await page.getByRole('row', { name: /Web Terminal/i }).waitFor();
    await page.getByRole('row', { name: /member/ }).getByText('1 h 0 min').waitFor();
    await page.getByRole('heading', { name: 'Size' }).waitFor(); // a parameter, and which values it got
    await shows('Large');
    await page.getByText('Last 30 days').click();
    await shows('2 people worked with it');
    await person.reads();
  },
};

await person.go(`settings-${which}`, journeys[which]);
