// Invalid and malicious input in every form, against a real server:
//   node test/journey-input.mjs URL PASSWORD shown   HTML in every free text field is displayed as text
//   node test/journey-input.mjs URL PASSWORD refused invalid names and 10,000 characters are rejected
// The template nasty and the workspace nasty are created first (e2e/testdata/dashboard_input.txtar).
import assert from 'node:assert/strict';
import { expect, settled, visit } from './browser.mjs';
import { everywhere } from './everywhere.mjs';
import { sitDown } from './person.mjs';

const [url, password, which] = process.argv.slice(2);
const person = await sitDown(url, password, /Loading the image 'javascript:alert\(1\)' violates/); // the browser blocks that icon
const { context, page, button, login } = person;
const dialog = page.getByRole('dialog');
const html = (field) => `<i class=evil>${field}</i>`;
const long = '🏔x'.repeat(5000);

/** Calls the API as the signed-in user. */
async function ask(method, path, data, fine = [200, 201, 204]) {
  const { [method]: send } = {
    get: page.request.get,
    post: page.request.post,
    put: page.request.put,
    patch: page.request.patch,
  };
  const response = await send.call(page.request, `/api/v2${path}`, data && { data });
  assert.ok(fine.includes(response.status()), `${method} ${path}: ${response.status()} ${await response.text()}`);
  return response.json().catch(() => undefined);
}

/** Sets every free text field of the API to HTML, and checks that names reject it. */
async function fillAll() {
  const template = await ask('get', '/organizations/default/templates/nasty');
  await ask(
    'patch',
    `/templates/${template.id}`,
    { display_name: html('template name'), description: html('template description'), icon: 'javascript:alert(1)' },
    [200, 400],
  );
  await ask('patch', `/templates/${template.id}`, {
    display_name: html('template name'),
    description: html('template description'),
  });
  await ask('patch', `/templateversions/${template.active_version_id}`, {
    name: 'v1',
    message: html('version message'),
  });
  await ask('patch', `/organizations/default`, {
    display_name: html('organization name'),
    description: html('organization description'),
  });
  const crew = await ask('get', '/organizations/default/groups/crew');
  await ask(
    'patch',
    `/groups/${crew.id}`,
    { name: '', display_name: html('group name'), avatar_url: html('avatar') },
    [200, 400],
  );
  await ask('patch', `/groups/${crew.id}`, { name: '', display_name: html('group name') });
  await ask('post', '/organizations/default/members/roles', {
    name: 'evil',
    display_name: html('role name'),
    site_permissions: [],
    organization_permissions: [],
    user_permissions: [],
  });
  await ask('put', '/users/member/profile', { username: 'member', name: html('full name') });
  await ask('post', '/organizations/default/provisionerkeys', {
    name: 'evil',
    tags: { [html('tag')]: html('tag value') },
  });
  await ask('put', '/appearance', {
    application_name: html('application name'),
    logo_url: '',
    announcement_banners: [{ enabled: true, message: html('announcement'), background_color: '' }],
  });
  const strange = await context.request.fetch(`${url}/api/v2/users/login`, {
    method: 'POST',
    data: { email: 'admin@example.com', password },
    headers: { 'User-Agent': html('program') },
  });
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

// Where each text is displayed.
const shownAt = {
  '/@admin/nasty': [
    'template name',
    'app name',
    'script name',
    'agent log',
    'agent metadata name',
    'agent metadata value',
    'metadata key',
    'metadata value',
  ],
  '/@admin/nasty/builds/1': ['build log'],
  '/@admin/fails': ['error'],
  '/templates': ['template description'],
  '/templates/coder/nasty': ['readme'],
  '/templates/coder/nasty/workspace': [
    'parameter name',
    'parameter description',
    'parameter value',
    'option name',
    'option description',
    'preset name',
  ],
  '/templates/coder/nasty?tab=versions': ['version message'],
  '/templates/coder/nasty?tab=variables': ['variable description', 'variable value'],
  '/templates/coder/nasty/versions/v1': ['file'],
  '/organizations': ['organization name', 'organization description'],
  '/organizations/coder/members': ['full name'],
  '/organizations/coder/groups': ['group name'],
  '/organizations/coder/roles': ['role name'],
  '/organizations/coder/keys': ['tag', 'tag value'],
  '/deployment/overview': ['announcement'],
  '/deployment/appearance': ['application name'],
  '/settings/security': ['program'],
};

/** Waits until the page displays each string as text, in a field or as a label. */
const displays = (tab, wanted) =>
  tab.waitForFunction((wanted) => {
    const fields = [...document.querySelectorAll('input, textarea')].map((e) => e.value);
    const names = [...document.querySelectorAll('[aria-label], [title], [placeholder]')].flatMap((e) => [
      e.ariaLabel,
      e.title,
      e.placeholder,
    ]);
    const all = [document.title, document.body.innerText, ...fields, ...names].join('\n');
    return wanted.every((text) => all.includes(text));
  }, wanted);

const forms = [
  {
    at: '/users',
    open: 'Create user',
    fields: ['Username', 'Full name'],
    rest: { Email: 'x@example.com', Password: password },
    submit: 'Create user',
  },
  {
    at: '/organizations',
    open: 'Create organization',
    fields: ['Name', 'Display name', 'Description'],
    submit: 'Create organization',
  },
  {
    at: '/organizations/coder/groups',
    open: 'Create group',
    fields: ['Name', 'Display name', 'Avatar URL'],
    submit: 'Create group',
  },
  { at: '/organizations/coder/roles', open: 'Create role', fields: ['Name', 'Display name'], submit: 'Create role' },
  { at: '/organizations/coder/keys', open: 'Create key', fields: ['Name'], submit: 'Create key' },
  { at: '/organizations/coder/settings', fields: ['Name', 'Display name', 'Description', 'Icon'], submit: 'Save' },
  {
    at: '/templates/coder/nasty?tab=settings',
    fields: ['Name', 'Display name', 'Description', 'Icon'],
    submit: 'Save',
  },
  { at: '/templates/coder/nasty/workspace', fields: ['Name'], submit: 'Create workspace' },
  { at: '/settings/account', fields: ['Username', 'Full name'], submit: 'Save' },
  { at: '/settings/tokens', open: 'Create token', fields: ['Name'], submit: 'Create token' },
  { at: '/deployment/appearance', fields: ['Application name', 'Logo URL'], submit: 'Save' },
];

const journeys = {
  async shown() {
    await login('admin@example.com');
    await fillAll();
    const places = await everywhere(
      url,
      { email: 'admin@example.com', password },
      { organization: 'coder', template: 'nasty', workspace: 'admin/nasty', group: 'crew' },
    );
    const more = [
      '/@admin/nasty/builds/2',
      '/@admin/fails',
      '/login?message=%3Ci%20class%3Devil%3Emessage%3C%2Fi%3E',
      '/workspaces?q=%3Ci%20class%3Devil%3Eq%3C%2Fi%3E',
      '/audit?q=%3Ci%20class%3Devil%3Eq%3C%2Fi%3E',
    ];
    await page.setViewportSize({ width: 360, height: 900 });
    const left = new Map(Object.entries(shownAt));
    await page.reload(); // loads the texts that every page shows
    await settled(page);
    for (const place of [...places, ...more]) {
      const { path, ready } = typeof place === 'string' ? { path: place } : place;
      await visit(page, path);
      if (ready) await page.locator(ready).first().waitFor();
      else await settled(page);
      if (path === '/@admin/nasty') await button('Show log').first().click(); // of the agent
      await displays(page, (left.get(path) ?? []).map(html));
      left.delete(path);
      const made = 'i.evil, [onerror], [href^="javascript:"]:not([href*="React has blocked"]), [src^="javascript:"]';
      assert.equal(await page.locator(made).count(), 0, `${path} renders user input as elements`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      assert.ok(wide <= 0, `${path} is ${wide} px wider than the window`);
    }
    assert.deepEqual([...left.keys()], [], 'these pages are not among the visited ones');
  },

  async refused() {
    await login('admin@example.com');
    // It opens more pages per minute than people do. Owners may bypass the rate limit.
    await page.setExtraHTTPHeaders({ 'X-Coder-Bypass-Ratelimit': 'true' });
    for (const { at, open, fields, rest, submit } of forms) {
      await page.setViewportSize({ width: 360, height: 900 });
      for (const name of fields) {
        for (const text of [long, ...(/^(Name|Username)$/.test(name) ? ['in valid', '😀', '../etc', html('x')] : [])]) {
          await visit(page, '/settings/appearance'); // empties the form
          await dialog.waitFor({ state: 'detached' });
          await visit(page, at);
          if (open) await button(open).click();
          const form = open ? dialog : page.getByRole('main');
          if (open && fields[0] !== name)
            await form.getByRole('textbox', { name: fields[0], exact: true }).fill('fine');
          for (const [k, v] of Object.entries(rest ?? {}))
            await form.getByRole('textbox', { name: k, exact: true }).fill(v);
          const field = form.getByRole('textbox', { name, exact: true });
          await field.fill(text);
          const send = form.getByRole('button', { name: submit, exact: true });
          await send.dispatchEvent('click'); // has no effect if an error, displayed while typing, has disabled the button
          await form.locator('[role=alert], [aria-invalid=true]').first().waitFor();
          await expect(field, `${at}: the value of ${name} is kept`).toHaveValue(text);
          const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
          assert.ok(wide <= 0, `${at}: with an error for ${name} it is ${wide} px wider than the window`);
        }
      }
    }
  },
};

await person.go(`input-${which}`, journeys[which]);
