// Pages that stay open while the server restarts or the session ends:
//   node test/journey-restart.mjs URL PASSWORD restart   the server restarts
//   node test/journey-restart.mjs URL PASSWORD conflict  two tabs edit one template
//   node test/journey-restart.mjs URL PASSWORD logout    a sign-out in another tab
//   node test/journey-restart.mjs URL PASSWORD deleted   the organization lab is deleted
// The journey restart creates the file "open" when all pages are open, and "lost" when all report
// the lost connection. Then it waits for the file "back".
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from './browser.mjs';
import { sitDown } from './person.mjs';

const [url, password, which] = process.argv.slice(2);
const person = await sitDown(url, password, /WebSocket|ERR_CONNECTION|ERR_EMPTY|ERR_SOCKET|EventSource|status of 50\d/);
const { context, page, button, login, shows } = person;
const nasty = `<img src=x onerror=alert(1)> 🏔 ${'long '.repeat(2000)}`;

/** One page of each kind: its path, its heading, and a field to type into. */
const places = [
  {
    at: '/workspaces',
    has: /^Workspaces$/,
    field: (p) => p.getByRole('searchbox', { name: 'Search workspaces' }),
    live: 'stays',
  },
  { at: '/@admin/stays?tab=settings', has: /^stays$/, field: (p) => p.getByRole('textbox', { name: 'Name' }) },
  {
    at: '/templates/coder/local/workspace',
    has: /^Create workspace$/,
    field: (p) => p.getByRole('textbox', { name: 'Name', exact: true }),
  },
  {
    at: '/templates/coder/local?tab=settings',
    has: /^local$/i,
    field: (p) => p.getByRole('textbox', { name: 'Description' }),
  },
  {
    at: '/templates/new?starter=local',
    has: /^Create template$/,
    field: (p) => p.getByRole('textbox', { name: 'Description' }),
  },
  {
    at: '/organizations/coder/settings',
    has: /^coder$/i,
    field: (p) => p.getByRole('textbox', { name: 'Description' }),
  },
  {
    at: '/users',
    has: /^Users$/,
    live: 'late@example.com',
    open: 'Create user',
    field: (p) => p.getByRole('dialog').getByRole('textbox', { name: 'Full name' }),
  },
  { at: '/audit', has: /^Audit log$/, live: 'created user late' },
  { at: '/deployment/appearance', has: /^Deployment$/, field: (p) => p.getByLabel('Application name') },
  { at: '/settings/account', has: /^Account settings$/, field: (p) => p.getByLabel('Full name') },
];

/** Opens all pages and types into each. */
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

/** Asserts that the input is kept, even while the page is covered. */
async function kept({ at, tab, field, text }) {
  if (field) await expect(field(tab), `the input at ${at} is lost`).toHaveValue(text);
}

const journeys = {
  async restart() {
    await login('admin@example.com');
    const open = await openAll();
    const stop = await context.newPage();
    await stop.goto('/@admin/stays');
    await stop.getByRole('button', { name: 'Stop', exact: true }).waitFor();
    writeFileSync(`${process.env.WORK}/open`, '');
    await Promise.all(
      open.filter((o) => o.live).map(({ tab }) => tab.getByText('Connection to the server lost').waitFor()),
    );
    await stop.getByRole('button', { name: 'Stop', exact: true }).click(); // reports why, and keeps the page
    await stop
      .getByText(/server cannot be reached/)
      .first()
      .waitFor();
    await stop.getByRole('heading', { name: 'stays', level: 1 }).waitFor();
    await stop.close();
    writeFileSync(`${process.env.WORK}/lost`, '');
    while (!existsSync(`${process.env.WORK}/back`)) await pause(100);
    for (const place of open) {
      const { tab, has, live } = place;
      await tab.getByText('Connection to the server lost').waitFor({ state: 'detached' }); // automatically
      await tab.getByRole('heading', { name: has, level: 1, includeHidden: true }).waitFor({ state: 'attached' });
      await kept(place);
      if (live) await tab.getByText(live).first().waitFor(); // it loads the missed changes
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
    await shows('Template saved');
    await other.getByText('Another user changed these settings').waitFor();
    await expect(other.getByRole('textbox', { name: 'Description' })).toHaveValue('Mine');
    await other.getByRole('button', { name: 'Save', exact: true }).click();
    await other
      .getByText(/changed|saved/i)
      .nth(1)
      .waitFor(); // rejected
    await other.getByRole('button', { name: 'Keep my changes' }).click();
    await other.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('textbox', { name: 'Description' }).and(page.getByText('Mine')).waitFor(); // a tab without edits follows

    await other.getByRole('textbox', { name: 'Description' }).fill('Typed before the end');
    await context.clearCookies(); // like a sign-out in another tab
    await other.getByRole('button', { name: 'Save', exact: true }).click();
    await other.getByRole('heading', { name: 'Your session has ended' }).waitFor();
    await person.reads(other);
    await other.getByRole('textbox', { name: 'Password' }).fill(password);
    await other.getByRole('button', { name: 'Sign in', exact: true }).click();
    await other.getByRole('heading', { name: 'Your session has ended' }).waitFor({ state: 'detached' });
    await expect(other.getByRole('textbox', { name: 'Description' })).toHaveValue('Typed before the end');
    await other.getByRole('button', { name: 'Save', exact: true }).click();
    await other.getByText('Template saved').first().waitFor();
  },

  async logout() {
    await login('admin@example.com');
    const open = await openAll();
    await page.getByRole('button', { name: 'Account menu of admin' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await button('Sign in').waitFor();
    for (const { tab } of open) await tab.getByRole('heading', { name: 'Your session has ended' }).waitFor(); // without a click
    await page.getByLabel('Email').fill('admin@example.com');
    await page.getByRole('textbox', { name: 'Password' }).fill(password);
    await button('Sign in').click();
    for (const place of open) {
      await place.tab.getByRole('heading', { name: 'Your session has ended' }).waitFor({ state: 'detached' }); // automatically
      await kept(place);
    }
    await page.getByRole('button', { name: 'Account menu of admin' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await button('Sign in').waitFor();
    await page.getByLabel('Email').fill('late@example.com');
    await page.getByRole('textbox', { name: 'Password' }).fill(password);
    await button('Sign in').click();
    for (const { tab, at } of open.filter((o) => o.at !== '/workspaces')) {
      await tab.getByRole('button', { name: 'Account menu of late' }).waitFor({ state: 'attached' }); // now the page of the other user
      assert.equal(await tab.getByText('<img src=x').count(), 0, `data of the previous user is left at ${at}`);
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
    for (const tab of pages) await tab.getByRole('main').getByRole('alert').first().waitFor(); // each reports it, without a click
    await pages.at(-1).getByText('This organization was deleted').waitFor();
    await expect(description, 'the input is lost').toHaveValue(nasty);
    await pages.at(-1).getByRole('button', { name: 'Save', exact: true }).click();
    await pages.at(-1).getByRole('main').getByRole('alert').nth(1).waitFor(); // rejected
    await made.getByRole('textbox', { name: 'Name', exact: true }).fill('late-one');
    await made.getByRole('button', { name: 'Create template' }).click();
    await made.getByRole('main').getByRole('alert').first().waitFor();
    await expect(made.getByRole('textbox', { name: 'Description' })).toHaveValue(nasty);
    await page.goto('/workspaces'); // other pages still work
    await person.heading('Workspaces').waitFor();
  },
};

await person.go(`restart-${which}`, journeys[which]);
