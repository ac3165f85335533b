// Opens every page of the demo in Chromium, from a folder and without a server:
//   node test/demo.mjs FOLDER
// Fails on errors of the page, requests to the network, missing headings and axe violations.
import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { launch, patience, visit } from './browser.mjs';
import { findings } from './look.mjs';

const tabs = (path, ...names) => [path, ...names.map((name) => `${path}?tab=${name}`)];
const workspace = '/@owner/dev';
const template = '/templates/platform/kubernetes';
const organization = '/organizations/platform';
const pages = [
  '/workspaces',
  '/workspaces?q=all',
  ...tabs(workspace, 'builds', 'ports', 'parameters', 'schedule', 'sharing', 'settings'),
  `${workspace}/builds/3`,
  `${template}/workspace`,
  '/templates',
  '/templates/new',
  ...tabs(template, 'versions', 'files', 'variables', 'permissions', 'schedule', 'settings', 'embed', 'insights'),
  `${template}/versions/v2`,
  `${template}/edit`,
  '/organizations',
  ...['members', 'groups', 'roles', 'provisioners', 'queue', 'jobs', 'keys', 'sync', 'settings'].map(
    (name) => `${organization}/${name}`,
  ),
  '/users',
  '/audit',
  '/audit/connections',
  ...['overview', 'health', 'settings', 'sync', 'appearance'].map((name) => `/deployment/${name}`),
  ...['account', 'security', 'ssh-key', 'tokens', 'schedule', 'appearance'].map((name) => `/settings/${name}`),
];

const index = pathToFileURL(resolve(process.argv[2], 'index.html')).href;
const browser = await launch();
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  page.setDefaultTimeout(patience);
  const problems = [];
  let path = '';
  page.on('console', (message) => message.type() === 'error' && problems.push(`${path}: ${message.text()}`));
  page.on('pageerror', (error) => problems.push(`${path}: ${error.message}`));
  page.on('request', (request) => {
    if (!/^(file|data|blob):/.test(request.url())) problems.push(`${path}: request to ${request.url()}`);
  });
  await page.goto(index);
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  for (path of pages) {
    await visit(page, path);
    await page.getByRole('heading', { level: 1 }).first().waitFor();
    await page.getByRole('status', { name: 'Loading' }).first().waitFor({ state: 'detached' });
    if ((await page.getByRole('heading', { name: 'Something went wrong' }).count()) > 0) {
      problems.push(`${path}: ${await page.getByRole('main').innerText()}`);
    }
    problems.push(...(await findings(page)).map((finding) => `${path}: ${finding}`));
  }

  // A workspace can be created, stopped and started.
  path = 'create';
  await page.goto(`${index}#${template}/workspace`);
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('from-demo');
  await page.getByRole('button', { name: 'Create workspace' }).click();
  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  await page.getByRole('button', { name: 'Start', exact: true }).waitFor();
  assert.deepEqual(problems, []);
} finally {
  await browser.close();
}
