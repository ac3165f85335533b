import { Anchor, Badge, SimpleGrid, Stack, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type Schema, api } from '../api/client';
import { ErrorAlert } from '../components/ErrorAlert';
import { formatCSV } from './csv';
import { Card, ExportButton, numeric } from './parts';
import { formatNumber } from '../lib/text';

/** Which versions of templates, agents and the CLI are in use. */
export function VersionReport({ scope }: { scope: { organization?: string; template?: string } }) {
  const { data, error } = useQuery({
    queryKey: ['insights', 'versions', scope],
    queryFn: () => api.get('/insights/versions', { query: scope }),
    staleTime: 5 * 60_000,
  });
  if (!data) return <ErrorAlert error={error} />;
  return (
    <Stack>
      <Card
        title="Template versions of running workspaces"
        action={
          data.template_versions.length > 0 && (
            <ExportButton
              csv={() => versionsCSV(data.template_versions)}
              name="template-versions"
              what="Template versions"
            />
          )
        }
      >
        {data.template_versions.length === 0 ? (
          <Text size="sm" c="dimmed">
            No running workspaces
          </Text>
        ) : (
          <Table.ScrollContainer minWidth={320} mah={420}>
            <Table>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Template</Table.Th>
                  <Table.Th>Version</Table.Th>
                  <Table.Th {...numeric}>Running workspaces</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {data.template_versions.map((v) => (
                  <Table.Tr key={v.version_id}>
                    <Table.Td>
                      <Anchor component={Link} to={`/templates/${v.organization_name}/${v.template_name}`} size="sm">
                        {v.organization_name}/{v.template_name}
                      </Anchor>
                    </Table.Td>
                    <Table.Td>
                      {v.version_name}{' '}
                      <Badge color={v.active ? 'green' : 'yellow'}>{v.active ? 'Active' : 'Outdated'}</Badge>
                    </Table.Td>
                    <Table.Td {...numeric}>{formatNumber(v.workspaces)}</Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
        )}
      </Card>
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Versions title="Agent versions" unit="Connected agents" list={data.agents} none="No connected agents" />
        {!scope.template && (
          <Versions
            title="CLI versions, last 7 days"
            unit="Users"
            list={data.clients}
            none="No user changed something or connected with the CLI"
          />
        )}
      </SimpleGrid>
    </Stack>
  );
}

const versionsCSV = (list: Schema<'TemplateVersionUse'>[]) =>
  formatCSV(
    ['Organization', 'Template', 'Version', 'Active', 'Running workspaces'],
    list.map((v) => [v.organization_name, v.template_name, v.version_name, v.active ? 'yes' : 'no', v.workspaces]),
  );

interface Props {
  title: string;
  /** What is counted. */
  unit: string;
  list: Schema<'VersionUse'>[];
  none: string;
}

function Versions({ title, unit, list, none }: Props) {
  const csv = () =>
    formatCSV(
      ['Version', unit],
      list.map((v) => [v.version, v.count]),
    );
  return (
    <Card
      title={title}
      action={list.length > 0 && <ExportButton csv={csv} name={unit.toLowerCase().replace(' ', '-')} what={title} />}
    >
      {list.length === 0 ? (
        <Text size="sm" c="dimmed">
          {none}
        </Text>
      ) : (
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Version</Table.Th>
              <Table.Th {...numeric}>{unit}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {list.map((v) => (
              <Table.Tr key={v.version}>
                <Table.Td>{v.version}</Table.Td>
                <Table.Td {...numeric}>{formatNumber(v.count)}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </Card>
  );
}
