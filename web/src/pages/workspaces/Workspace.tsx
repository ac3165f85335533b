import { Alert, Anchor, Breadcrumbs, Group, Paper, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { type ReactNode, useEffect } from 'react';
import { ApiError } from '../../api/client';
import { useLive } from '../../api/live';
import { Icon } from '../../parts/Icon';
import { Loading } from '../../parts/Loading';
import { JobLog } from '../../parts/Log';
import { Page } from '../../parts/Page';
import { Pending } from '../../parts/Pending';
import { Refusal } from '../../parts/Refusal';
import { WorkspaceStatusBadge } from '../../parts/Status';
import { TabPages } from '../../parts/TabPages';
import { praise } from '../../parts/confirm';
import { Moment } from '../../parts/time';
import { Actions } from './Actions';
import { Agents } from './Agents';
import { Builds } from './Builds';
import { Parameters } from './Parameters';
import { Ports } from './Ports';
import { Schedule } from './Schedule';
import { type Rights, type Workspace as W, agentsOf, busy, useWorkspaceRights, workspaceQuery } from './data';
import { Settings } from './Settings';
import { Sharing } from './Sharing';

interface TabProps {
  w: W;
  may: Rights;
  go: (to: string) => void;
}

const tabs: { tab: string; title: string; needs?: keyof Rights; show: (p: TabProps) => ReactNode }[] = [
  { tab: 'overview', title: 'Overview', show: (p) => <Overview {...p} /> },
  { tab: 'builds', title: 'Builds', show: ({ w }) => <Builds w={w} /> },
  { tab: 'ports', title: 'Ports', needs: 'connect', show: ({ w, may }) => <Ports w={w} may={may} /> },
  { tab: 'parameters', title: 'Parameters', needs: 'start', show: ({ w, go }) => <Parameters w={w} onDone={() => go('overview')} /> },
  { tab: 'schedule', title: 'Schedule', needs: 'update', show: ({ w }) => <Schedule w={w} /> },
  { tab: 'sharing', title: 'Sharing', needs: 'share', show: ({ w }) => <Sharing w={w} /> },
  { tab: 'settings', title: 'Settings', needs: 'update', show: ({ w }) => <Settings w={w} /> },
];

/** One workspace: what it is doing, how to get in, and what can be changed. */
export default function Workspace() {
  const { owner, workspace: name } = useParams({ from: '/shell/@{$owner}/$workspace' });
  const { tab = 'overview' } = useSearch({ from: '/shell/@{$owner}/$workspace' });
  const navigate = useNavigate({ from: '/@{$owner}/$workspace' });
  const { data: w, error } = useQuery(workspaceQuery(owner, name));
  const agents = w ? agentsOf(w) : [];
  const may = useWorkspaceRights(w);
  useLive(w ? [`workspace/${w.id}`, `job/${w.latest_build.job.id}`, 'template', ...agents.slice(0, 50).map((a) => `agent/${a.id}`)] : [], ['workspace', owner, name], ['builds', w?.id]);
  const go = (to: string) => void navigate({ search: { tab: to === 'overview' ? undefined : to }, replace: true });
  const gone = w?.latest_build.transition === 'delete' && (w.latest_build.status === 'deleted' || (error instanceof ApiError && error.status === 404));
  useEffect(() => {
    if (!gone) return;
    praise(`${name} is deleted`);
    void navigate({ to: '/workspaces', search: {}, replace: true });
  }, [gone, name, navigate]);
  if (gone) return <Loading />;
  if (error) return <Page title={name}>{<Refusal error={error} />}</Page>;
  if (!w) return <Loading />;
  return (
    <Page
      title={w.name}
      hint={
        <Group gap="xs" mt={4}>
          <WorkspaceStatusBadge status={w.latest_build.status} />
          <Icon src={w.template_icon} name={w.template_name} size={18} />
          <Breadcrumbs separator="·">
            <Anchor href={`/templates/${w.organization_name}/${w.template_name}`} size="sm">{w.template_display_name || w.template_name}</Anchor>
            <span>{w.latest_build.template_version_name}</span>
            <span>{w.owner_name}</span>
            {w.latest_build.deadline && (
              <span>
                stops <Moment at={w.latest_build.deadline} />
              </span>
            )}
          </Breadcrumbs>
        </Group>
      }
      actions={<Actions w={w} may={may} onUpdate={() => go('parameters')} />}
    >
      <Notices w={w} />
      <TabPages tabs={tabs.filter((t) => !t.needs || may[t.needs])} value={tab} onGo={go} show={(at) => tabs.find((t) => t.tab === at)?.show({ w, may, go })} />
    </Page>
  );
}

function Notices({ w }: { w: W }) {
  const job = w.latest_build.job;
  return (
    <>
      <Pending job={job} />
      {job.status === 'failed' && (
        <Alert color="red" title={`The last build (${w.latest_build.transition}) failed`} mb="md">
          <Text size="sm" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
            {job.error}
          </Text>
        </Alert>
      )}
      {w.dormant_at && (
        <Alert color="orange" title="This workspace is dormant" mb="md">
          It was not used since <Moment at={w.last_used_at} />. {w.deleting_at && <>It will be deleted <Moment at={w.deleting_at} />. </>}
          It does not start by itself, and everything in it that is kept is still there. Wake it to start it again.
        </Alert>
      )}
    </>
  );
}

function Overview({ w, may, go }: TabProps) {
  const { job, id } = w.latest_build;
  if (busy(w) || job.status === 'failed' || job.status === 'canceled') {
    return (
      <Paper withBorder>
        <JobLog key={id} url={`/api/v2/workspacebuilds/${id}/logs`} failed={job.status === 'failed'} />
      </Paper>
    );
  }
  if (w.latest_build.transition !== 'start') {
    return <Text c="dimmed">It is stopped. Start it to get in.</Text>;
  }
  return <Agents w={w} may={may} onPorts={() => go('ports')} />;
}
