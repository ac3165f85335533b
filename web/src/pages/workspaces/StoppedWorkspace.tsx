import { Anchor, Button, Group, Paper, SimpleGrid, Stack, Table, Text, Title } from '@mantine/core';
import { IconPlayerPlay } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { notifyError } from '../../components/confirm';
import { JobBadge } from '../../components/JobBadge';
import { RelativeTime, formatDuration } from '../../components/time';
import { parametersQuery, parseList } from '../../lib/parameter';
import { buildDuration } from './BuildList';
import {
  type Rights,
  type Workspace,
  buildParametersQuery,
  isBuilding,
  planAheadQuery,
  templateQuery,
  useCanUpdateTemplate,
  useCreateBuild,
} from './queries';

interface Props {
  workspace: Workspace;
  may: Rights;
}

/** A workspace that does not run: how to start it, its last build, parameters and schedule. */
export function StoppedWorkspace({ workspace, may }: Props) {
  const build = useCreateBuild(workspace);
  const { data: template } = useQuery(templateQuery(workspace.template_id));
  const last = workspace.latest_build;
  const usual = template?.build_time_stats.start?.P50;
  const facts: [string, ReactNode][] = [
    [
      'Last build',
      <Group key="build" gap="xs">
        <Anchor
          component={Link}
          inherit
          to={`/@${workspace.owner_name}/${workspace.name}/builds/${last.build_number}`}
        >{`#${last.build_number}`}</Anchor>
        <JobBadge status={last.job.status} />
        <span>
          <RelativeTime at={last.created_at} />
          {buildDuration(last) && `, took ${buildDuration(last)}`}
        </span>
      </Group>,
    ],
    ['Template version', last.template_version_name],
    ['Last used', <RelativeTime key="used" at={workspace.last_used_at} />],
    ['Next autostart', workspace.next_start_at && <RelativeTime key="next" at={workspace.next_start_at} />],
  ];
  return (
    <Stack>
      <Paper withBorder p="xl">
        <Stack align="center" gap="xs">
          <Text fw={600} size="lg">
            This workspace is stopped. Start it to connect.
          </Text>
          {usual ? (
            <Text size="sm" c="dimmed">
              Starting usually takes {formatDuration(usual)}.
            </Text>
          ) : null}
          <NextStart workspace={workspace} />
          {may.start && !workspace.dormant_at && (
            <Button
              size="lg"
              mt="xs"
              leftSection={<IconPlayerPlay size={20} />}
              loading={build.isPending}
              disabled={isBuilding(workspace)}
              aria-label={`Start ${workspace.name}`}
              onClick={() => build.mutate({ transition: 'start' }, { onError: notifyError })}
            >
              Start
            </Button>
          )}
        </Stack>
      </Paper>
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Facts title="Overview" rows={facts} />
        <ParameterFacts workspace={workspace} />
      </SimpleGrid>
    </Stack>
  );
}

/**
 * Whether the next start is planned. Those who can update the template also see why it is not. Hidden if the server
 * does not plan ahead.
 */
function NextStart({ workspace }: { workspace: Workspace }) {
  const { data } = useQuery(planAheadQuery(workspace));
  const unplanned = data?.enabled && !data.planned_at;
  const explained = useCanUpdateTemplate(unplanned ? workspace : undefined);
  if (!data?.enabled || (unplanned && !explained)) return null;
  return (
    <Text size="sm" c="dimmed" ta="center" style={{ overflowWrap: 'anywhere' }}>
      {data.planned_at ? (
        <>
          The next start is planned (<RelativeTime at={data.planned_at} />
          ).
        </>
      ) : (
        `The next start is not planned ahead: ${data.reason}`
      )}
    </Text>
  );
}

/** The parameter values of the last build. Hidden without parameters. */
function ParameterFacts({ workspace }: { workspace: Workspace }) {
  const { data: values } = useQuery(buildParametersQuery(workspace.latest_build.id));
  const { data: parameters } = useQuery(parametersQuery(workspace.latest_build.template_version_id));
  if (!values || values.length === 0) return null;
  const format = (name: string, value: string): string => {
    const parameter = parameters?.find((p) => p.name === name);
    return parameter?.options.find((o) => o.value === value)?.name || parseList(value)?.join(', ') || value || '–';
  };
  const label = (name: string) => parameters?.find((p) => p.name === name)?.display_name || name;
  return <Facts title="Parameters" rows={values.map(({ name, value }) => [label(name), format(name, value)])} />;
}

function Facts({ title, rows }: { title: string; rows: [string, ReactNode][] }) {
  return (
    <Paper withBorder p="md">
      <Title order={2} size="h3" mb="xs">
        {title}
      </Title>
      <Table withRowBorders={false} verticalSpacing={4} highlightOnHover={false}>
        <Table.Tbody>
          {rows
            .filter(([, value]) => value)
            .map(([name, value]) => (
              <Table.Tr key={name}>
                <Table.Th scope="row" w="40%">
                  {name}
                </Table.Th>
                <Table.Td style={{ overflowWrap: 'anywhere' }}>{value}</Table.Td>
              </Table.Tr>
            ))}
        </Table.Tbody>
      </Table>
    </Paper>
  );
}
