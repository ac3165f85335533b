import { ActionIcon } from '@mantine/core';
import { IconClockPlus, IconPlayerPlay, IconPlayerStop, IconTerminal2 } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { api } from '../../api/client';
import { useRegions } from '../../api/region';
import { notifyError, notifySuccess } from '../../components/confirm';
import { RelativeTime } from '../../components/time';
import { AppIcon } from './Apps';
import { getAgents, isBuilding, useCreateBuild } from './queries';
import type { ListedWorkspace } from './rowRights';
import classes from './rows.module.css';

const hour = 3_600_000;

/** The terminal and the apps of a running workspace. */
export function QuickApps({ workspace }: { workspace: ListedWorkspace }) {
  const { origin: place } = useRegions();
  if (workspace.latest_build.status !== 'running') return null;
  const agents = getAgents(workspace).filter((agent) => !agent.parent_id);
  const terminal = agents.find(
    (agent) =>
      agent.status === 'connected' && agent.display_apps.includes('web_terminal') && workspace.rights.includes('ssh'),
  );
  const apps = workspace.rights.includes('application_connect')
    ? agents.flatMap((agent) => agent.apps.filter((app) => !app.hidden).map((app) => ({ agent, app })))
    : [];
  return (
    <div className={classes.line}>
      {terminal && (
        <ActionIcon
          component="a"
          variant="subtle"
          color="gray"
          href={`/@${workspace.owner_name}/${workspace.name}/terminal?agent=${terminal.name}`}
          target="_blank"
          title="Terminal"
          aria-label={`Terminal of ${workspace.name}`}
        >
          <IconTerminal2 size={18} />
        </ActionIcon>
      )}
      {apps.slice(0, 3).map(({ agent, app }) => (
        <AppIcon key={app.id} workspace={workspace} agent={agent} app={app} place={place} />
      ))}
    </div>
  );
}

/** The button that starts or stops a workspace. */
export function StartStop({ workspace }: { workspace: ListedWorkspace }) {
  const build = useCreateBuild(workspace);
  const running = workspace.latest_build.transition === 'start' && workspace.latest_build.job.status === 'succeeded';
  const transition = running ? 'stop' : 'start';
  const verb = running ? 'Stop' : 'Start';
  const usable =
    workspace.rights.includes(transition) &&
    !workspace.dormant_at &&
    !(running && workspace.latest_build.has_external_agent);
  if (!usable) return null;
  return (
    <ActionIcon
      variant={running ? 'default' : 'light'}
      size="lg"
      data-row-toggle
      title={verb}
      aria-label={`${verb} ${workspace.name}`}
      disabled={isBuilding(workspace)}
      loading={build.isPending}
      onClick={() => build.mutate({ transition }, { onError: notifyError })}
    >
      {running ? <IconPlayerStop size={18} /> : <IconPlayerPlay size={18} />}
    </ActionIcon>
  );
}

/** The time until autostop, with a button that postpones it. */
export function Autostop({ workspace }: { workspace: ListedWorkspace }) {
  const client = useQueryClient();
  const { deadline, max_deadline } = workspace.latest_build;
  const extend = useMutation({
    mutationFn: (at: string) =>
      api.put('/workspaces/{workspace}/extend', { path: { workspace: workspace.id }, body: { deadline: at } }),
    onSuccess: () => {
      notifySuccess(`Autostop of ${workspace.name} postponed by 1 hour`);
      void client.invalidateQueries({ queryKey: ['workspaces'] });
    },
    onError: notifyError,
  });
  if (!deadline || workspace.latest_build.status !== 'running') return '–';
  const next = Date.parse(deadline) + hour;
  return (
    <div className={classes.line}>
      <RelativeTime at={deadline} />
      {workspace.rights.includes('update') && (!max_deadline || next <= Date.parse(max_deadline)) && (
        <ActionIcon
          variant="subtle"
          color="gray"
          title="1 hour later"
          aria-label={`Postpone autostop of ${workspace.name} by 1 hour`}
          loading={extend.isPending}
          onClick={() => extend.mutate(new Date(next).toISOString())}
        >
          <IconClockPlus size={18} />
        </ActionIcon>
      )}
    </div>
  );
}
