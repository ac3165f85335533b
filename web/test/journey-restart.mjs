// Pages that stay open while the server is killed and comes back:
//   node test/journey-restart.mjs URL PASSWORD restart   writes the file "open" when all are, "lost" when all know that it is gone, and waits for "back"
//   node test/journey-restart.mjs URL PASSWORD conflict  two tabs at one template's settings; a session that ends under a save
//   node test/journey-restart.mjs URL PASSWORD logout    the same pages after the logout in another tab, and after the next login
//   node test/journey-restart.mjs URL PASSWORD deleted   an organization, lab, deleted under pages of its member
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { sitDown } from './person.mjs';

const [url, password, which] = process.argv.slice(2);
const person = await sitDown(url, password, /WebSocket|ERR_CONNECTION|ERR_EMPTY|ERR_SOCKET|EventSource|status of 50\d/);
const { context, page, button, login, shows } = person;
const nasty = `<img src=x onerror=alert(1)> 🏔 ${'long '.repeat(2000)}`;

/** One page of each family: where it is, what shows that it is there, and a field to type into. */
const places = [
  { at: '/workspaces', has: /^Workspaces$/, field: (p) => p.getByRole('searchbox', { name: 'Search workspaces' }), live: 'stays' },
  { at: '/@admin/stays?tab=settings', has: /^stays$/, field: (p) => p.getByRole('textbox', { name: 'Name' }) },
  { at: '/templates/coder/local/workspace', has: /^New workspace$/, field: (p) => p.getByRole('textbox', { name: 'Name', exact: true }) },
  { at: '/templates/coder/local?tab=settings', has: /^local$/i, field: (p) => p.getByRole('textbox', { name: 'Description' }) },
  { at: '/templates/new?starter=local', has: /^New template$/, field: (p) => p.getByRole('textbox', { name: 'Description' }) },
  { at: '/organizations/coder/settings', has: /^coder$/i, field: (p) => p.getByRole('textbox', { name: 'Description' }) },
  { at: '/users', has: /^Users$/, live: 'late@example.com', open: 'New user', field: (p) => p.getByRole('dialog').getByRole('textbox', { name: 'Full name' }) },
  { at: '/audit', has: /^Audit log$/, live: 'created user late' },
  { at: '/deployment/appearance', has: /^Deployment$/, field: (p) => p.getByLabel(/Name of/i).or(p.getByRole('main').getByRole('textbox').first()).first() },
  { at: '/settings/account', has: /^Your account$/, field: (p) => p.getByLabel('Full name') },
];

/** Opens all of them, and types something into each. */
async function openAll() {
  const open = [];
  for (const place of places) {
    const tab = await context.newPage();
    await tab.goto(place.at);
    await tab.getByRole('heading', { name: place.has, level: 1 }).waitFor();
    if (place.open) await tab.getByRole('button', { name: place.open }).click();
    const text = place.at === '/workspaces' ? 'owner:me' : nasty;
    if (place.field) await place.field(tab).fill(text);
    open.push({ ...place, tab, text });
  }
  return open;
}

/** What was typed is there, however the page is covered. */
async function kept({ at, tab, field, text }) {
  if (field) assert.equal(await field(tab).inputValue(), text, `what was typed at ${at} is there`);
}

const journeys = {
  async restart() {
    await login('admin@example.com');
    const open = await openAll();
    writeFileSync(`${process.env.WORK}/open`, '');
    await Promise.all(open.filter((o) => o.live).map(({ tab }) => tab.getByText('The connection to the server is lost').waitFor()));
    writeFileSync(`${process.env.WORK}/lost`, '');
    while (!existsSync(`${process.env.WORK}/back`)) await pause(100);
    for (const place of open) {
      const { tab, has, live } = place;
      await tab.getByText('The connection to the server is lost').waitFor({ state: 'detached' }); // by itself
      await tab.getByRole('heading', { name: has, level: 1, includeHidden: true }).waitFor({ state: 'attached' });
      await kept(place);
      if (live) await tab.getByText(live).first().waitFor(); // it catches up with what it did not see
    }
  },

  async conflict() {
    await login('admin@example.com');
    const at = '/templates/coder/local?tab=settings';
    const other = await context.newPage();
    for (const tab of [page, other]) {
      await tab.goto(at);
      await tab.getByRole('textbox', { name: 'Description' }).waitFor();
    }
    await other.getByRole('textbox', { name: 'Description' }).fill('Mine');
    await page.getByRole('textbox', { name: 'Description' }).fill('Theirs');
    await button('Save').click();
    await shows('Saved');
    await other.getByText('Somebody else saved these settings while you edited').waitFor();
    assert.equal(await other.getByRole('textbox', { name: 'Description' }).inputValue(), 'Mine');
    await other.getByRole('button', { name: 'Save', exact: true }).click();
    await other.getByText(/changed|saved/i).nth(1).waitFor(); // refused, in words
    await other.getByRole('button', { name: 'Keep mine, to save it over theirs' }).click();
    await other.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('textbox', { name: 'Description' }).and(page.getByText('Mine')).waitFor(); // who typed nothing since follows

    await other.getByRole('textbox', { name: 'Description' }).fill('Typed before the end');
    await context.clearCookies(); // as after a logout in another tab
    await other.getByRole('button', { name: 'Save', exact: true }).click();
    await other.getByRole('heading', { name: 'Your session has ended' }).waitFor();
    await person.reads(other);
    await other.getByRole('textbox', { name: 'Password' }).fill(password);
    await other.getByRole('button', { name: 'Log in', exact: true }).click();
    await other.getByRole('heading', { name: 'Your session has ended' }).waitFor({ state: 'detached' });
    assert.equal(await other.getByRole('textbox', { name: 'Description' }).inputValue(), 'Typed before the end');
    await other.getByRole('button', { name: 'Save', exact: true }).click();
    await other.getByText('Saved').first().waitFor();
  },

  async logout() {
    await login('admin@example.com');
    const open = await openAll();
    await page.getByRole('button', { name: 'Account of admin' }).click();
    await page.getByRole('menuitem', { name: 'Log out' }).click();
    await button('Log in').waitFor();
    for (const { tab } of open) await tab.getByRole('heading', { name: 'Your session has ended' }).waitFor(); // without a click
    await page.getByLabel('Email').fill('admin@example.com');
    await page.getByRole('textbox', { name: 'Password' }).fill(password);
    await button('Log in').click();
    for (const place of open) {
      await place.tab.getByRole('heading', { name: 'Your session has ended' }).waitFor({ state: 'detached' }); // by itself
      await kept(place);
    }
    await page.getByRole('button', { name: 'Account of admin' }).click();
    await page.getByRole('menuitem', { name: 'Log out' }).click();
    await button('Log in').waitFor();
    await page.getByLabel('Email').fill('late@example.com');
    await page.getByRole('textbox', { name: 'Password' }).fill(password);
    await button('Log in').click();
    for (const { tab, at } of open.filter((o) => o.at !== '/workspaces')) {
      await tab.getByRole('button', { name: 'Account of late' }).waitFor({ state: 'attached' }); // another's page now
      assert.equal(await tab.getByText('<img src=x').count(), 0, `nothing of the other's is left at ${at}`);
    }
  },

  async deleted() {
    await login('late@example.com');
    const pages = [];
    for (const at of ['members', 'groups', 'groups/crew', 'settings']) {
      const tab = await context.newPage();
      await tab.goto(`/organizations/lab/${at}`);
      await tab.getByRole('main').getByRole('heading', { level: 1 }).waitFor();
      pages.push(tab);
    }
    const description = pages.at(-1).getByRole('textbox', { name: 'Description' });
    await description.fill(nasty);
    const made = await context.newPage();
    await made.goto('/templates/new?starter=local');
    await made.getByRole('textbox', { name: 'Description' }).fill(nasty);
    const picker = made.getByRole('combobox', { name: 'Organization' });
    await picker.click();
    await made.getByRole('option', { name: 'lab' }).click();
    writeFileSync(`${process.env.WORK}/watching`, '');
    for (const tab of pages) await tab.getByRole('main').getByRole('alert').first().waitFor(); // each is told, without a click
    await pages.at(-1).getByText('This organization is gone').waitFor();
    assert.equal(await description.inputValue(), nasty, 'what was typed is there');
    await pages.at(-1).getByRole('button', { name: 'Save', exact: true }).click();
    await pages.at(-1).getByRole('main').getByRole('alert').nth(1).waitFor(); // refused, in words
    await made.getByRole('textbox', { name: 'Name', exact: true }).fill('late-one');
    await made.getByRole('button', { name: 'Create template' }).click();
    await made.getByRole('main').getByRole('alert').first().waitFor();
    assert.equal(await made.getByRole('textbox', { name: 'Description' }).inputValue(), nasty);
    await page.goto('/workspaces'); // one goes on elsewhere
    await person.heading('Workspaces').waitFor();
  },
};

await person.go(`restart-${which}`, journeys[which]);
