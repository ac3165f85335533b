// A mail server for tests that stores the last message:
//   node test/mailbox.mjs FILE MESSAGE   serves until it is stopped
// Writes a server configuration to FILE and the last message to MESSAGE.
import { renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';

const [config, message] = process.argv.slice(2);
const server = createServer((socket) => {
  const say = (line) => socket.write(`${line}\r\n`);
  let body;
  socket.on('error', () => {}); // the client disconnected
  createInterface({ input: socket }).on('line', (line) => {
    const verb = line.split(' ')[0].toUpperCase();
    if (body && line === '.') {
      writeFileSync(`${message}.new`, body.join('\n'));
      renameSync(`${message}.new`, message); // a reader sees all of it
      body = undefined;
      say('250 taken');
    } else if (body) body.push(line);
    else if (verb === 'DATA') {
      body = [];
      say('354 go on');
    } else say(verb === 'QUIT' ? '221 bye' : '250 OK');
  });
  say('220 mail.test');
});
server.listen(0, '127.0.0.1', () =>
  writeFileSync(config, `email:\n  from: coder@example.com\n  smarthost: 127.0.0.1:${server.address().port}\n`),
);
