// Pages that stay open while the server is killed and comes back:
//   node test/journey-restart.mjs URL PASSWORD restart   writes the file "open" when all are, "lost" when all know that it is gone, and waits for "back"
//   node test/journey-restart.mjs URL PASSWORD conflict  two tabs at one template's settings; a tab after the logout in another
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

const journeys = {
  async restart() {
    await login('admin@example.com');
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
    writeFileSync(`${process.env.WORK}/open`, '');
    await Promise.all(open.filter((o) => o.live).map(({ tab }) => tab.getByText('The connection to the server is lost').waitFor()));
    writeFileSync(`${process.env.WORK}/lost`, '');
    while (!existsSync(`${process.env.WORK}/back`)) await pause(100);
    for (const { at, tab, has, field, text, live } of open) {
      await tab.getByText('The connection to the server is lost').waitFor({ state: 'detached' }); // by itself
      await tab.getByRole('heading', { name: has, level: 1, includeHidden: true }).waitFor({ state: 'attached' });
      if (field) assert.equal(await field(tab).inputValue(), text, `what was typed at ${at} is there`);
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
    await other.getByText(/Your session has ended|log in/i).first().waitFor();
  },
};

await person.go(`restart-${which}`, journeys[which]);
