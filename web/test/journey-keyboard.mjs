// The whole main job by keyboard alone, against a real server:
//   node test/journey-keyboard.mjs URL PASSWORD work
import assert from 'node:assert/strict';
import { sitDown } from './person.mjs';

const [url, password, which] = process.argv.slice(2);
const person = await sitDown(url, password);
const { context, page, heading, shows } = person;

/** What has the keyboard, as people know it, and whether they can see that it does. */
const here = (tab) =>
  tab.evaluate(() => {
    const e = document.activeElement;
    const style = getComputedStyle(e);
    const label = e.getAttribute('aria-label') ?? (e.labels?.[0]?.innerText || e.innerText || '');
    const field = e.matches('input, textarea'); // whose border tells
    return { name: label.trim().split('\n')[0], body: e === document.body, seen: field || style.outlineStyle !== 'none' || style.boxShadow !== 'none' };
  });

/** Goes on to what has the name, with Tab, as often as it takes. */
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

/** Opens the menu and goes down to the item. A menu takes the keyboard a moment after it is seen. */
async function choose(menu, item) {
  await at(menu);
  await press('Enter');
  await page.waitForFunction(() => document.activeElement.closest('[role=menu]'));
  for (let i = 0; i < 5 && !item.test((await here(page)).name); i++) await press('ArrowDown');
  await at(item);
}

/** Waits until the keyboard is back at what has the name: what closes gives it back when it is gone. */
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
    await page.getByRole('link', { name: 'Choose a template' }).waitFor();

    await page.reload(); // a page that is opened begins with the link past the menu
    await page.getByRole('link', { name: 'Choose a template' }).waitFor();
    await press('Tab');
    await at(/^Skip to the content$/);
    await page.waitForFunction(() => document.activeElement.matches('.skip') && document.activeElement.getBoundingClientRect().x >= 0); // it is shown when it is needed
    await press('Enter');
    await press('Tab');
    await at(/^New workspace$/); // past the menu
    await press('Enter');
    await heading('Templates').waitFor();
    await page.getByRole('link', { name: 'Create a workspace of local' }).waitFor();
    await tabTo(/^Create a workspace of local$/);
    await press('Enter');
    await page.getByRole('textbox', { name: 'Name', exact: true }).waitFor();
    await page.keyboard.type('keys');
    await press('Enter');
    await heading('keys').waitFor();
    await shows('ready');

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
    await terminal.keyboard.press('Tab'); // is the shell's own
    assert.equal(await terminal.evaluate(() => document.activeElement.className), 'xterm-helper-textarea');
    await terminal.keyboard.press('Control+Shift+L');
    await at(/^Back to keys$/, terminal);
    await terminal.keyboard.press('Enter');
    await terminal.getByRole('heading', { name: 'keys' }).waitFor();
    await terminal.close();

    await tabTo(/^Account of admin$/); // round again
    await tabTo(/^Stop$/);
    await press('Enter');
    await page.getByRole('button', { name: 'Start', exact: true }).waitFor();
    await at(/^(Start|Cancel|More)$/); // still where one was, though the button is another
    await tabTo(/^More$/);
    for (let i = 0; i < 3; i++) { // the first time the dialogs are loaded, the others they are there at once
      await choose(/^More$/, /^Delete …$/);
      await press('Enter');
      await page.waitForFunction(() => document.activeElement.matches('[role=dialog] input'));
      await page.getByRole('dialog').getByLabel('Type keys to go on').waitFor();
      await press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await backAt('More');
    }
    await choose(/^More$/, /favorite$/);
    await press('Escape');
    await page.getByRole('menu').waitFor({ state: 'detached' });
    await backAt('More');
    await choose(/^More$/, /^Delete …$/);
    await press('Enter');
    await page.waitForFunction(() => document.activeElement.matches('[role=dialog] input'));
    await page.keyboard.type('keys');
    await press('Enter');
    await shows('You have no workspace yet'); // gone to the list, once it is gone

    await tabTo(/^Filter$/);
    await press('/');
    await at(/^Search workspaces$/);
    await page.keyboard.type('status:failed');
    await shows('No workspace matches');
  },
};

await person.go(`keyboard-${which}`, journeys[which]);
