// OAuth2 applications, against a real server:
//   node test/journey-oauth2.mjs URL PASSWORD off   the provider is off
//   node test/journey-oauth2.mjs URL PASSWORD on    an application acts for a member, is revoked and deleted
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect } from './browser.mjs';
import { sitDown } from './person.mjs';

const [url, password, which] = process.argv.slice(2);
const person = await sitDown(url, password);
const { context, page, heading, button, shows, login } = person;
const dialog = page.getByRole('dialog');

/** Starts an application that receives redirects, and returns its callback URL and a function that waits for one. */
async function startApplication() {
  const arrived = [];
  let wake = () => {};
  const server = createServer((request, response) => {
    const at = new URL(request.url, 'http://127.0.0.1');
    response.setHeader('Content-Type', 'text/html');
    response.end('<!doctype html><html lang="en"><title>Application</title><h1>You can close this page</h1></html>');
    if (at.pathname !== '/callback') return; // the icon
    arrived.push(at.searchParams);
    wake();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    callback: `http://127.0.0.1:${server.address().port}/callback`,
    async redirected() {
      while (arrived.length === 0) await new Promise((resolve) => (wake = resolve));
      return arrived.shift();
    },
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Sends a form to the token endpoint as an application. */
async function requestTokens(client, form) {
  const response = await fetch(`${url}/oauth2/tokens`, {
    method: 'POST',
    headers: { Authorization: `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}` },
    body: new URLSearchParams(form),
  });
  return { status: response.status, body: await response.json() };
}

const userOf = (token) => fetch(`${url}/api/v2/users/me`, { headers: { Authorization: `Bearer ${token}` } });

/** Creates the application Boards with a secret in the dashboard. */
async function createClient(callback) {
  await page.goto('/deployment/oauth2');
  await shows('No applications');
  await person.reads();
  await button('Create application').click();
  await dialog.getByRole('textbox', { name: 'Name' }).fill('Boards');
  const callbacks = dialog.getByRole('textbox', { name: 'Callback URLs' });
  await callbacks.fill('javascript:alert(1)');
  await dialog.getByRole('button', { name: 'Create application' }).click();
  await dialog.getByText('has a scheme that is not allowed').first().waitFor();
  await callbacks.fill(callback);
  await person.reads();
  await dialog.getByRole('button', { name: 'Create application' }).click();
  await heading('Boards').waitFor();
  const id = page.url().split('/').at(-1);
  await page.getByText(id, { exact: true }).waitFor();
  await button('Create secret').click();
  const field = dialog.getByRole('textbox', { name: 'Secret' });
  await field.waitFor();
  const secret = await field.inputValue();
  await person.reads();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('cell', { name: secret.slice(-6), exact: true }).waitFor();
  assert.ok(!(await page.content()).includes(secret), 'the secret is shown once only');

  await page.getByRole('textbox', { name: 'Icon' }).fill('/icon/docker.svg');
  await button('Save').click();
  await shows('Application saved');
  await page.reload();
  await heading('Boards').waitFor();
  await expect(page.getByRole('textbox', { name: 'Icon' })).toHaveValue('/icon/docker.svg');
  await person.reads();
  return { id, secret };
}

/** Lets the application act for the member, who signs in first. Returns its tokens. */
async function authorize(tab, client, application) {
  const verifier = randomBytes(32).toString('base64url');
  const state = randomBytes(16).toString('base64url');
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: client.id,
    redirect_uri: application.callback,
    scope: 'user:read_personal',
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  await tab.goto(`/oauth2/authorize?${query}`);
  await tab.getByLabel('Email').fill('member@example.com');
  await tab.getByRole('textbox', { name: 'Password' }).fill(password);
  await tab.getByRole('button', { name: 'Sign in', exact: true }).click();
  await tab.getByRole('heading', { name: 'Authorize Boards' }).waitFor();
  await person.reads(tab);
  await tab.getByRole('button', { name: 'Authorize' }).click();
  const answer = await application.redirected();
  assert.equal(answer.get('state'), state);
  assert.equal(answer.get('iss'), url);
  const { status, body } = await requestTokens(client, {
    grant_type: 'authorization_code',
    code: answer.get('code'),
    redirect_uri: application.callback,
    code_verifier: verifier,
  });
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

/** Revokes the application on the member's page, which sends one request for it. */
async function revoke(tab) {
  const asked = [];
  tab.on('request', (r) => r.url().includes('/oauth2-provider/') && asked.push(`${r.method()} ${r.url()}`));
  await tab.goto('/settings/applications');
  const card = tab.getByRole('region', { name: 'Boards' });
  await card.getByText('user:read_personal').waitFor();
  await person.reads(tab);
  assert.deepEqual(asked, [`GET ${url}/api/v2/oauth2-provider/grants`]);
  await card.getByRole('button', { name: 'Revoke Boards' }).click();
  await tab.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click();
  await tab.getByText('No authorized applications').waitFor();
}

const journeys = {
  async off() {
    await login('admin@example.com');
    await page.goto('/deployment/oauth2');
    await shows('The OAuth2 provider is off');
    await person.reads();
    await page.goto('/settings/applications');
    await shows('Applications cannot act for users');
    await person.reads();
  },

  async on() {
    const application = await startApplication();
    try {
      await login('admin@example.com');
      const client = await createClient(application.callback);
      const tab = await (await context.browser().newContext({ baseURL: url })).newPage();
      const tokens = await authorize(tab, client, application);
      assert.equal((await (await userOf(tokens.access_token)).json()).username, 'member');
      await revoke(tab);
      assert.equal((await userOf(tokens.access_token)).status, 401);
      const { status, body } = await requestTokens(client, {
        grant_type: 'refresh_token',
        refresh_token: tokens.refresh_token,
      });
      assert.equal(status, 400);
      assert.equal(body.error, 'invalid_grant');
    } finally {
      application.stop();
    }

    await button('Delete application…').click();
    await dialog.getByRole('textbox').fill('Boards');
    await dialog.getByRole('button', { name: 'Delete application' }).click();
    await shows('No applications');
    const registration = page.getByRole('switch', { name: 'Applications can register themselves' });
    const saved = page.waitForResponse((r) => r.request().method() === 'PUT' && r.url().endsWith('/settings'));
    await registration.click();
    assert.equal((await saved).status(), 200);
    const metadata = await (await fetch(`${url}/.well-known/oauth-authorization-server`)).json();
    assert.equal(metadata.registration_endpoint, `${url}/oauth2/register`);
  },
};

await person.go(`oauth2-${which}`, journeys[which]);
