// A mail server on this machine that keeps the last message it was given:
//   node test/mailbox.mjs FILE MESSAGE   serves until it is ended; FILE becomes a configuration of the server that sends by it, MESSAGE the last message
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';

const [config, message] = process.argv.slice(2);
const server = createServer((socket) => {
  const say = (line) => socket.write(`${line}\r\n`);
  let body;
  socket.on('error', () => {}); // a client that leaves
  createInterface({ input: socket }).on('line', (line) => {
    const verb = line.split(' ')[0].toUpperCase();
    if (body && line === '.') {
      writeFileSync(message, body.join('\n'));
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
server.listen(0, '127.0.0.1', () => writeFileSync(config, `email:\n  from: coder@example.com\n  smarthost: 127.0.0.1:${server.address().port}\n`));
