import { ActionIcon, Group, Tooltip } from '@mantine/core';
import { IconClockPlus, IconPlayerPlay, IconPlayerStop, IconTerminal2 } from '@tabler/icons-react';
import { useMutation, useQueries, useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import { api } from '../../api/client';
import { permissionChecks } from '../../api/permissions';
import { useRegions } from '../../api/region';
import { notifyError, notifySuccess } from '../../components/confirm';
import { RelativeTime } from '../../components/time';
import { AppIcon } from './Apps';
import { type Workspace, getAgents, isBuilding, useCreateBuild } from './queries';

const hour = 3_600_000;
const actions = ['start', 'stop', 'ssh', 'application_connect', 'update'] as const;
type Action = (typeof actions)[number];

/** What the user can do with the workspaces of a list. */
export type RowRights = (workspace: Workspace, action: Action) => boolean;

/** Returns what the user can do with the workspaces of a list, with one request for each of its parts. */
export function useRowRights(parts: Workspace[][]): RowRights {
  const granted = useQueries({
    combine: mergeGrants,
    queries: parts
      .filter((rows) => rows.length > 0)
      .map((rows) =>
        permissionChecks(
          Object.fromEntries(
            rows.flatMap(({ id, organization_id: organization }) =>
              actions.map((action) => [`${id} ${action}`, { on: 'workspace' as const, action, organization, id }]),
            ),
          ),
        ),
      ),
  });
  return useCallback((workspace, action) => granted[`${workspace.id} ${action}`] ?? false, [granted]);
}

const mergeGrants = (answers: { data?: Record<string, boolean> }[]): Record<string, boolean> =>
  Object.assign({}, ...answers.map(({ data }) => data));

/** The terminal and the apps of a running workspace. */
export function QuickApps({ workspace, may }: { workspace: Workspace; may: RowRights }) {
  const { origin: place } = useRegions();
  if (workspace.latest_build.status !== 'running') return null;
  const agents = getAgents(workspace).filter((agent) => !agent.parent_id);
  const terminal = agents.find(
    (agent) => agent.status === 'connected' && agent.display_apps.includes('web_terminal') && may(workspace, 'ssh'),
  );
  const apps = may(workspace, 'application_connect')
    ? agents.flatMap((agent) => agent.apps.filter((app) => !app.hidden).map((app) => ({ agent, app })))
    : [];
  return (
    <Group gap={2} wrap="nowrap">
      {terminal && (
        <Tooltip label="Terminal">
          <ActionIcon
            component="a"
            variant="subtle"
            color="gray"
            href={`/@${workspace.owner_name}/${workspace.name}/terminal?agent=${terminal.name}`}
            target="_blank"
            aria-label={`Terminal of ${workspace.name}`}
          >
            <IconTerminal2 size={18} />
          </ActionIcon>
        </Tooltip>
      )}
      {apps.slice(0, 3).map(({ agent, app }) => (
        <AppIcon key={app.id} workspace={workspace} agent={agent} app={app} place={place} />
      ))}
    </Group>
  );
}

/** The button that starts or stops a workspace. */
export function StartStop({ workspace, may }: { workspace: Workspace; may: RowRights }) {
  const build = useCreateBuild(workspace);
  const running = workspace.latest_build.transition === 'start' && workspace.latest_build.job.status === 'succeeded';
  const transition = running ? 'stop' : 'start';
  const verb = running ? 'Stop' : 'Start';
  const usable =
    may(workspace, transition) && !workspace.dormant_at && !(running && workspace.latest_build.has_external_agent);
  if (!usable) return null;
  return (
    <Tooltip label={verb}>
      <ActionIcon
        variant={running ? 'default' : 'light'}
        size="lg"
        data-row-toggle
        aria-label={`${verb} ${workspace.name}`}
        disabled={isBuilding(workspace)}
        loading={build.isPending}
        onClick={() => build.mutate({ transition }, { onError: notifyError })}
      >
        {running ? <IconPlayerStop size={18} /> : <IconPlayerPlay size={18} />}
      </ActionIcon>
    </Tooltip>
  );
}

/** The time until autostop, with a button that postpones it. */
export function Autostop({ workspace, may }: { workspace: Workspace; may: RowRights }) {
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
    <Group gap={4} wrap="nowrap">
      <RelativeTime at={deadline} />
      {may(workspace, 'update') && (!max_deadline || next <= Date.parse(max_deadline)) && (
        <Tooltip label="1 hour later">
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={`Postpone autostop of ${workspace.name} by 1 hour`}
            loading={extend.isPending}
            onClick={() => extend.mutate(new Date(next).toISOString())}
          >
            <IconClockPlus size={18} />
          </ActionIcon>
        </Tooltip>
      )}
    </Group>
  );
}
