import { Button, Menu, Stack, Tooltip } from '@mantine/core';
import { IconApps, IconBrandVscode, IconChevronDown, IconKey, IconPlugConnected, IconTerminal2 } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import type { MouseEvent } from 'react';
import { type Schema, api } from '../../api/client';
import { me } from '../../api/queries';
import { type Place, useRegions } from '../../api/region';
import { Snippet } from '../../parts/Copy';
import { Icon } from '../../parts/Icon';
import { complain } from '../../parts/confirm';
import { modals } from '../../parts/dialogs';
import { appHref, editorHref, sshHost, target, wantsToken, withToken } from './apps';
import { type Agent, type Rights, type Workspace, agentsOf } from './data';

type App = Schema<'WorkspaceApp'>;

interface Props {
  w: Workspace;
  agent: Agent;
  may: Rights;
  onPorts: () => void;
}

/** The ways into a workspace: what the template shows of the dashboard's own, then its apps. */
export function Apps({ w, agent, may, onPorts }: Props) {
  const { place } = useRegions();
  const ready = agent.status === 'connected';
  const shown = (a: Schema<'DisplayApp'>) => agent.display_apps.includes(a);
  const apps = agent.apps.filter((a) => !a.hidden);
  const groups = [...new Set(apps.map((a) => a.group).filter(Boolean))];
  const common = { w, agent, place };
  return (
    <>
      {may.ssh && shown('vscode') && <Editor w={w} agent={agent} scheme="vscode" title="VS Code Desktop" />}
      {may.ssh && shown('vscode_insiders') && <Editor w={w} agent={agent} scheme="vscode-insiders" title="VS Code Insiders" />}
      {may.ssh && shown('web_terminal') && (
        <Button component="a" {...look} leftSection={<IconTerminal2 size={16} />} href={`/@${w.owner_name}/${w.name}/terminal?agent=${agent.name}`} target="_blank" data-disabled={!ready || undefined} aria-disabled={!ready}>
          Terminal
        </Button>
      )}
      {may.ssh && shown('ssh_helper') && <SSH w={w} agent={agent} />}
      {may.connect && shown('port_forwarding_helper') && (
        <Button {...look} leftSection={<IconPlugConnected size={16} />} onClick={onPorts}>
          Ports
        </Button>
      )}
      {apps
        .filter((a) => !a.group)
        .map((app) => (
          <AppButton key={app.id} {...common} app={app} />
        ))}
      {groups.map((g) => (
        <Menu key={g}>
          <Menu.Target>
            <Button {...look} rightSection={<IconChevronDown size={14} />}>
              {g}
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            {apps
              .filter((a) => a.group === g)
              .map((app) => (
                <AppItem key={app.id} {...common} app={app} />
              ))}
          </Menu.Dropdown>
        </Menu>
      ))}
    </>
  );
}

const look = { size: 'xs', variant: 'default' } as const;

const newToken = async () => (await api.post('/users/{user}/keys', { path: { user: 'me' } })).key;

/** Hands an address to the program of this machine that it is for. A token in it is made for this, and is nowhere on the page. */
function Editor({ w, agent, scheme, title }: { w: Workspace; agent: Agent; scheme: 'vscode' | 'vscode-insiders'; title: string }) {
  const open = useMutation({
    mutationFn: newToken,
    onSuccess: (token) => location.assign(editorHref(scheme, w, agent, token)),
    onError: complain,
  });
  return (
    <Button {...look} leftSection={<IconBrandVscode size={16} />} loading={open.isPending} disabled={agent.status !== 'connected'} onClick={() => open.mutate()}>
      {title}
    </Button>
  );
}

function SSH({ w, agent }: { w: Workspace; agent: Agent }) {
  return (
    <Button {...look} leftSection={<IconKey size={16} />} onClick={() => modals.open({ title: `Into ${w.name} by SSH`, children: <Commands w={w} agent={agent} /> })}>
      SSH
    </Button>
  );
}

function Commands({ w, agent }: { w: Workspace; agent: Agent }) {
  const { data: self } = useQuery(me);
  const { data: config } = useQuery({ queryKey: ['ssh-config'], queryFn: () => api.get('/deployment/ssh') });
  return (
    <Stack gap="sm">
      <Snippet label="With the coder command" text={`coder ssh ${target(w, agent, self?.id, Boolean(agent.parent_id) || agentsOf(w).filter((a) => !a.parent_id).length > 1)}`} />
      <Snippet label="Once, for all other SSH clients" text="coder config-ssh" />
      {config && <Snippet label="From then on" text={`ssh ${sshHost(w, agent, config)}`} />}
    </Stack>
  );
}

interface AppProps {
  w: Workspace;
  agent: Agent;
  app: App;
  place: Place;
}

/** How an app is opened, and why it cannot be if so. */
function useApp({ w, agent, app, place }: AppProps) {
  const open = useMutation({
    mutationFn: newToken,
    onSuccess: (token) => location.assign(withToken(app, token)),
    onError: complain,
  });
  const href = appHref(w, agent, app, place);
  const ready = href !== undefined && (agent.status === 'connected' || app.external);
  const why =
    href === undefined
      ? 'It needs a host name of its own, and this deployment has none for apps (--wildcard-access-url)'
      : !ready
        ? 'The agent is not connected'
        : app.health === 'unhealthy'
          ? 'It does not answer its health check'
          : app.health === 'initializing'
            ? 'It is starting'
            : app.tooltip;
  const tab = app.open_in === 'tab' || app.open_in === 'slim-window' || app.command !== '';
  const onClick = (e: MouseEvent) => {
    if (!ready) return e.preventDefault();
    if (wantsToken(app)) {
      e.preventDefault();
      open.mutate();
    } else if (app.open_in === 'slim-window') {
      e.preventDefault();
      window.open(href, '_blank', 'popup,width=900,height=640,noreferrer');
    }
  };
  const link = { href: ready ? href : undefined, target: tab ? '_blank' : undefined, rel: 'noreferrer', onClick, 'data-disabled': !ready || undefined, 'aria-disabled': !ready };
  return { link, why, title: app.display_name || app.slug };
}

function AppButton(props: AppProps) {
  const { link, why, title } = useApp(props);
  const { app } = props;
  return (
    <Tooltip label={why} disabled={!why}>
      <Button component="a" {...look} {...link} leftSection={app.icon ? <Icon src={app.icon} name={title} size={16} /> : <IconApps size={16} />} color={app.health === 'unhealthy' ? 'red' : undefined}>
        {title}
      </Button>
    </Tooltip>
  );
}

function AppItem(props: AppProps) {
  const { link, why, title } = useApp(props);
  const { app } = props;
  return (
    <Menu.Item component="a" {...link} title={why || undefined} leftSection={<Icon src={app.icon} name={title} size={16} />}>
      {title}
    </Menu.Item>
  );
}
