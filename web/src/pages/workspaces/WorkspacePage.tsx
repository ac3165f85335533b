import { Alert, Anchor, Breadcrumbs, Button, Group, Paper } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { type ReactNode, useEffect } from 'react';
import { ApiError } from '../../api/client';
import { useLiveUpdates } from '../../api/live';
import { Icon } from '../../components/Icon';
import { Loading } from '../../components/Loading';
import { JobLog } from '../../components/Log';
import { Page } from '../../components/Page';
import { PendingJob } from '../../components/PendingJob';
import { ErrorAlert } from '../../components/ErrorAlert';
import { StatusFavicon, WorkspaceStatusBadge } from '../../components/WorkspaceStatus';
import { PageTabs } from '../../components/PageTabs';
import { notifySuccess } from '../../components/confirm';
import { RelativeTime } from '../../components/time';
import { WorkspaceActions } from './WorkspaceActions';
import { Agents } from './Agents';
import { BuildList } from './BuildList';
import { BuildProgress } from './BuildProgress';
import { FailedBuild } from './FailedBuild';
import { WorkspaceParameters } from './WorkspaceParameters';
import { WorkspacePorts } from './Ports';
import { StoppedWorkspace } from './StoppedWorkspace';
import { WorkspaceSchedule } from './WorkspaceSchedule';
import { type Rights, type Workspace as W, getAgents, isBuilding, useWorkspaceRights, workspaceQuery } from './queries';
import { WorkspaceSettings } from './WorkspaceSettings';
import { WorkspaceSharing } from './Sharing';

interface TabProps {
  workspace: W;
  may: Rights;
  go: (to: string) => void;
}

const tabs: { tab: string; title: string; needs?: keyof Rights; show: (props: TabProps) => ReactNode }[] = [
  { tab: 'overview', title: 'Overview', show: (props) => <WorkspaceOverview {...props} /> },
  { tab: 'builds', title: 'Builds', show: ({ workspace }) => <BuildList workspace={workspace} /> },
  {
    tab: 'ports',
    title: 'Ports',
    needs: 'connect',
    show: ({ workspace, may }) => <WorkspacePorts workspace={workspace} may={may} />,
  },
  {
    tab: 'parameters',
    title: 'Parameters',
    needs: 'start',
    show: ({ workspace, go }) => <WorkspaceParameters workspace={workspace} onDone={() => go('overview')} />,
  },
  {
    tab: 'schedule',
    title: 'Schedule',
    needs: 'update',
    show: ({ workspace }) => <WorkspaceSchedule workspace={workspace} />,
  },
  {
    tab: 'sharing',
    title: 'Sharing',
    needs: 'share',
    show: ({ workspace }) => <WorkspaceSharing workspace={workspace} />,
  },
  {
    tab: 'settings',
    title: 'Settings',
    needs: 'update',
    show: ({ workspace }) => <WorkspaceSettings workspace={workspace} />,
  },
];

/** A workspace: status, apps, builds and settings. */
export default function WorkspacePage() {
  const { owner, workspace: name } = useParams({ from: '/shell/@{$owner}/$workspace' });
  const { tab = 'overview' } = useSearch({ from: '/shell/@{$owner}/$workspace' });
  const navigate = useNavigate({ from: '/@{$owner}/$workspace' });
  const { data: workspace, error } = useQuery(workspaceQuery(owner, name));
  const agents = workspace ? getAgents(workspace) : [];
  const may = useWorkspaceRights(workspace);
  useLiveUpdates(
    workspace
      ? [
          `workspace/${workspace.id}`,
          `job/${workspace.latest_build.job.id}`,
          'template',
          ...agents.slice(0, 50).map((agent) => `agent/${agent.id}`),
        ]
      : [],
    ['workspace', owner, name],
    ['builds', workspace?.id],
  );
  const go = (to: string) => void navigate({ search: { tab: to === 'overview' ? undefined : to }, replace: true });
  const gone =
    workspace?.latest_build.transition === 'delete' &&
    (workspace.latest_build.status === 'deleted' || (error instanceof ApiError && error.status === 404));
  useEffect(() => {
    if (!gone) return;
    notifySuccess(`Workspace ${name} deleted`);
    void navigate({ to: '/workspaces', search: {}, replace: true });
  }, [gone, name, navigate]);
  if (gone) return <Loading />;
  if (error) {
    return (
      <Page title={name}>
        <ErrorAlert error={error} />
        <Button component={Link} to="/workspaces" mt="md" variant="default">
          Go to workspaces
        </Button>
      </Page>
    );
  }
  if (!workspace) return <Loading />;
  return (
    <Page
      title={workspace.name}
      hint={
        <Group gap="xs" mt={4}>
          <WorkspaceStatusBadge workspace={workspace} />
          <Icon src={workspace.template_icon} name={workspace.template_name} size={18} />
          <Breadcrumbs separator="·">
            <Anchor href={`/templates/${workspace.organization_name}/${workspace.template_name}`} size="sm">
              {workspace.template_display_name || workspace.template_name}
            </Anchor>
            <span>{workspace.latest_build.template_version_name}</span>
            <span>{workspace.owner_name}</span>
            {workspace.latest_build.deadline && (
              <span>
                autostop <RelativeTime at={workspace.latest_build.deadline} />
              </span>
            )}
          </Breadcrumbs>
        </Group>
      }
      actions={<WorkspaceActions workspace={workspace} may={may} onUpdate={() => go('parameters')} />}
    >
      <StatusFavicon workspace={workspace} />
      <Notices workspace={workspace} may={may} />
      <PageTabs
        tabs={tabs.filter((t) => !t.needs || may[t.needs])}
        value={tab}
        permissions={may}
        needs="more rights on this workspace, which its owner and the role Owner have"
        onGo={go}
        show={(at) => tabs.find((t) => t.tab === at)?.show({ workspace, may, go })}
      />
    </Page>
  );
}

function Notices({ workspace, may }: { workspace: W; may: Rights }) {
  const job = workspace.latest_build.job;
  return (
    <>
      <PendingJob job={job} />
      {job.status === 'failed' && <FailedBuild workspace={workspace} build={workspace.latest_build} may={may} />}
      {workspace.dormant_at && (
        <Alert color="orange" title="This workspace is dormant" mb="md">
          Last used <RelativeTime at={workspace.last_used_at} />.{' '}
          {workspace.deleting_at && (
            <>
              It will be deleted <RelativeTime at={workspace.deleting_at} />.{' '}
            </>
          )}
          Activate it to start it again. Its persistent data is kept until then.
        </Alert>
      )}
    </>
  );
}

function WorkspaceOverview({ workspace, may, go }: TabProps) {
  const { job, id } = workspace.latest_build;
  if (isBuilding(workspace) || job.status === 'failed' || job.status === 'canceled') {
    return (
      <>
        <BuildProgress workspace={workspace} />
        <Paper withBorder>
          <JobLog key={id} url={`/api/v2/workspacebuilds/${id}/logs`} failed={job.status === 'failed'} />
        </Paper>
      </>
    );
  }
  if (workspace.latest_build.transition !== 'start') {
    return <StoppedWorkspace workspace={workspace} may={may} />;
  }
  return <Agents workspace={workspace} may={may} onPorts={() => go('ports')} />;
}
