import { Badge, Button, Group, SimpleGrid, Text } from '@mantine/core';
import { CrashAlert, NewVersionAlert } from '../src/components/CrashAlert';
import { EmptyState } from '../src/components/EmptyState';
import { ErrorAlert } from '../src/components/ErrorAlert';
import { FailedJob } from '../src/components/FailedJob';
import { JobBadge } from '../src/components/JobBadge';
import { Loading } from '../src/components/Loading';
import { PendingJob } from '../src/components/PendingJob';
import { Refusal } from '../src/components/Refusal';
import { WorkspaceStatusBadge } from '../src/components/WorkspaceStatus';
import { severityIcons } from '../src/health/Findings';
import { createWorkspace, failedJob, jobStatuses, pendingJob, serverError, workspaceStatuses } from './examples';
import { Example } from './Section';
import { hues } from './tokens';

/** The badges of every state. */
export function Badges() {
  return (
    <>
      <Example title="Workspaces">
        <Group gap="xs">
          {workspaceStatuses.map((status) => (
            <WorkspaceStatusBadge key={status} workspace={createWorkspace(status)} />
          ))}
        </Group>
      </Example>
      <Example title="Jobs">
        <Group gap="xs">
          {jobStatuses.map((status) => (
            <JobBadge key={status} status={status} />
          ))}
          <JobBadge status="succeeded" label="Ready" />
        </Group>
      </Example>
      <Example title="Health">
        <Group>
          {Object.entries(severityIcons).map(([severity, icon]) => (
            <Group key={severity} gap="xs">
              {icon}
              <Text size="sm">{severity}</Text>
            </Group>
          ))}
        </Group>
      </Example>
      <Example title="Other facts" hint="Color never carries the meaning alone: the word does.">
        <Group gap="xs">
          {hues.map((hue) => (
            <Badge key={hue} color={hue}>
              {hue}
            </Badge>
          ))}
          <Badge variant="default">3 of 7</Badge>
        </Group>
      </Example>
    </>
  );
}

/** The alerts. */
export function Alerts() {
  return (
    <Example title="Alerts" hint="What failed, why, and what to do.">
      <ErrorAlert error={serverError} />
      <ErrorAlert error={serverError} title="The template could not be saved" />
      <CrashAlert error={new Error('The chart has no values.')} onRetry={() => undefined} />
      <Refusal needs="the role Template Admin" />
      <NewVersionAlert />
      <PendingJob job={pendingJob} />
      <FailedJob title="The build failed" job={failedJob} log="/api/v2/workspacebuilds/0/logs" />
    </Example>
  );
}

/** What stands in for content. */
export function Placeholders() {
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Example title="Empty" hint="Says what is missing and offers one action.">
        <EmptyState title="No workspaces yet" hint="A workspace is a development environment made from a template.">
          <Button mt="xs">Create workspace</Button>
        </EmptyState>
      </Example>
      <Example title="Loading">
        <Loading />
      </Example>
    </SimpleGrid>
  );
}
