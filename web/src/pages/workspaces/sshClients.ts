// How SSH clients and editors connect to a workspace, after "coder config-ssh" ran.

/** The SSH clients and editors with instructions, by id. */
export const sshClients = {
  ssh: 'SSH',
  vscode: 'VS Code',
  cursor: 'Cursor',
  windsurf: 'Windsurf',
  jetbrains: 'JetBrains Gateway or Toolbox',
  zed: 'Zed',
  scp: 'Copy files with scp',
} as const;

export type SSHClient = keyof typeof sshClients;

/** A command or value to copy, and what it is for. */
export interface SSHStep {
  label: string;
  text: string;
}

/** Quotes a word for a POSIX shell, if it needs quotes. */
const quote = (word: string): string => (/^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** Returns the steps to connect to a host. An empty folder means the home directory. */
export function getSSHSteps(client: SSHClient, host: string, folder: string): SSHStep[] {
  const remote = (command: string): SSHStep[] => [
    {
      label: `Open the workspace in ${sshClients[client]}`,
      text: [command, '--remote', `ssh-remote+${host}`, ...(folder ? [quote(folder)] : [])].join(' '),
    },
  ];
  switch (client) {
    case 'ssh':
      return [{ label: 'Connect', text: `ssh ${host}` }];
    case 'vscode':
      return remote('code');
    case 'cursor':
      return remote('cursor');
    case 'windsurf':
      return remote('windsurf');
    case 'jetbrains':
      return [
        { label: 'Add an SSH connection with OpenSSH configuration, and this host', text: host },
        ...(folder ? [{ label: 'Project directory', text: folder }] : []),
      ];
    case 'zed':
      return [{ label: 'Open the workspace in Zed', text: `zed ${quote(`ssh://${host}${folder}`)}` }];
    case 'scp':
      return [
        { label: 'Copy a file to the workspace', text: `scp ./file ${host}:` },
        { label: 'Copy a file from the workspace', text: `scp ${host}:file .` },
      ];
  }
}
