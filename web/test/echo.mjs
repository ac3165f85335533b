// Measures the round trip of a key press in the web terminal and over a plain echo WebSocket,
// alternating in one browser: node test/echo.mjs URL EMAIL PASSWORD TERMINAL ECHO prints a
// line of JSON with the ratio of both medians. TERMINAL is the path of the terminal page.
import { patience } from './browser.mjs';
import { fresh, median, report, rest } from './measure.mjs';

// The clock of a page has a resolution of 0.1 ms, so keys are measured in blocks.
const turns = 15;
const block = 40;

const [terminal, echo] = rest;
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

async function compare(page) {
  const context = page.context();
  await context.addInitScript(() => {
    window.WebSocket = class extends WebSocket {
      constructor(at, ...more) {
        super(at, ...more);
        if (String(at).includes('/pty?')) window.socket = this;
      }
    };
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
  return median(times.terminal) / median(times.plain);
}

await report({ terminal_echo_over_websocket: () => fresh(patience, compare) });
