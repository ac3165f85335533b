// The ways into a workspace and to one, in the browser, against a real server:
//   node test/journey-ways.mjs URL PASSWORD ports      what listens, who else may open it, and no longer (PORT listens)
//   node test/journey-ways.mjs URL PASSWORD apps       editors, SSH, terminals, logs to keep; what a link may not do by itself
//   node test/journey-ways.mjs URL PASSWORD create     for somebody else, by a link, like another one
//   node test/journey-ways.mjs URL PASSWORD connections  who came by which
//   node test/journey-ways.mjs URL PASSWORD schedule   what the template adds; again from a stop; awake again
//   node test/journey-ways.mjs URL PASSWORD shared     what somebody sees whom it is shared with
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { sitDown } from './person.mjs';

const [url, password, which] = process.argv.slice(2);
const port = process.env.PORT ?? '34999';
const person = await sitDown(url, password, /status of 502/);
const { context, page, heading, button, shows, login } = person;
const tab = (name) => page.getByRole('tab', { name, exact: true });
const nameField = page.getByRole('textbox', { name: 'Name', exact: true });
const pick = async (box, name, at = page) => {
  await at.getByRole('combobox', { name: box, exact: true }).click();
  await at.getByRole('option', { name }).click();
};
const menu = async (name) => {
  await button('More').click();
  await page.getByRole('menuitem', { name }).click();
};
const ask = async (path) => (await page.request.get(`/api/v2${path}`)).json();
/** Another person at another browser. */
async function another(email) {
  const other = await context.browser().newContext({ baseURL: url });
  other.setDefaultTimeout(30_000);
  await other.request.post('/api/v2/users/login', { data: { email, password } });
  return other.newPage();
}

const journeys = {
  async ports() {
    await login('admin@example.com');
    await page.goto('/@admin/dev');
    await button('Ports').click();
    await shows('The template lets nobody else open ports');
    const watcher = await context.newPage();
    await watcher.goto('/@admin/dev?tab=ports');
    const listens = page.getByRole('link', { name: `Open port ${port}` });
    await listens.waitFor();
    const opening = context.waitForEvent('page');
    await listens.click();
    const opened = await opening;
    await opened.getByText('Hello from the port').waitFor(); // signed in by the way
    await opened.close();
    await person.reads();

    const { id } = await ask('/organizations/default/templates/local');
    await page.request.patch(`/api/v2/templates/${id}`, { data: { max_port_share_level: 'authenticated' } });
    await page.getByRole('combobox', { name: 'Port', exact: true }).fill('70000'); // which nothing listens on; the form is there without a reload
    await button('Share').click();
    await shows('Give a port from 9 to 65535.');
    await page.getByRole('combobox', { name: 'Port', exact: true }).fill(port);
    await pick('Who may open it', 'Members of the organization');
    assert.equal(await page.getByRole('option', { name: 'Everybody', exact: true }).count(), 0, 'more than the template lets through');
    await button('Share').click();
    await watcher.getByRole('button', { name: `Stop sharing port ${port}` }).waitFor(); // without a reload
    await pick(`Who may open port ${port}`, 'Everybody who is logged in');
    await person.reads();
    const { workspaces } = await ask('/workspaces?q=name:dev');
    const address = await page.getByRole('table').getByRole('link', { name: `Open port ${port}` }).getAttribute('href');
    const member = await another('member@example.com');
    await member.goto(address);
    await member.getByText('Hello from the port').waitFor();

    await page.request.patch(`/api/v2/templates/${id}`, { data: { max_port_share_level: 'organization' } });
    await shows('the template does not let it be any more');
    await button(`Stop sharing port ${port}`).click();
    await shows('No port is shared.');
    assert.deepEqual((await ask(`/workspaces/${workspaces[0].id}/port-share`)).shares, []);
    await watcher.getByText('No port is shared.').waitFor();
  },

  async apps() {
    await login('admin@example.com');
    await page.goto('/@admin/dev');
    await button('SSH').click();
    await shows('coder ssh dev');
    await shows('ssh main.dev.admin.coder');
    await person.reads();
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });

    await button('More ways').click();
    assert.equal(await page.getByRole('menuitem', { name: 'Handbook' }).getAttribute('href'), 'https://example.com/');
    await page.keyboard.press('Escape');

    const opening = context.waitForEvent('page');
    await page.getByRole('link', { name: 'Processes' }).click();
    const terminal = await opening;
    await terminal.locator('.xterm-rows').getByText('this is the app').first().waitFor();
    await terminal.close();

    // Anybody can write a command into a link.
    const strange = await context.newPage();
    await strange.goto('/@admin/dev/terminal?command=echo+written+by+a+stranger');
    await strange.getByRole('heading', { name: 'Run this in your workspace?' }).waitFor();
    await person.reads(strange);
    await strange.getByRole('button', { name: 'Open a shell without it' }).click();
    await strange.locator('[data-terminal=open]').waitFor();
    await strange.close();

    await button('Show the log').click();
    const log = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download the log of main' }).click();
    assert.match(readFileSync(await (await log).path(), 'utf8'), /\S/);
    await page.goto('/@admin/dev/builds/1');
    const build = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download the log' }).click();
    assert.equal((await build).suggestedFilename(), 'dev-1.log');
    assert.match(readFileSync(await (await build).path(), 'utf8'), /coder_agent/);
    await person.reads();

    await page.goto('/@admin/dev');
    // Last, as the browser then asks which program may take the address. An editor is handed a token that was made for it, which is nowhere on the page.
    const devtools = await context.newCDPSession(page);
    await devtools.send('Page.enable');
    const handed = new Promise((resolve) => devtools.on('Page.frameRequestedNavigation', (e) => resolve(e.url)));
    await button('VS Code Desktop').click();
    const link = new URL(await handed);
    assert.equal(`${link.protocol}//${link.host}${link.pathname}`, 'vscode://coder.coder-remote/open');
    const said = Object.fromEntries(link.searchParams);
    assert.deepEqual([said.url, said.owner, said.workspace, said.agent], [url, 'admin', 'dev', 'main']);
    const me = await fetch(`${url}/api/v2/users/me`, { headers: { 'Coder-Session-Token': said.token } });
    assert.equal((await me.json()).username, 'admin');
    assert.equal((await page.content()).includes(said.token), false);
    assert.equal(page.url().includes('token'), false);
    assert.equal(await button('VS Code Insiders').count(), 0, 'the template does not show it');
  },

  async create() {
    await login('admin@example.com');
    await page.goto('/templates/coder/local/workspace?name=linked&param.niceness=7&param.odd=x&disable_params=niceness');
    await nameField.and(page.locator('[value=linked]')).waitFor();
    await shows('The template has no parameter odd');
    await page.getByText('7', { exact: true }).waitFor();
    assert.equal(await page.getByRole('slider', { name: 'Niceness' }).count(), 0, 'it cannot be changed');
    await page.getByRole('combobox', { name: 'Owner' }).fill('mem');
    await page.getByRole('option', { name: /^member/ }).click();
    await person.reads();
    await button('Create workspace').click();
    await page.waitForURL('**/@member/linked');
    await shows('ready');

    await page.goto('/templates/coder/local/workspace?mode=auto&name=auto&param.niceness=5');
    await shows('The link that you followed wants to make the workspace');
    await page.getByRole('row', { name: 'Niceness 5' }).waitFor();
    assert.equal((await page.request.get('/api/v2/users/me/workspace/auto')).status(), 404, 'a link makes nothing by itself');
    await person.reads();
    await page.keyboard.press('Enter');
    await page.waitForURL('**/@admin/auto');
    await shows('ready');
    await page.goto('/templates/coder/local/workspace?mode=auto&name=auto&param.niceness=5');
    await page.waitForURL('**/@admin/auto'); // the one that is there

    await menu('Duplicate …');
    await heading('Another like auto').waitFor();
    await nameField.and(page.locator('[value=auto-copy]')).waitFor();
    assert.equal(await page.getByRole('slider', { name: 'Niceness' }).getAttribute('aria-valuenow'), '5');

    await page.goto('/templates/coder/local?tab=embed');
    await page.getByLabel('Name of the workspace').fill('123');
    await page.getByLabel('Fill in Repository').check();
    await page.getByLabel('Repository', { exact: true }).fill('https://example.com/a?b=c&d');
    await person.reads();
    const address = `${url}/templates/coder/local/workspace?name=123&param.repository=https%3A%2F%2Fexample.com%2Fa%3Fb%3Dc%26d`;
    await shows(`[![Open in Coder](${url}/open-in-coder.svg)](${address})`);
    await page.goto(address);
    await nameField.and(page.locator('[value="123"]')).waitFor();
    assert.equal(await page.getByLabel('Repository').inputValue(), 'https://example.com/a?b=c&d');

    const member = await another('member@example.com');
    await member.goto('/templates/coder/local/workspace');
    await member.getByRole('button', { name: 'Create workspace' }).waitFor();
    assert.equal(await member.getByRole('combobox', { name: 'Owner' }).count(), 0, 'a member makes only their own');
  },

  async connections() {
    await login('admin@example.com');
    await page.goto('/audit');
    await page.getByRole('link', { name: 'Connection log' }).click();
    await heading('Connection log').waitFor();
    await page.getByRole('row', { name: new RegExp(`member.*Port ${port}`) }).waitFor();
    await page.getByRole('searchbox').fill('status:ongoing type:reconnecting_pty');
    await shows('Nothing matches');
    const terminal = await context.newPage();
    await terminal.goto('/@admin/dev/terminal');
    await terminal.locator('[data-terminal=open]').waitFor();
    await page.getByRole('row', { name: /admin\/dev.*Web terminal.*connected/ }).waitFor(); // without a reload
    await terminal.close();
    await shows('Nothing matches');
    await button('Filter').click();
    await page.getByRole('menuitem', { name: 'Web terminal' }).click();
    await page.waitForURL(/q=type(:|%3A)reconnecting_pty/);
    await page.getByRole('row', { name: /admin\/dev.*Web terminal.*after/ }).first().waitFor();
    await page.getByRole('menuitem').first().waitFor({ state: 'detached' }); // a menu that closes is in no part of the page
    await person.reads();
    await page.getByRole('searchbox').fill('nonsense:x');
    await page.getByRole('main').getByRole('alert').waitFor(); // which terms there are, in words
  },

  async schedule() {
    await login('admin@example.com');
    const { id } = await ask('/organizations/default/templates/local');
    const set = (data) => page.request.patch(`/api/v2/templates/${id}`, { data });
    await set({ autostop_requirement: { days_of_week: ['sunday'], weeks: 2 }, autostart_requirement: { days_of_week: ['monday', 'tuesday'] }, time_til_dormant_ms: 30 * 86_400_000 });
    await page.goto('/@admin/dev?tab=schedule');
    await shows('It stops every 2 weeks on sunday, when your quiet hours begin');
    await page.getByRole('link', { name: 'Choose your quiet hours' }).waitFor();
    await shows('Unused for 30 days it becomes dormant.');
    await page.getByLabel('Start by itself').click();
    await shows('on monday, tuesday only.');
    for (const day of ['Mon', 'Tue']) await page.getByText(day, { exact: true }).click();
    await shows('this one never would.');
    await page.getByText('Mon', { exact: true }).click();
    await person.reads();
    await button('Save').click();
    await shows('It starts next');

    await tab('Overview').click();
    await menu('Restart');
    await tab('Builds').click();
    for (const row of [/#2 stop succeeded/, /#3 start succeeded/]) await page.getByRole('row', { name: row }).waitFor(); // from a stop, by itself
    await page.getByRole('link', { name: '#3' }).click();
    await pick('Compared with', 'since #1');
    await shows('Neither version nor parameters.');
    await page.getByRole('link', { name: 'Back to the workspace' }).click();
    await tab('Schedule').click();
    await shows('At the latest'); // of what runs since the template has it stop
    await person.reads();

    const w = await ask('/users/me/workspace/dev');
    await page.request.put(`/api/v2/workspaces/${w.id}/dormant`, { data: { dormant: true } });
    await shows('This workspace is dormant');
    await button('Wake').click();
    await page.getByText('This workspace is dormant').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: /^(Start|Cancel|Stop)$/ }).first().waitFor();
  },

  async shared() {
    await login('member@example.com');
    await page.goto('/@admin/dev');
    await tab('Ports').waitFor();
    await tab('Parameters').waitFor();
    for (const name of ['Schedule', 'Sharing', 'Settings']) assert.equal(await tab(name).count(), 0, `${name} is not for who may only use it`);
    await button('SSH').click();
    await shows('coder ssh admin/dev');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await button('More').click();
    await page.getByRole('menuitem', { name: 'Duplicate …' }).waitFor();
    assert.equal(await page.getByRole('menuitem', { name: 'Delete …' }).count(), 0);
    await page.keyboard.press('Escape');
    await page.getByRole('menuitem').first().waitFor({ state: 'detached' });
    await person.reads();
  },
};

await person.go(`ways-${which}`, journeys[which]);
