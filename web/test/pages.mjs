// Opens every page at two widths and in both color schemes. Unless SCREENSHOTS is off, saves
// screenshots to web/screenshots with an index.html:
//   node test/pages.mjs URL PASSWORD first    the setup page of a server without users
//   node test/pages.mjs URL PASSWORD all ORGANIZATION TEMPLATE OWNER/WORKSPACE GROUP
// Fails on axe violations, browser errors, pages wider than the window, pages that differ from
// their pictures, pictures of no page, and routes or tabs that were not open.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { launch } from './browser.mjs';
import { everywhere } from './everywhere.mjs';
import { fileOf, look, looks, screenshots } from './look.mjs';
import { Pictures } from './pictures.mjs';

const [url, password, which, organization, template, workspace, group] = process.argv.slice(2);
const credentials = { email: 'admin@example.com', password };
const record = `${process.env.WORK ?? '.'}/pages.json`; // the results of both runs

const before = [
  '/login',
  '/login?message=Your+session+has+ended.',
  '/reset-password',
  {
    path: '/api/v2/users/oauth2/github/callback?redirect=%2Fworkspaces',
    name: '/login/device',
    ready: 'text=Waiting for GitHub',
    varies: true, // the code
  },
];

/** Returns the routes and tabs that were not open. */
function missing(seen) {
  const routes = new Set(seen.flatMap((s) => s.routes));
  const shown = new Set(seen.map((s) => s.route));
  const open = new Set(seen.map((s) => `${s.route} ${s.tab}`));
  const names = new Set(seen.flatMap((s) => s.tabs.map((tab) => `${s.route} ${tab}`)));
  return [...[...routes].filter((r) => !shown.has(r)), ...[...names].filter((n) => !open.has(n))];
}

/** Returns an HTML page with all screenshots. */
function album(seen) {
  const row = (name) =>
    `<h2>${name}</h2>${looks.map((l) => `<a href="${fileOf(name, l)}"><img loading="lazy" height="360" alt="${name} at ${l.width} px, ${l.colorScheme}" src="${fileOf(name, l)}"></a>`).join(' ')}`;
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Every page</title><h1>Every page</h1>${[...new Set(seen.map((s) => s.name))].map(row).join('\n')}</html>\n`;
}

const browser = await launch();
try {
  if (which === 'first') {
    rmSync(record, { force: true });
    if (screenshots) rmSync('screenshots', { recursive: true, force: true });
  }
  const pictures = await Pictures.open(browser);
  const runs =
    which === 'first'
      ? [await look(browser, url, undefined, ['/setup'], { pictures })]
      : [
          await look(
            browser,
            url,
            credentials,
            await everywhere(url, credentials, { organization, template, workspace, group }),
            { pictures },
          ),
          await look(browser, url, undefined, before, { pictures }),
        ];
  const seen = [
    ...(existsSync(record) ? JSON.parse(readFileSync(record, 'utf8')) : []),
    ...runs.flatMap((r) => r.seen),
  ];
  writeFileSync(record, JSON.stringify(seen));
  if (screenshots) writeFileSync('screenshots/index.html', album(seen));
  const wrong = runs.flatMap((r) => r.wrong);
  if (which === 'all') {
    const unused = pictures.checkUnused(seen.map((s) => s.picture));
    wrong.push(...missing(seen).map((m) => `${m} was not open`));
    wrong.push(...unused.map((name) => `${name}: no page has this picture; remove it with PICTURES=update`));
  }
  await pictures.close();
  for (const what of wrong) console.error(what);
  if (wrong.length > 0) process.exitCode = 1;
} finally {
  await browser.close();
}
