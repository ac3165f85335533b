// Looks at every page, at both widths and in both colour schemes, and leaves
// screenshots in web/screenshots: node test/pages.mjs URL PASSWORD ORGANIZATION TEMPLATE OWNER/WORKSPACE
// Whatever axe finds, complaints of the browser and pages that are wider than the
// window make it fail.
import { chromium } from 'playwright-core';
import { launch } from './browser.mjs';
import { look } from './look.mjs';

const [url, password, organization, template, workspace] = process.argv.slice(2);
const w = `/@${workspace}`;
const t = `/templates/${organization}/${template}`;
const o = `/organizations/${organization}`;
const tabs = (at, ...names) => [at, ...names.map((n) => `${at}?tab=${n}`)];
const pages = [
  '/workspaces',
  '/workspaces?q=name%3Anothing',
  ...tabs(w, 'builds', 'parameters', 'schedule', 'sharing', 'settings'),
  `${w}/builds/1`,
  `${t}/workspace`,
  '/templates',
  '/templates/new',
  '/templates/new?starter=local',
  ...tabs(t, 'versions', 'files', 'variables', 'permissions', 'schedule', 'settings', 'insights'),
  `${t}/edit`,
  '/organizations',
  ...['members', 'groups', 'roles', 'provisioners', 'queue', 'jobs', 'keys', 'settings'].map((n) => `${o}/${n}`),
  '/users',
  '/audit',
  ...['overview', 'health', 'settings', 'appearance'].map((n) => `/deployment/${n}`),
  ...['account', 'security', 'ssh-key', 'tokens', 'appearance'].map((n) => `/settings/${n}`),
  '/cli-auth',
];
const browser = await launch(chromium);
try {
  const wrong = [
    ...(await look(browser, url, { email: 'admin@example.com', password }, pages)),
    ...(await look(browser, url, undefined, ['/login', '/login?message=Your+session+has+ended.'])),
  ];
  for (const what of wrong) console.error(what);
  if (wrong.length > 0) process.exitCode = 1;
} finally {
  await browser.close();
}
