import { Button, Menu, Select, Stack, Tooltip } from '@mantine/core';
import {
  IconApps,
  IconBrandVscode,
  IconChevronDown,
  IconKey,
  IconPlugConnected,
  IconTerminal2,
} from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schema, api } from '../../api/client';
import { me } from '../../api/queries';
import { useRegions } from '../../api/region';
import { CopySnippet } from '../../components/CopyButton';
import { Icon } from '../../components/Icon';
import { notifyError } from '../../components/confirm';
import { modals } from '../../components/dialogs';
import { type AppProps, createSessionKey, useAppLink } from './AppIcon';
import { getEditorURL, getFolder, getSSHHost, formatTarget } from './apps';
import { type Agent, type Rights, type Workspace, getAgents } from './queries';
import { type SSHClient, getSSHSteps, sshClients } from './sshClients';

interface Props {
  workspace: Workspace;
  agent: Agent;
  may: Rights;
  onPorts: () => void;
}

/** The built-in apps that the template enables, then the apps of the template. */
export function Apps({ workspace, agent, may, onPorts }: Props) {
  const { origin: place } = useRegions();
  const ready = agent.status === 'connected';
  const shown = (a: Schema<'DisplayApp'>) => agent.display_apps.includes(a);
  const apps = agent.apps.filter((app) => !app.hidden);
  const groups = [...new Set(apps.map((app) => app.group).filter(Boolean))];
  const common = { workspace, agent, place };
  return (
    <>
      {may.ssh && shown('vscode') && (
        <EditorButton workspace={workspace} agent={agent} scheme="vscode" title="VS Code Desktop" />
      )}
      {may.ssh && shown('vscode_insiders') && (
        <EditorButton workspace={workspace} agent={agent} scheme="vscode-insiders" title="VS Code Insiders" />
      )}
      {may.ssh && shown('web_terminal') && (
        <Button
          component="a"
          {...buttonProps}
          leftSection={<IconTerminal2 size={16} />}
          href={`/@${workspace.owner_name}/${workspace.name}/terminal?agent=${agent.name}`}
          target="_blank"
          data-disabled={!ready || undefined}
          aria-disabled={!ready}
        >
          Terminal
        </Button>
      )}
      {may.ssh && shown('ssh_helper') && <SSHButton workspace={workspace} agent={agent} />}
      {may.connect && shown('port_forwarding_helper') && (
        <Button {...buttonProps} leftSection={<IconPlugConnected size={16} />} onClick={onPorts}>
          Ports
        </Button>
      )}
      {apps
        .filter((app) => !app.group)
        .map((app) => (
          <AppButton key={app.id} {...common} app={app} />
        ))}
      {groups.map((g) => (
        <Menu key={g}>
          <Menu.Target>
            <Button {...buttonProps} rightSection={<IconChevronDown size={14} />}>
              {g}
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            {apps
              .filter((app) => app.group === g)
              .map((app) => (
                <AppItem key={app.id} {...common} app={app} />
              ))}
          </Menu.Dropdown>
        </Menu>
      ))}
    </>
  );
}

const buttonProps = { size: 'xs', variant: 'default' } as const;

/** Opens a desktop editor by its URL scheme, with a new session token that is not part of the page. */
function EditorButton({
  workspace,
  agent,
  scheme,
  title,
}: {
  workspace: Workspace;
  agent: Agent;
  scheme: 'vscode' | 'vscode-insiders';
  title: string;
}) {
  const open = useMutation({
    mutationFn: createSessionKey,
    onSuccess: (token) => location.assign(getEditorURL(scheme, workspace, agent, token)),
    onError: notifyError,
  });
  return (
    <Button
      {...buttonProps}
      leftSection={<IconBrandVscode size={16} />}
      loading={open.isPending}
      disabled={agent.status !== 'connected'}
      onClick={() => open.mutate()}
    >
      {title}
    </Button>
  );
}

function SSHButton({ workspace, agent }: { workspace: Workspace; agent: Agent }) {
  return (
    <Button
      {...buttonProps}
      leftSection={<IconKey size={16} />}
      onClick={() =>
        modals.open({
          title: `Connect to ${workspace.name} over SSH`,
          children: <SSHCommands workspace={workspace} agent={agent} />,
        })
      }
    >
      SSH
    </Button>
  );
}

function SSHCommands({ workspace, agent }: { workspace: Workspace; agent: Agent }) {
  const { data: self } = useQuery(me);
  const { data: config } = useQuery({ queryKey: ['ssh-config'], queryFn: () => api.get('/deployment/ssh') });
  const [client, setClient] = useState<SSHClient>('ssh');
  return (
    <Stack gap="sm">
      <CopySnippet
        label="With the Coder CLI"
        text={`coder ssh ${formatTarget(workspace, agent, self?.id, Boolean(agent.parent_id) || getAgents(workspace).filter((a) => !a.parent_id).length > 1)}`}
      />
      <CopySnippet label="Configure other SSH clients and editors once" text="coder config-ssh" />
      <Select
        label="SSH client or editor"
        allowDeselect={false}
        data={Object.entries(sshClients).map(([value, label]) => ({ value, label }))}
        value={client}
        onChange={(next) => setClient((next ?? 'ssh') as SSHClient)}
      />
      {config &&
        getSSHSteps(client, getSSHHost(workspace, agent, config), getFolder(agent)).map((step) => (
          <CopySnippet key={step.text} {...step} />
        ))}
    </Stack>
  );
}

function AppButton(props: AppProps) {
  const { link, why, title } = useAppLink(props);
  const { app } = props;
  return (
    <Tooltip label={why} disabled={!why}>
      <Button
        component="a"
        {...buttonProps}
        {...link}
        leftSection={app.icon ? <Icon src={app.icon} name={title} size={16} /> : <IconApps size={16} />}
        color={app.health === 'unhealthy' ? 'red' : undefined}
      >
        {title}
      </Button>
    </Tooltip>
  );
}

function AppItem(props: AppProps) {
  const { link, why, title } = useAppLink(props);
  const { app } = props;
  return (
    <Menu.Item
      component="a"
      {...link}
      title={why || undefined}
      leftSection={<Icon src={app.icon} name={title} size={16} />}
    >
      {title}
    </Menu.Item>
  );
}
