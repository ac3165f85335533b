// What people should not type, typed everywhere, against a real server:
//   node test/journey-input.mjs URL PASSWORD shown   HTML in every free field, shown as text on every page
// The template nasty and the workspace nasty are made before (e2e/testdata/dashboard_input.txtar).
import assert from 'node:assert/strict';
import { everywhere } from './everywhere.mjs';
import { sitDown } from './person.mjs';

const [url, password, which] = process.argv.slice(2);
const person = await sitDown(url, password, /Loading the image 'javascript:alert\(1\)' violates/); // that icon is refused by the browser
const { context, page, button, login } = person;
const html = (field) => `<i class=evil>${field}</i>`;

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
};

await person.go(`input-${which}`, journeys[which]);
