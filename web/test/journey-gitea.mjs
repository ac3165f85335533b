// The part of a user at a real Gitea:
//   node test/journey-gitea.mjs PAGE PASSWORD GITEA USER link     opens the page that git printed, and consents
//   node test/journey-gitea.mjs PAGE PASSWORD GITEA USER revoke   revokes the access in Gitea's settings
import assert from 'node:assert/strict';
import { sitDown } from './person.mjs';

const [address, password, gitea, user, which] = process.argv.slice(2);
const person = await sitDown(new URL(address).origin, password, /./); // Gitea is built without its scripts
const { context, page, login, shows } = person;

async function signIn() {
  await page.locator('input[name=user_name]').fill(user);
  await page.locator('input[name=password]').fill(password);
  await page.getByRole('button', { name: 'Sign In' }).click();
}

const journeys = {
  async link() {
    await login('admin@example.com');
    await page.goto(address);
    await signIn();
    await page.locator('#authorize-app').click();
    await page.waitForURL('**/settings/external-auth*');
    await shows(user);
  },
  async revoke() {
    await page.goto(`${gitea}/user/login`);
    await signIn();
    await page.waitForURL((at) => at.pathname !== '/user/login'); // a sign-in that is cut off blocks the session
    await page.goto(`${gitea}/user/settings/applications`);
    const revocation = page.locator('[data-url*="/revoke/"]');
    const response = await context.request.post(new URL(await revocation.getAttribute('data-url'), gitea).href);
    assert.equal(response.status(), 200);
    await page.reload();
    await revocation.waitFor({ state: 'detached' });
  },
};
await person.go(`gitea-${which}`, journeys[which]);
