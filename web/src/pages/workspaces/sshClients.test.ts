import { expect, test } from 'vitest';
import { type SSHClient, getSSHSteps, sshClients } from './sshClients';

const texts = (client: SSHClient, folder = '/home/coder/my project') =>
  getSSHSteps(client, 'main.dev.alice.coder', folder).map((step) => step.text);

test('each client has commands or values to copy', () => {
  expect(texts('ssh')).toEqual(['ssh main.dev.alice.coder']);
  expect(texts('vscode')).toEqual(["code --remote ssh-remote+main.dev.alice.coder '/home/coder/my project'"]);
  expect(texts('cursor', '')).toEqual(['cursor --remote ssh-remote+main.dev.alice.coder']);
  expect(texts('zed', '/home/coder')).toEqual(['zed ssh://main.dev.alice.coder/home/coder']);
  expect(texts('jetbrains')).toEqual(['main.dev.alice.coder', '/home/coder/my project']);
  for (const client of Object.keys(sshClients) as SSHClient[]) expect(texts(client).length).toBeGreaterThan(0);
});

test('folders are quoted for the shell', () => {
  expect(texts('vscode', "/tmp/a'; rm -rf x")).toEqual([
    "code --remote ssh-remote+main.dev.alice.coder '/tmp/a'\\''; rm -rf x'",
  ]);
});
