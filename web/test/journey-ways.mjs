// Ports, apps, links and connections of workspaces, against a real server:
//   node test/journey-ways.mjs URL PASSWORD ports      list, share and stop sharing ports
//   node test/journey-ways.mjs URL PASSWORD apps       editors, SSH, terminals, log downloads, untrusted links
//   node test/journey-ways.mjs URL PASSWORD terminal   tabs, split, search, font size and the end of a shell
//   node test/journey-ways.mjs URL PASSWORD create     for another user, from a link, as a duplicate
//   node test/journey-ways.mjs URL PASSWORD connections  the connection log
//   node test/journey-ways.mjs URL PASSWORD schedule   template rules, restart, dormancy
//   node test/journey-ways.mjs URL PASSWORD shared     the view of a user with a shared workspace
import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { createServer } from 'node:http';
import { expect } from './browser.mjs';
import { sitDown } from './person.mjs';

const [url, password, which] = process.argv.slice(2);
const person = await sitDown(url, password, /status of 502/);
const { context, page, heading, button, shows, login } = person;
const tab = (name) => page.getByRole('tab', { name, exact: true });
const nameField = page.getByRole('textbox', { name: 'Name', exact: true });
const pick = async (box, name, at = page) => {
  await at.getByRole('combobox', { name: box, exact: true }).click();
  await at.getByRole('option', { name }).click();
};
const menu = async (name) => {
  await button('More actions').click();
  await page.getByRole('menuitem', { name }).click();
};
const ask = async (path) => (await page.request.get(`/api/v2${path}`)).json();
/** Opens a browser session of another user. */
async function another(email) {
  const other = await person.elsewhere();
  await other.request.post('/api/v2/users/login', { data: { email, password } });
  return other;
}
/** Starts a web server at a free port of the workspace, which is this machine. */
function listen() {
  const server = createServer((_, answer) => answer.end('Hello from the port'));
  server.unref(); // ends with the journey
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(String(server.address().port))));
}

const journeys = {
  async ports() {
    const port = await listen();
    await login('admin@example.com');
    await page.goto('/@admin/dev');
    await button('Ports').click();
    await shows('The template does not allow port sharing');
    const watcher = await context.newPage();
    await watcher.goto('/@admin/dev?tab=ports');
    const listens = page.getByRole('link', { name: `Open port ${port}` });
    await listens.waitFor();
    const opening = context.waitForEvent('page');
    await listens.click();
    const opened = await opening;
    await opened.getByText('Hello from the port').waitFor(); // signed in automatically
    await opened.close();
    await person.reads();

    const { id } = await ask('/organizations/default/templates/local');
    await page.request.patch(`/api/v2/templates/${id}`, { data: { max_port_share_level: 'authenticated' } });
    await page.getByRole('combobox', { name: 'Port', exact: true }).fill('70000'); // the form appears without a reload
    await button('Share').click();
    await shows('Enter a port from 9 to 65535.');
    await page.getByRole('combobox', { name: 'Port', exact: true }).fill(port);
    await pick('Sharing level', 'Organization members');
    await expect(
      page.getByRole('option', { name: 'Public', exact: true }),
      'the template does not allow public ports',
    ).toHaveCount(0);
    await button('Share').click();
    await watcher.getByRole('button', { name: `Stop sharing port ${port}` }).waitFor(); // without a reload
    await pick(`Sharing level of port ${port}`, 'Authenticated users');
    await person.reads();
    const { workspaces } = await ask('/workspaces?q=name:dev');
    const address = await page
      .getByRole('table')
      .getByRole('link', { name: `Open port ${port}` })
      .getAttribute('href');
    const member = await another('member@example.com');
    await member.goto(address);
    await member.getByText('Hello from the port').waitFor();

    await page.request.patch(`/api/v2/templates/${id}`, { data: { max_port_share_level: 'organization' } });
    await shows('Limited by the template');
    await button(`Stop sharing port ${port}`).click();
    await shows('No shared ports');
    assert.deepEqual((await ask(`/workspaces/${workspaces[0].id}/port-share`)).shares, []);
    await watcher.getByText('No shared ports').waitFor();
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
    await expect(page.getByRole('menuitem', { name: 'Handbook' })).toHaveAttribute('href', 'https://example.com/');
    await page.keyboard.press('Escape');

    const opening = context.waitForEvent('page');
    await page.getByRole('link', { name: 'Processes' }).click();
    const terminal = await opening;
    await terminal.locator('.xterm-rows').getByText('this is the app').first().waitFor();
    await terminal.close();

    // A link can contain a command.
    const strange = await context.newPage();
    await strange.goto('/@admin/dev/terminal?command=echo+written+by+a+stranger');
    await strange.getByRole('heading', { name: 'Run this command?' }).waitFor();
    await person.reads(strange);
    await strange.getByRole('button', { name: 'Open shell without it' }).click();
    await strange.locator('[data-terminal=open]').waitFor();
    await strange.close();

    await button('Show log').click();
    const log = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download log of main' }).click();
    assert.match(await text(await (await log).createReadStream()), /\S/);
    await page.goto('/@admin/dev/builds/1');
    const build = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download log' }).click();
    assert.equal((await build).suggestedFilename(), 'dev-1.log');
    assert.match(await text(await (await build).createReadStream()), /coder_agent/);
    await person.reads();

    await page.goto('/@admin/dev');
    // Last, because the browser then asks which program opens the URL. The token is not part of the page.
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
    await expect(button('VS Code Insiders'), 'the template disables it').toHaveCount(0);
  },

  async terminal() {
    await login('admin@example.com');
    await page.goto('/@admin/dev/terminal');
    const open = page.locator('[data-terminal=open]').filter({ visible: true });
    const rows = open.locator('.xterm-rows');
    const tabs = page.getByRole('tab');
    await open.waitFor();
    await page.keyboard.type('echo first-$((40+2)); printf "\\e[38;2;1;2;3mcolored-%d\\n" 42\n');
    await rows.getByText('first-42').waitFor();
    const color = await rows.getByText('colored-42', { exact: true }).evaluate((span) => getComputedStyle(span).color);
    assert.equal(color, 'rgb(1, 2, 3)');

    await button('New terminal').click();
    await open.waitFor();
    await expect(tabs).toHaveCount(2);
    await page.keyboard.type('echo second-$((40+2))\n');
    await rows.getByText('second-42').waitFor();
    await page.keyboard.type('exit\n');
    await page.locator('[data-terminal=ended]').getByText('Press Enter to start a new one').waitFor();
    await page.keyboard.press('Enter');
    await open.waitFor();
    await page.keyboard.type('echo third-$((40+2))\n');
    await rows.getByText('third-42').waitFor();
    await expect(rows.getByText('second-42'), 'a new shell shows the output of the previous one').toHaveCount(0);

    await button('Split terminal').click();
    await open.nth(1).waitFor();
    await page.keyboard.type('echo fourth-$((40+2))\n');
    await rows.nth(1).getByText('fourth-42').waitFor();

    await page.reload(); // the shells stay
    await open.nth(1).waitFor();
    await rows.nth(0).getByText('third-42').waitFor();
    await rows.nth(1).getByText('fourth-42').waitFor();
    await button('Close terminal').click();
    await open.nth(1).waitFor({ state: 'detached' });
    await tabs.first().click();
    await rows.getByText('first-42').waitFor();

    await page.keyboard.press('Control+Shift+F');
    const search = page.getByRole('textbox', { name: 'Search the terminal' });
    await search.fill('nowhere to be found');
    await search.press('Enter');
    await page.getByRole('status').getByText('0', { exact: true }).waitFor();
    await search.fill('first-42');
    await search.press('Enter');
    await open.locator('.xterm-selection div').first().waitFor({ state: 'attached' });
    await search.press('Escape');
    await search.waitFor({ state: 'detached' });

    const size = () => rows.evaluate((element) => getComputedStyle(element).fontSize);
    assert.equal(await size(), '14px');
    await button('Larger text').click();
    await page.waitForFunction(() => getComputedStyle(document.querySelector('.xterm-rows')).fontSize === '15px');
    await button('Close terminal').click();
    await rows.getByText('third-42').waitFor();
    await expect(tabs).toHaveCount(1);
    await expect(button('Close terminal')).toBeDisabled();
  },

  async create() {
    await login('admin@example.com');
    await page.goto(
      '/templates/coder/local/workspace?name=linked&param.niceness=7&param.odd=x&disable_params=niceness',
    );
    await nameField.and(page.locator('[value=linked]')).waitFor();
    await shows('Unknown parameters in the link are ignored: odd');
    await page.waitForFunction(() => [...document.querySelectorAll('input')].some((input) => input.value === '7'));
    await expect(page.getByRole('slider', { name: 'Niceness' }), 'the parameter is editable').toHaveCount(0);
    await page.getByRole('combobox', { name: 'Owner' }).fill('mem');
    await page.getByRole('option', { name: /^member/ }).click();
    await person.reads();
    await button('Create workspace').click();
    await page.waitForURL('**/@member/linked');
    await shows('Ready');

    await page.goto('/templates/coder/local/workspace?mode=auto&name=auto&param.niceness=5');
    await shows('The link you followed creates the workspace');
    await page.getByRole('row', { name: 'Niceness 5' }).waitFor();
    assert.equal(
      (await page.request.get('/api/v2/users/me/workspace/auto')).status(),
      404,
      'a link creates a workspace without confirmation',
    );
    await person.reads();
    await page.keyboard.press('Enter');
    await page.waitForURL('**/@admin/auto');
    await shows('Ready');
    await page.goto('/templates/coder/local/workspace?mode=auto&name=auto&param.niceness=5');
    await page.waitForURL('**/@admin/auto'); // the existing workspace

    await menu('Duplicate…');
    await heading('Duplicate auto').waitFor();
    await nameField.and(page.locator('[value=auto-copy]')).waitFor();
    await expect(page.getByRole('slider', { name: 'Niceness' })).toHaveAttribute('aria-valuenow', '5');

    await page.goto('/templates/coder/local?tab=embed');
    await page.getByLabel('Workspace name').fill('123');
    await page.getByLabel('Prefill Repository').check();
    await page.getByLabel('Repository', { exact: true }).fill('https://example.com/a?b=c&d');
    await person.reads();
    const address = `${url}/templates/coder/local/workspace?name=123&param.repository=https%3A%2F%2Fexample.com%2Fa%3Fb%3Dc%26d`;
    await shows(`[![Open in Coder](${url}/open-in-coder.svg)](${address})`);
    await page.goto(address);
    await nameField.and(page.locator('[value="123"]')).waitFor();
    await expect(page.getByLabel('Repository')).toHaveValue('https://example.com/a?b=c&d');

    const member = await another('member@example.com');
    await member.goto('/templates/coder/local/workspace');
    await member.getByRole('button', { name: 'Create workspace' }).waitFor();
    await expect(
      member.getByRole('combobox', { name: 'Owner' }),
      'a member can create workspaces for others',
    ).toHaveCount(0);
  },

  async connections() {
    await login('admin@example.com');
    await page.goto('/audit');
    await page.getByRole('link', { name: 'Connection log' }).click();
    await heading('Connection log').waitFor();
    await page.getByRole('row', { name: /member.*Port \d/ }).waitFor();
    await page.getByRole('searchbox').fill('status:ongoing type:reconnecting_pty');
    await shows('No connections found');
    const terminal = await context.newPage();
    await terminal.goto('/@admin/dev/terminal');
    await terminal.locator('[data-terminal=open]').waitFor();
    await page.getByRole('row', { name: /admin\/dev.*Web terminal.*Connected/ }).waitFor(); // without a reload
    await terminal.close();
    await shows('No connections found');
    await button('Filter').click();
    await page.getByRole('menuitem', { name: 'Web terminal' }).click();
    await page.waitForURL(/q=type(:|%3A)reconnecting_pty/);
    await page
      .getByRole('row', { name: /admin\/dev.*Web terminal.*after/ })
      .first()
      .waitFor();
    await page.getByRole('menuitem').first().waitFor({ state: 'detached' }); // closed menus are removed from the DOM
    await person.reads();
    await page.getByRole('searchbox').fill('nonsense:x');
    await page.getByRole('main').getByRole('alert').waitFor(); // lists the supported terms
  },

  async schedule() {
    await login('admin@example.com');
    const { id } = await ask('/organizations/default/templates/local');
    const set = (data) => page.request.patch(`/api/v2/templates/${id}`, { data });
    await set({
      autostop_requirement: { days_of_week: ['sunday'], weeks: 2 },
      autostart_requirement: { days_of_week: ['monday', 'tuesday'] },
      time_til_dormant_ms: 30 * 86_400_000,
    });
    await page.goto('/@admin/dev?tab=schedule');
    await shows('Required stop every 2 weeks on Sunday, when your quiet hours start');
    await page.getByRole('link', { name: 'Edit quiet hours' }).waitFor();
    await shows('Becomes dormant after 30 days without use.');
    await heading('Why this schedule').waitFor();
    await page.getByRole('row', { name: /^Web terminal Yes/ }).waitFor();
    await page.getByLabel('Enable autostart').click();
    await shows('only on Monday, Tuesday.');
    for (const day of ['Mon', 'Tue']) await page.getByText(day, { exact: true }).click();
    await shows('This workspace would never start.');
    await page.getByText('Mon', { exact: true }).click();
    await person.reads();
    await button('Save').click();
    await shows('Next start');

    await tab('Overview').click();
    await menu('Restart…');
    await page.getByRole('dialog').getByRole('button', { name: 'Restart', exact: true }).click();
    await tab('Builds').click();
    for (const row of [/#2 Stop Succeeded/, /#3 Start Succeeded/]) await page.getByRole('row', { name: row }).waitFor(); // a restart is a stop and a start
    await page.getByRole('link', { name: '#3' }).click();
    await pick('Compare with', 'Build #1');
    await shows('No changes');
    await page.getByRole('link', { name: 'Back to workspace' }).click();
    await tab('Schedule').click();
    await shows('at the latest'); // the latest stop that the template allows
    await person.reads();

    const w = await ask('/users/me/workspace/dev');
    await page.request.put(`/api/v2/workspaces/${w.id}/dormant`, { data: { dormant: true } });
    await shows('This workspace is dormant');
    await button('Activate').click();
    await page.getByText('This workspace is dormant').waitFor({ state: 'detached' });
    await page
      .getByRole('button', { name: /^(Start|Cancel|Stop)$/ })
      .first()
      .waitFor();
  },

  async shared() {
    await login('member@example.com');
    await page.goto('/@admin/dev');
    await tab('Ports').waitFor();
    await tab('Parameters').waitFor();
    for (const name of ['Schedule', 'Sharing', 'Settings'])
      await expect(tab(name), `a user with the role Use sees ${name}`).toHaveCount(0);
    await button('SSH').click();
    await shows('coder ssh admin/dev');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await button('More actions').click();
    await page.getByRole('menuitem', { name: 'Duplicate…' }).waitFor();
    await expect(page.getByRole('menuitem', { name: 'Delete…' })).toHaveCount(0);
    await page.keyboard.press('Escape');
    await page.getByRole('menuitem').first().waitFor({ state: 'detached' });
    await person.reads();
  },
};

await person.go(`ways-${which}`, journeys[which]);
