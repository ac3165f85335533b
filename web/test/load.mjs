// Measures the time until a page displays its first row, with an empty browser cache:
// node test/load.mjs URL EMAIL PASSWORD [NAME...] prints a line of JSON per page, with the
// median of five visits in milliseconds, or the error. Without names, it visits all pages.
import { fresh, open, repeated, report, rest as only, row } from './measure.mjs';

const pages = [
  ['workspaces', '/workspaces?q=all', row],
  ['workspaces_found', '/workspaces?q=status%3Arunning+9999', row],
  ['workspaces_sorted', '/workspaces?q=all&sort=-last_used', row],
  ['templates', '/templates', 'main a[href$="/workspace"]'],
  ['organizations', '/organizations', 'main a[href*="/organizations/"]'],
  ['members', '/organizations/coder/members', row],
  ['groups', '/organizations/coder/groups', row],
  ['provisioners', '/organizations/coder/provisioners', row],
  ['queue', '/organizations/coder/queue', 'main p'],
  ['jobs', '/organizations/coder/jobs', row],
  ['users', '/users', row],
  ['audit', '/audit', 'main time'],
];

const time = (path, shows) =>
  fresh(10_000, async (page) => {
    await open(page, path, shows);
    return page.evaluate(() => window.shown);
  });

const wanted = pages.filter(([name]) => only.length === 0 || only.includes(name));
await report(Object.fromEntries(wanted.map(([name, path, shows]) => [name, () => repeated(() => time(path, shows))])));
