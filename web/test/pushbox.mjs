// A push service for tests that stores the last message:
//   node test/pushbox.mjs FILE MESSAGE   serves until it is stopped
// Writes a server configuration to FILE and the last message, still encrypted, to MESSAGE.
import { renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';

const [config, message] = process.argv.slice(2);
const server = createServer((request, response) => {
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => {
    writeFileSync(`${message}.new`, Buffer.concat(parts));
    renameSync(`${message}.new`, message);
    response.writeHead(201).end();
  });
});
server.listen(0, '127.0.0.1', () =>
  writeFileSync(config, `notifications:\n  pushServices: ["127.0.0.1:${server.address().port}"]\n`),
);
