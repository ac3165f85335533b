import { Alert, Anchor, Breadcrumbs, Group, Paper, Tabs, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useEffect } from 'react';
import { ApiError } from '../../api/client';
import { useLive } from '../../api/live';
import { Icon } from '../../parts/Icon';
import { Loading } from '../../parts/Loading';
import { JobLog } from '../../parts/Log';
import { Page } from '../../parts/Page';
import { Pending } from '../../parts/Pending';
import { Refusal } from '../../parts/Refusal';
import { WorkspaceStatusBadge } from '../../parts/Status';
import { praise } from '../../parts/confirm';
import { Moment } from '../../parts/time';
import { Actions } from './Actions';
import { Agents } from './Agents';
import { Builds } from './Builds';
import { Parameters } from './Parameters';
import { Schedule } from './Schedule';
import { type Workspace as W, busy, workspaceQuery } from './data';
import { Settings } from './Settings';
import { Sharing } from './Sharing';

/** One workspace: what it is doing, how to get in, and what can be changed. */
export default function Workspace() {
  const { owner, workspace: name } = useParams({ from: '/shell/@{$owner}/$workspace' });
  const { tab = 'overview' } = useSearch({ from: '/shell/@{$owner}/$workspace' });
  const navigate = useNavigate({ from: '/@{$owner}/$workspace' });
  const { data: w, error } = useQuery(workspaceQuery(owner, name));
  const agents = w?.latest_build.resources.flatMap((r) => r.agents ?? []) ?? [];
  useLive(w ? [`workspace/${w.id}`, `job/${w.latest_build.job.id}`, 'template', ...agents.slice(0, 50).map((a) => `agent/${a.id}`)] : [], ['workspace', owner, name], ['builds', w?.id]);
  const go = (to: string | null) => navigate({ search: { tab: to && to !== 'overview' ? to : undefined }, replace: true });
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
      actions={<Actions w={w} onUpdate={() => go('parameters')} />}
    >
      <Notices w={w} />
      <Tabs value={tab} onChange={go} keepMounted={false}>
        <Tabs.List mb="md">
          <Tabs.Tab value="overview">Overview</Tabs.Tab>
          <Tabs.Tab value="builds">Builds</Tabs.Tab>
          <Tabs.Tab value="parameters">Parameters</Tabs.Tab>
          <Tabs.Tab value="schedule">Schedule</Tabs.Tab>
          <Tabs.Tab value="sharing">Sharing</Tabs.Tab>
          <Tabs.Tab value="settings">Settings</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="overview">
          <Overview w={w} />
        </Tabs.Panel>
        <Tabs.Panel value="builds">
          <Builds w={w} />
        </Tabs.Panel>
        <Tabs.Panel value="parameters">
          <Parameters w={w} onDone={() => go('overview')} />
        </Tabs.Panel>
        <Tabs.Panel value="schedule">
          <Schedule w={w} />
        </Tabs.Panel>
        <Tabs.Panel value="sharing">
          <Sharing w={w} />
        </Tabs.Panel>
        <Tabs.Panel value="settings">
          <Settings w={w} />
        </Tabs.Panel>
      </Tabs>
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
          Starting it wakes it.
        </Alert>
      )}
    </>
  );
}

function Overview({ w }: { w: W }) {
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
  return <Agents w={w} />;
}
