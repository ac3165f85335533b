// The main journey with the keyboard only, against a real server:
//   node test/journey-keyboard.mjs URL PASSWORD work
import assert from 'node:assert/strict';
import { sitDown } from './person.mjs';

const [url, password, which] = process.argv.slice(2);
const person = await sitDown(url, password);
const { context, page, heading, shows } = person;

/** Returns the label of the focused element and whether its focus is visible. */
const here = (tab) =>
  tab.evaluate(() => {
    const e = document.activeElement;
    const style = getComputedStyle(e);
    const label = e.getAttribute('aria-label') ?? (e.labels?.[0]?.innerText || e.innerText || '');
    const field = e.matches('input, textarea'); // shows focus with its border
    return {
      name: label.trim().split('\n')[0],
      body: e === document.body,
      seen: field || style.outlineStyle !== 'none' || style.boxShadow !== 'none',
    };
  });

/** Presses Tab until the element with the name is focused. */
async function tabTo(name, tab = page) {
  const passed = [];
  for (let i = 0; i < 60; i++) {
    await tab.keyboard.press('Tab');
    const at = await here(tab);
    if (!at.body) assert.ok(at.seen, `the focus on ${at.name} cannot be seen`);
    if (name.test(at.name)) return;
    passed.push(at.name);
  }
  assert.fail(`no ${name} among ${passed.join(', ')}`);
}

const at = async (name, tab = page) => assert.match((await here(tab)).name, name);
const press = (key) => page.keyboard.press(key);

/** Opens a menu and moves down to an item. The menu takes the focus shortly after it is visible. */
async function choose(menu, item) {
  await at(menu);
  await press('Enter');
  await page.waitForFunction(() => document.activeElement.closest('[role=menu]'));
  for (let i = 0; i < 5 && !item.test((await here(page)).name); i++) await press('ArrowDown');
  await at(item);
}

/** Waits until the element with the name has the focus again. */
const backAt = (name) => page.waitForFunction((n) => document.activeElement.getAttribute('aria-label') === n, name);

const journeys = {
  async work() {
    await page.goto('/login');
    await page.getByLabel('Email').waitFor();
    await page.keyboard.type('admin@example.com');
    await tabTo(/^Password/);
    await page.keyboard.type(password);
    await press('Enter');
    await heading('Workspaces').waitFor();
    await page.getByRole('link', { name: 'Select a template' }).waitFor();

    await page.reload(); // the first stop of a page is the skip link
    await page.getByRole('link', { name: 'Select a template' }).waitFor();
    await press('Tab');
    await at(/^Skip to content$/);
    await page.waitForFunction(
      () => document.activeElement.matches('.skip') && document.activeElement.getBoundingClientRect().x >= 0,
    ); // visible when focused
    await press('Enter');
    await press('Tab');
    await at(/^Create workspace$/); // past the navigation
    await press('Enter');
    await heading('Templates').waitFor();
    await page.getByRole('link', { name: 'Create workspace from local' }).waitFor();
    await tabTo(/^Create workspace from local$/);
    await press('Enter');
    await page.getByRole('textbox', { name: 'Name', exact: true }).waitFor();
    await page.keyboard.type('keys');
    await press('Enter');
    await heading('keys').waitFor();
    await shows('Ready');

    await tabTo(/^Overview$/);
    await press('ArrowRight');
    await at(/^Builds$/);
    await page.getByRole('link', { name: '#1' }).waitFor();
    await press('ArrowLeft');
    await tabTo(/^Terminal$/);
    const opening = context.waitForEvent('page');
    await press('Enter');
    const terminal = await opening;
    await terminal.locator('[data-terminal=open]').waitFor();
    await terminal.keyboard.type('echo "six times seven is $((6*7))"\n');
    await terminal.locator('.xterm-rows').getByText('six times seven is 42').first().waitFor();
    await terminal.keyboard.press('Tab'); // goes to the shell
    assert.equal(await terminal.evaluate(() => document.activeElement.className), 'xterm-helper-textarea');
    await terminal.keyboard.press('Control+Shift+L');
    await at(/^Back to keys$/, terminal);
    await terminal.keyboard.press('Enter');
    await terminal.getByRole('heading', { name: 'keys' }).waitFor();
    await terminal.close();

    await tabTo(/^Account menu of admin$/); // from the start of the page
    await tabTo(/^Stop$/);
    await press('Enter');
    await page.getByRole('button', { name: 'Start', exact: true }).waitFor();
    await at(/^(Start|Cancel|More actions)$/); // the focus stays in the group of buttons
    await tabTo(/^More actions$/);
    for (let i = 0; i < 3; i++) {
      // dialogs are loaded the first time only
      await choose(/^More actions$/, /^Delete…$/);
      await press('Enter');
      await page.waitForFunction(() => document.activeElement.matches('[role=dialog] input'));
      await page.getByRole('dialog').getByLabel('Type keys to confirm').waitFor();
      await press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await backAt('More actions');
    }
    await choose(/^More actions$/, /favorites$/);
    await press('Escape');
    await page.getByRole('menu').waitFor({ state: 'detached' });
    await backAt('More actions');
    await choose(/^More actions$/, /^Delete…$/);
    await press('Enter');
    await page.waitForFunction(() => document.activeElement.matches('[role=dialog] input'));
    await page.keyboard.type('keys');
    await press('Enter');
    await shows('No workspaces yet'); // redirected to the list once it is deleted

    await tabTo(/^Status$/);
    await press('/');
    await at(/^Search workspaces$/);
    await page.keyboard.type('status:failed');
    await shows('No workspaces found');
  },
};

await person.go(`keyboard-${which}`, journeys[which]);
