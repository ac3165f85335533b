// Measures the round trip of a key press in the web terminal and over a plain echo WebSocket,
// alternating in one browser: node test/echo.mjs URL EMAIL PASSWORD TERMINAL ECHO prints a
// line of JSON with both medians in milliseconds. TERMINAL is the path of the terminal page.
import { launch, patience } from './browser.mjs';

// The clock of a page has a resolution of 0.1 ms, so keys are measured in blocks.
const turns = 15;
const block = 40;

const [url, email, password, terminal, echo] = process.argv.slice(2);
const browser = await launch();
const context = await browser.newContext({ baseURL: url, viewport: { width: 1440, height: 900 } });
context.setDefaultTimeout(patience);
await context.request.post('/api/v2/users/login', { data: { email, password } });
await context.addInitScript(() => {
  window.WebSocket = class extends WebSocket {
    constructor(at, ...more) {
      super(at, ...more);
      if (String(at).includes('/pty?')) window.socket = this;
    }
  };
});
const type = (keys) =>
  new Promise((resolve) => {
    const { socket } = window;
    const key = new TextEncoder().encode('{"data":"x"}');
    const began = performance.now();
    let left = keys;
    const heard = () => {
      if (--left > 0) return socket.send(key);
      socket.removeEventListener('message', heard);
      resolve((performance.now() - began) / keys);
    };
    socket.addEventListener('message', heard);
    socket.send(key);
  });

const plain = await context.newPage();
await plain.goto(echo); // any response of the right origin
await plain.evaluate(
  (at) =>
    new Promise((resolve, reject) => {
      window.socket = new WebSocket(at);
      window.socket.onopen = () => resolve();
      window.socket.onerror = () => reject(new Error('the WebSocket did not open'));
    }),
  echo.replace(/^http/, 'ws'),
);
const page = await context.newPage();
await page.goto(terminal + '?command=' + encodeURIComponent('stty -icanon; echo ready; exec cat >/dev/null'));
await page.getByRole('button', { name: 'Run command' }).click();
await page.locator('[data-terminal=open]').waitFor();
await page.locator('.xterm-rows', { hasText: 'ready' }).waitFor();

const times = { terminal: [], plain: [] };
for (let i = 0; i <= turns; i++) {
  for (const [name, at] of Object.entries({ plain, terminal: page })) {
    await at.bringToFront();
    const took = await at.evaluate(type, block);
    if (i > 0) times[name].push(took); // the first round warms up
  }
}
const median = (some) => some.sort((a, b) => a - b)[some.length >> 1];
console.log(JSON.stringify({ terminal: median(times.terminal), plain: median(times.plain) }));
await browser.close();
