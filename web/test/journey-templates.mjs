// What somebody who makes templates does in the browser, against a real server:
//   node test/journey-templates.mjs URL PASSWORD create   one made of a starter; names that are none; text that is shown as text
//   node test/journey-templates.mjs URL PASSWORD edit     a version that fails, one that is published, two tabs, the difference
//   node test/journey-templates.mjs URL PASSWORD remove   deleted, after its name was typed
import assert from 'node:assert/strict';
import { sitDown } from './person.mjs';

const [url, password, which] = process.argv.slice(2);
const person = await sitDown(url, password);
const { context, page, heading, button, shows, login } = person;
const at = '/templates/coder/made';
const broken = '\nresource "terraform_data" "x" {\n  input = nothing.there\n}\n';

/** Puts text at the end of the file that is open. */
async function write(tab, text) {
  await tab.getByRole('textbox', { name: 'main.tf' }).click();
  await tab.keyboard.press('Control+End');
  await tab.keyboard.insertText(text);
}

const journeys = {
  async create() {
    await login('admin@example.com');
    const watcher = await context.newPage();
    await watcher.goto('/templates');
    await watcher.getByRole('heading', { name: 'Templates', exact: true }).waitFor();
    await page.goto('/templates/new');
    await page.getByRole('button', { name: /Local process/ }).first().waitFor();
    await page.goto('/templates/new?starter=local');
    const name = page.getByRole('textbox', { name: 'Name', exact: true });
    await name.fill('no name 😀');
    await button('Create template').click();
    await shows('Use letters, digits and single hyphens between them.');
    await name.fill('x'.repeat(10_000));
    await shows('Use at most 32 characters.');
    await name.fill('made');
    await page.getByRole('textbox', { name: 'Display name' }).fill('<b onload=x>Made</b> 🏔');
    await button('Create template').click();
    await page.waitForURL(`**${at}`);
    await heading('<b onload=x>Made</b> 🏔').waitFor(); // text, as it was typed
    await watcher.getByText('<b onload=x>Made</b> 🏔').first().waitFor(); // without a reload

    await page.goto(`${at}?tab=settings`);
    await page.getByRole('textbox', { name: 'Description' }).fill('y'.repeat(10_000));
    await button('Save').click();
    await page.getByRole('main').getByRole('alert').first().waitFor(); // refused, in words, and what was typed is still there
    assert.equal((await page.getByRole('textbox', { name: 'Description' }).inputValue()).length, 10_000);
    await page.getByRole('textbox', { name: 'Description' }).fill('<script>alert(1)</script>');
    await page.getByRole('textbox', { name: 'Display name' }).fill('Made here');
    await button('Save').click();
    await heading('Made here').waitFor();
    await shows('<script>alert(1)</script>');
  },

  async edit() {
    await login('admin@example.com');
    await page.goto(`${at}/edit`);
    await write(page, broken);
    await shows('1 file changed');
    await button('Build').click();
    await shows('The import failed');
    await page.getByRole('log').getByText(/undeclared|nothing/).first().waitFor(); // Terraform's own words
    assert.equal(await button('Publish …').isDisabled(), true, 'what failed cannot be published');

    page.on('dialog', (d) => d.accept());
    await page.reload(); // what was typed outlives it
    await shows('Your changes from before are back');
    await write(page, ''); // what is out of sight is not in the page
    await page.getByText('nothing.there').first().waitFor();
    const other = await context.newPage();
    await other.goto(`${at}/edit`);
    await other.getByText('You edit this template in another tab too').waitFor();
    await page.getByText('You edit this template in another tab too').waitFor();

    await button('Discard').click();
    await write(page, '\n# <i>one</i> line more\n');
    await button('Build').click();
    await page.locator('button:not([disabled])', { hasText: 'Publish …' }).click();
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('second');
    await page.getByRole('dialog').getByRole('textbox', { name: 'What changed' }).fill('A <b>line</b>');
    await page.getByRole('dialog').getByRole('button', { name: 'Publish', exact: true }).click();
    await page.waitForURL(`**${at}`);
    await other.getByText('admin published second while you edit').waitFor(); // the second is told
    await other.close();

    await page.getByRole('tab', { name: 'Versions' }).click();
    await page.getByRole('link', { name: 'second', exact: true }).click();
    await heading('second').waitFor();
    await shows('A <b>line</b>');
    await page.getByText('# <i>one</i> line more').first().waitFor(); // the difference from the version before
    await page.getByRole('tab', { name: 'Files' }).click();
    await shows('main.tf');
  },

  async remove() {
    await login('admin@example.com');
    await page.goto(`${at}?tab=settings`);
    await button('Delete …').click();
    assert.equal(await button('Delete the template').isDisabled(), true, 'the name must be typed first');
    await page.getByLabel('Type made to go on').fill('made');
    await button('Delete the template').click();
    await heading('Templates').waitFor();
    await page.goto(at);
    await page.getByRole('main').getByRole('alert').waitFor();
  },
};

await person.go(`templates-${which}`, journeys[which]);
