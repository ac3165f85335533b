// The pagination of lists, against a real server:
//   node test/journey-lists.mjs URL PASSWORD pages    filter and page are in the URL
import assert from 'node:assert/strict';
import { expect } from './browser.mjs';
import { sitDown } from './person.mjs';

const [url, password, which] = process.argv.slice(2);
const person = await sitDown(url, password);
const { context, page, heading, button, shows, login } = person;

/** Waits until the URL has exactly these search parameters. */
const asks = (search) =>
  page.waitForURL((u) => JSON.stringify(Object.fromEntries(u.searchParams)) === JSON.stringify(search));
const rows = (n) => page.waitForFunction((want) => document.querySelectorAll('main tbody tr').length === want, n);

/** Creates n users named u01, u02 and so on. */
async function createUsers(n) {
  const { session_token: token } = await (
    await context.request.post('/api/v2/users/login', { data: { email: 'admin@example.com', password } })
  ).json();
  const headers = { 'Coder-Session-Token': token };
  const [{ id }] = await (await context.request.get('/api/v2/organizations', { headers })).json();
  for (let i = 1; i <= n; i++) {
    const username = `u${String(i).padStart(2, '0')}`;
    const answer = await context.request.post('/api/v2/users', {
      headers,
      data: { username, email: `${username}@example.com`, login_type: 'none', organization_ids: [id] },
    });
    assert.equal(answer.status(), 201, await answer.text());
  }
  await context.clearCookies();
}

const journeys = {
  async pages() {
    await createUsers(60);
    await login('admin@example.com');
    await page.goto('/users');
    await rows(25);
    await shows('61 users');
    await button('next page').click();
    await asks({ page: '2' });
    await shows('u25@example.com');
    await button('next page').click();
    await asks({ page: '3' });
    await rows(11);
    await expect(button('next page'), 'the last page has a next page').toBeDisabled();
    await button('previous page').click();
    await asks({ page: '2' });
    await page.reload(); // stays on the page
    await shows('u25@example.com');
    await page.goBack();
    await asks({ page: '3' });
    await rows(11);
    await page.goBack();
    await page.goBack();
    await asks({});
    await shows('u01@example.com');
    await page.goForward();
    await asks({ page: '2' });
    await shows('u25@example.com');

    await page.getByRole('searchbox', { name: 'Search users' }).fill('u5');
    await asks({ q: 'u5' }); // back to the first page
    await rows(10);
    await page.goto('/users?q=u5&page=7');
    await shows('No users on page 7');
    await button('Go to first page').click();
    await asks({ q: 'u5' });
    await rows(10);

    await page.goto('/audit?q=action%3Acreate');
    await button('next page').click();
    await asks({ q: 'action:create', page: '2' });
    await page
      .getByRole('button', { name: /admin created user/ })
      .first()
      .waitFor();
    await button('Filter').click();
    await page.getByRole('menuitem', { name: 'Users' }).click();
    await asks({ q: 'resource_type:user' });
    await page.goBack();
    await asks({ q: 'action:create' });

    await page.goto('/organizations/coder/members?page=2');
    await shows('u25@example.com');
    await button('previous page').click();
    await asks({});
    await page.getByRole('searchbox', { name: 'Search members' }).fill('u42');
    await asks({ q: 'u42' });
    await rows(1);
    await page.goto('/workspaces?q=nothing&sort=-name');
    await shows('No workspaces found');
    await heading('Workspaces').waitFor();
  },
};

await person.go(`lists-${which}`, journeys[which]);
