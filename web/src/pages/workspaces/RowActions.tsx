import { IconClockPlus, IconPlayerPlay, IconPlayerStop, IconTerminal2 } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { api } from '../../api/client';
import { useRegions } from '../../api/region';
import { notifyError, notifySuccess } from '../../components/confirm';
import { RelativeTime } from '../../components/time';
import plain from '../../components/plain.module.css';
import { AppIcon, type AppProps } from './AppIcon';
import { type Workspace, getAgents, isBuilding, useCreateBuild } from './queries';
import type { ListedWorkspace } from './rowRights';

const hour = 3_600_000;

/** The terminal and the apps of a running workspace. */
export function QuickApps({ workspace }: { workspace: ListedWorkspace }) {
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
    <div className={plain.line}>
      {terminal && (
        <a
          className={`${plain.icon} ${plain.subtle}`}
          href={`/@${workspace.owner_name}/${workspace.name}/terminal?agent=${terminal.name}`}
          target="_blank"
          title="Terminal"
          aria-label={`Terminal of ${workspace.name}`}
        >
          <IconTerminal2 size={18} />
        </a>
      )}
      {apps.length > 0 && <AppIcons workspace={workspace} apps={apps.slice(0, 3)} />}
    </div>
  );
}

function AppIcons({ workspace, apps }: { workspace: ListedWorkspace; apps: Pick<AppProps, 'agent' | 'app'>[] }) {
  const { origin: place } = useRegions();
  return apps.map((app) => <AppIcon key={app.app.id} workspace={workspace} place={place} {...app} />);
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
    <button
      type="button"
      className={`${plain.icon} ${plain.large} ${running ? plain.default : plain.light}`}
      data-row-toggle
      title={verb}
      aria-label={`${verb} ${workspace.name}`}
      disabled={isBuilding(workspace) || build.isPending}
      onClick={() => build.mutate({ transition }, { onError: notifyError })}
    >
      {build.isPending ? (
        <span className={plain.spinner} />
      ) : running ? (
        <IconPlayerStop size={18} />
      ) : (
        <IconPlayerPlay size={18} />
      )}
    </button>
  );
}

/** The time until autostop, with a button that postpones it. */
export function Autostop({ workspace }: { workspace: ListedWorkspace }) {
  const { deadline, max_deadline } = workspace.latest_build;
  if (!deadline || workspace.latest_build.status !== 'running') return '–';
  const next = Date.parse(deadline) + hour;
  return (
    <div className={plain.line}>
      <RelativeTime at={deadline} />
      {workspace.rights.includes('update') && (!max_deadline || next <= Date.parse(max_deadline)) && (
        <Postpone workspace={workspace} to={next} />
      )}
    </div>
  );
}

function Postpone({ workspace, to }: { workspace: Workspace; to: number }) {
  const client = useQueryClient();
  const extend = useMutation({
    mutationFn: (at: string) =>
      api.put('/workspaces/{workspace}/extend', { path: { workspace: workspace.id }, body: { deadline: at } }),
    onSuccess: () => {
      notifySuccess(`Autostop of ${workspace.name} postponed by 1 hour`);
      void client.invalidateQueries({ queryKey: ['workspaces'] });
    },
    onError: notifyError,
  });
  return (
    <button
      type="button"
      className={`${plain.icon} ${plain.subtle}`}
      title="1 hour later"
      aria-label={`Postpone autostop of ${workspace.name} by 1 hour`}
      disabled={extend.isPending}
      onClick={() => extend.mutate(new Date(to).toISOString())}
    >
      <IconClockPlus size={18} />
    </button>
  );
}
