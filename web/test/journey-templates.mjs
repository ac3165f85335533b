// Template administration, against a real server:
//   node test/journey-templates.mjs URL PASSWORD create   from a starter; invalid names; HTML is displayed as text
//   node test/journey-templates.mjs URL PASSWORD edit     failed and published versions, two tabs
//   node test/journey-templates.mjs URL PASSWORD remove   delete a template
import { expect } from './browser.mjs';
import { sitDown } from './person.mjs';

const [url, password, which] = process.argv.slice(2);
const person = await sitDown(url, password);
const { context, page, heading, button, shows, login } = person;
const at = '/templates/coder/made';
const broken = '\nresource "terraform_data" "x" {\n  input = nothing.there\n}\n';

/** Appends text to the open file. */
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
    await page
      .getByRole('button', { name: /Local process/ })
      .first()
      .waitFor();
    await page.goto('/templates/new?starter=local');
    const name = page.getByRole('textbox', { name: 'Name', exact: true });
    await name.fill('invalid name 😀');
    await button('Create template').click();
    await shows('Use letters, digits and single hyphens between them.');
    await name.fill('x'.repeat(10_000));
    await shows('Use at most 32 characters.');
    await name.fill('made');
    await page.getByRole('checkbox', { name: 'Personalize' }).check();
    await page.getByRole('button', { name: 'personalize.tf' }).click(); // the Terraform of the module
    await page.getByRole('textbox', { name: 'personalize.tf' }).getByText('coder_script').first().waitFor();
    await page.getByRole('textbox', { name: 'Display name' }).fill('<b onload=x>Made</b> 🏔');
    await button('Create template').click();
    await page.waitForURL(`**${at}`);
    await heading('<b onload=x>Made</b> 🏔').waitFor(); // displayed as text
    await watcher.getByText('<b onload=x>Made</b> 🏔').first().waitFor(); // without a reload

    await page.goto(`${at}?tab=settings`);
    await page.getByRole('textbox', { name: 'Description' }).fill('y'.repeat(10_000));
    await button('Save').click();
    await page.getByRole('main').getByRole('alert').first().waitFor(); // rejected, and the input is kept
    await expect(page.getByRole('textbox', { name: 'Description' })).toHaveValue('y'.repeat(10_000));
    await page.getByRole('textbox', { name: 'Description' }).fill('<script>alert(1)</script>');
    await page.getByRole('textbox', { name: 'Display name' }).fill('Made here');
    await button('Save').click();
    await heading('Made here').waitFor();
    await shows('<script>alert(1)</script>');

    const icon = page.getByRole('textbox', { name: 'Icon', exact: true });
    const picker = page.getByRole('dialog', { name: 'Select icon' });
    await button('Select icon').click();
    await picker.getByRole('button', { name: 'docker', exact: true }).waitFor();
    await person.reads();
    await picker.getByRole('searchbox', { name: 'Search icons and emoji' }).fill('whale');
    await picker.getByRole('button', { name: 'spouting whale', exact: true }).click();
    await expect(icon).toHaveValue('/emojis/1f433.png');
    await picker.waitFor({ state: 'detached' });
    await button('Select icon').press('Enter'); // with the keyboard only
    await page.waitForFunction(() => document.activeElement.type === 'search');
    await page.keyboard.type('postgres');
    await picker.getByText('1 of', { exact: false }).waitFor();
    await page.keyboard.press('Enter');
    await expect(icon).toHaveValue('/icon/postgresql.svg');
    await page.waitForFunction(() => document.activeElement.getAttribute('aria-label') === 'Select icon');
    await button('Save').click();
    await page.locator('img[src="/icon/postgresql.svg"]').first().waitFor();
    await page.waitForFunction(() => document.querySelector('img[src="/icon/postgresql.svg"]').naturalWidth > 0);
  },

  async edit() {
    await login('admin@example.com');
    await page.goto(`${at}/edit`);
    await write(page, broken);
    await shows('1 file changed');
    const problems = page.getByRole('region', { name: 'Problems' });
    await problems.getByText('Reference to undeclared resource').waitFor(); // before a build
    await button('Build version').click();
    await shows('Import failed');
    await page
      .getByRole('log')
      .getByText(/undeclared|nothing/)
      .first()
      .waitFor(); // the message of Terraform
    await expect(button('Publish…'), 'a failed version can be published').toBeDisabled();

    page.on('dialog', (d) => d.accept());
    await page.reload(); // edits survive it
    await shows('Unpublished changes restored');
    await write(page, ''); // scrolls to the end: hidden lines are not in the DOM
    await page.getByText('nothing.there').first().waitFor();
    const other = await context.newPage();
    await other.goto(`${at}/edit`);
    await other.getByText('This template is open in another tab').waitFor();
    await page.getByText('This template is open in another tab').waitFor();

    await button('Discard changes').click();
    await write(page, '\n# <i>one</i> line more\n');
    await button('Build version').click();
    await page.locator('button:not([disabled])', { hasText: 'Publish…' }).click();
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('second');
    await page.getByRole('dialog').getByRole('textbox', { name: 'Message' }).fill('A <b>line</b>');
    await page.getByRole('dialog').getByRole('button', { name: 'Publish', exact: true }).click();
    await page.waitForURL(`**${at}`);
    await other.getByText('admin published second').waitFor(); // the other tab reports it
    await other.close();

    await page.getByRole('tab', { name: 'Versions' }).click();
    await page.getByRole('link', { name: 'second', exact: true }).click();
    await heading('second').waitFor();
    await shows('A <b>line</b>');
    await page.getByText('# <i>one</i> line more').first().waitFor(); // the changes since the previous version
    await page.getByRole('tab', { name: 'Files' }).click();
    await shows('main.tf');
  },

  async remove() {
    await login('admin@example.com');
    await page.goto(`${at}?tab=settings`);
    await button('Delete template…').click();
    await expect(button('Delete template'), 'the name must be typed first').toBeDisabled();
    await page.getByLabel('Type made to confirm').fill('made');
    await button('Delete template').click();
    await heading('Templates').waitFor();
    await page.goto(at);
    await page.getByRole('main').getByRole('alert').waitFor();
  },
};

await person.go(`templates-${which}`, journeys[which]);
