// What people should not type, typed everywhere, against a real server:
//   node test/journey-input.mjs URL PASSWORD shown   HTML in every free field, shown as text on every page
//   node test/journey-input.mjs URL PASSWORD refused names that are none, and 10,000 characters, in every form
// The template nasty and the workspace nasty are made before (e2e/testdata/dashboard_input.txtar).
import assert from 'node:assert/strict';
import { everywhere } from './everywhere.mjs';
import { sitDown } from './person.mjs';

const [url, password, which] = process.argv.slice(2);
const person = await sitDown(url, password, /Loading the image 'javascript:alert\(1\)' violates/); // that icon is refused by the browser
const { context, page, button, login } = person;
const dialog = page.getByRole('dialog');
const html = (field) => `<i class=evil>${field}</i>`;
const long = '🏔x'.repeat(5000);

/** Asks the API as who is logged in. */
async function ask(method, path, data, fine = [200, 201, 204]) {
  const { [method]: send } = { get: page.request.get, post: page.request.post, put: page.request.put, patch: page.request.patch };
  const response = await send.call(page.request, `/api/v2${path}`, data && { data });
  assert.ok(fine.includes(response.status()), `${method} ${path}: ${response.status()} ${await response.text()}`);
  return response.json().catch(() => undefined);
}

/** Puts HTML into every field of the API that is free text; what is a name refuses it. */
async function fillAll() {
  const template = await ask('get', '/organizations/default/templates/nasty');
  await ask('patch', `/templates/${template.id}`, { display_name: html('template name'), description: html('template description'), icon: 'javascript:alert(1)' }, [200, 400]);
  await ask('patch', `/templates/${template.id}`, { display_name: html('template name'), description: html('template description') });
  await ask('patch', `/templateversions/${template.active_version_id}`, { name: 'v1', message: html('version message') });
  await ask('patch', `/organizations/default`, { display_name: html('organization name'), description: html('organization description') });
  const crew = await ask('get', '/organizations/default/groups/crew');
  await ask('patch', `/groups/${crew.id}`, { name: '', display_name: html('group name'), avatar_url: html('avatar') }, [200, 400]);
  await ask('patch', `/groups/${crew.id}`, { name: '', display_name: html('group name') });
  await ask('post', '/organizations/default/members/roles', { name: 'evil', display_name: html('role name'), site_permissions: [], organization_permissions: [], user_permissions: [] });
  await ask('put', '/users/member/profile', { username: 'member', name: html('full name') });
  await ask('post', '/organizations/default/provisionerkeys', { name: 'evil', tags: { [html('tag')]: html('tag value') } });
  await ask('put', '/appearance', { application_name: html('application name'), logo_url: '', announcement_banners: [{ enabled: true, message: html('announcement'), background_color: '' }] });
  const strange = await context.request.fetch(`${url}/api/v2/users/login`, { method: 'POST', data: { email: 'admin@example.com', password }, headers: { 'User-Agent': html('program') } });
  assert.equal(strange.status(), 201);
  const names = [400, 409];
  await ask('post', '/users/me/keys/tokens', { token_name: html('token') }, names);
  await ask('post', '/organizations/default/groups', { name: html('group') }, names);
  await ask('post', '/organizations', { name: html('organization') }, names);
  await ask('post', '/organizations/default/provisionerkeys', { name: html('key') }, names);
  await ask('post', '/organizations/default/members/roles', { name: html('role') }, names);
  await ask('patch', `/templates/${template.id}`, { name: html('template') }, names);
  await ask('patch', `/templateversions/${template.active_version_id}`, { name: html('version') }, names);
  await ask('post', '/users/me/workspaces', { name: html('workspace'), template_id: template.id }, names);
  await ask('put', '/users/me/profile', { username: html('user'), name: '' }, names);
  const workspace = await ask('get', '/users/me/workspace/nasty');
  await ask('post', `/workspaces/${workspace.id}/builds`, { transition: 'start', reason: html('reason') }, names);
}

const texts = [
  'template name', 'template description', 'version message', 'organization name', 'organization description', 'group name', 'role name', 'full name', 'tag', 'tag value',
  'application name', 'announcement', 'program', 'parameter name', 'parameter description', 'parameter value', 'option name', 'option description', 'variable description', 'variable value',
  'preset name', 'app name', 'script name', 'agent log', 'build log', 'error', 'metadata key', 'metadata value', 'agent metadata name', 'agent metadata value', 'readme', 'file',
];

/** Which of the texts a page shows, as text, in fields, or to who does not see it. */
async function textsOn(tab) {
  const made = 'i.evil, [onerror], [href^="javascript:"]:not([href*="React has blocked"]), [src^="javascript:"]';
  assert.equal(await tab.locator(made).count(), 0, `${tab.url()} has elements that somebody typed`);
  const all = await tab.evaluate(() => {
    const fields = [...document.querySelectorAll('input, textarea')].map((e) => e.value);
    const names = [...document.querySelectorAll('[aria-label], [title], [placeholder]')].flatMap((e) => [e.ariaLabel, e.title, e.placeholder]);
    return [document.title, document.body.innerText, ...fields, ...names].join('\n');
  });
  return texts.filter((t) => all.includes(html(t)));
}

const forms = [
  { at: '/users', open: 'New user', fields: ['Username', 'Full name'], rest: { Email: 'x@example.com', Password: password }, submit: 'Create' },
  { at: '/organizations', open: 'New organization', fields: ['Name', 'Display name', 'Description'], submit: 'Create' },
  { at: '/organizations/coder/groups', open: 'New group', fields: ['Name', 'Display name', 'Picture'], submit: 'Create' },
  { at: '/organizations/coder/roles', open: 'New role', fields: ['Name', 'Display name'], submit: 'Save' },
  { at: '/organizations/coder/keys', open: 'New key', fields: ['Name'], submit: 'Create' },
  { at: '/organizations/coder/settings', fields: ['Name', 'Display name', 'Description', 'Icon'], submit: 'Save' },
  { at: '/templates/coder/nasty?tab=settings', fields: ['Name', 'Display name', 'Description', 'Icon'], submit: 'Save' },
  { at: '/templates/coder/nasty/workspace', fields: ['Name'], submit: 'Create workspace' },
  { at: '/settings/account', fields: ['Username', 'Full name'], submit: 'Save' },
  { at: '/settings/tokens', open: 'New token', fields: ['Name'], submit: 'Create' },
  { at: '/deployment/appearance', fields: ['Name of the deployment', 'Address of a logo'], submit: 'Save' },
];

const journeys = {
  async shown() {
    await login('admin@example.com');
    await fillAll();
    const seen = new Set();
    const places = await everywhere(url, { email: 'admin@example.com', password }, { organization: 'coder', template: 'nasty', workspace: 'admin/nasty', group: 'crew' });
    const more = ['/@admin/nasty/builds/2', '/@admin/fails', '/login?message=%3Ci%20class%3Devil%3Emessage%3C%2Fi%3E', '/workspaces?q=%3Ci%20class%3Devil%3Eq%3C%2Fi%3E', '/audit?q=%3Ci%20class%3Devil%3Eq%3C%2Fi%3E'];
    await page.setViewportSize({ width: 360, height: 900 });
    for (const place of [...places, ...more]) {
      const { path, ready } = typeof place === 'string' ? { path: place } : place;
      await page.goto(path);
      await page.locator('main').first().waitFor();
      if (ready) await page.locator(ready).first().waitFor();
      await page.waitForLoadState('networkidle');
      const log = button('Show the log'); // of the agent
      if (await log.count()) {
        await log.first().click();
        await page.getByText('agent log').first().waitFor();
      }
      for (const t of await textsOn(page)) seen.add(t);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      assert.ok(wide <= 0, `${path} is ${wide} px wider than the window`);
    }
    assert.deepEqual(texts.filter((t) => !seen.has(t)), [], 'nobody shows these, as text');
  },

  async refused() {
    await login('admin@example.com');
    for (const { at, open, fields, rest, submit } of forms) {
      await page.setViewportSize({ width: 360, height: 900 });
      for (const name of fields) {
        for (const text of [long, ...(/^(Name|Username)$/.test(name) ? ['in valid', '😀', '../etc', html('x')] : [])]) {
          await page.goto(at);
          if (open) await button(open).click();
          const form = open ? dialog : page.getByRole('main');
          if (open && fields[0] !== name) await form.getByRole('textbox', { name: fields[0], exact: true }).fill('fine');
          for (const [k, v] of Object.entries(rest ?? {})) await form.getByRole('textbox', { name: k, exact: true }).fill(v);
          const field = form.getByRole('textbox', { name, exact: true });
          await field.fill(text);
          const send = form.getByRole('button', { name: submit, exact: true });
          if (await send.isEnabled()) await send.click(); // or what is wrong is said before
          await form.locator('[role=alert], [aria-invalid=true]').first().waitFor();
          assert.equal(await field.inputValue(), text, `${at}: what was typed into ${name} is still there`);
          const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
          assert.ok(wide <= 0, `${at}: with what is wrong with ${name} it is ${wide} px wider than the window`);
        }
      }
    }
  },
};

await person.go(`input-${which}`, journeys[which]);
