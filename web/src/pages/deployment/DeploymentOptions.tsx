import '@mantine/core/styles/Accordion.css';
import { Accordion, Badge, Code, Group, Paper, Stack, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type Schema, api } from '../../api/client';
import { EmptyState } from '../../components/EmptyState';
import { Loading } from '../../components/Loading';
import { ErrorAlert } from '../../components/ErrorAlert';
import { SearchField } from '../../components/SearchField';
import { formatDuration } from '../../components/time';
import { formatSetting } from './format';

type Option = Schema<'DeploymentOption'>;

const toElementID = (name: string) => name.replace(/\W+/g, '-'); // used in element ids

const sources: Record<string, string> = { flag: 'Flag', env: 'Environment', yaml: 'YAML' };

/** The options of the server and their values. */
export function DeploymentOptions() {
  const { q = '' } = useSearch({ from: '/shell/deployment/$tab' });
  const navigate = useNavigate({ from: '/deployment/$tab' });
  const { data, error, isPending } = useQuery({
    queryKey: ['deployment-config'],
    queryFn: () => api.get('/deployment/config'),
  });
  if (isPending) return <Loading />;
  const words = q.toLowerCase().split(/\s+/);
  const options = (data?.options ?? []).filter(
    (option) =>
      !option.hidden &&
      words.every((w) =>
        `${option.name} ${option.description} --${option.flag} ${option.env}`.toLowerCase().includes(w),
      ),
  );
  const groups = new Map<string, Option[]>();
  for (const option of options)
    groups.set(option.group.name || 'General', [...(groups.get(option.group.name || 'General') ?? []), option]);
  const names = [...groups.keys()].sort();
  return (
    <Stack>
      <Text size="sm">
        Set options with flags, environment variables or a YAML file when the server starts. The values of secrets are
        hidden.
      </Text>
      <Group>
        <SearchField
          label="Search options"
          placeholder="name, --flag, CODER_..."
          value={q}
          onChange={(next) => navigate({ search: { q: next || undefined }, replace: true })}
        />
      </Group>
      <ErrorAlert error={error} />
      {data && options.length === 0 && <EmptyState title="No options found" />}
      <Accordion
        multiple
        variant="separated"
        key={q === '' ? 'all' : 'found'}
        defaultValue={(q === '' ? names.slice(0, 1) : names).map(toElementID)}
      >
        {names.map((name) => (
          <Accordion.Item key={name} value={toElementID(name)}>
            <Accordion.Control>
              {name}{' '}
              <Text span size="sm" c="dimmed">
                {groups.get(name)?.length}
              </Text>
            </Accordion.Control>
            <Accordion.Panel>
              <OptionTable options={groups.get(name) ?? []} />
            </Accordion.Panel>
          </Accordion.Item>
        ))}
      </Accordion>
    </Stack>
  );
}

function OptionTable({ options }: { options: Option[] }) {
  return (
    <Paper>
      <Table.ScrollContainer minWidth={560}>
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Option</Table.Th>
              <Table.Th>Value</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {options.map((option) => {
              const value =
                option.kind === 'duration' && typeof option.value === 'number' && option.value > 0
                  ? formatDuration(option.value / 1e6)
                  : formatSetting(option.value);
              return (
                <Table.Tr key={option.flag || option.name}>
                  <Table.Td maw={520}>
                    <Text size="sm" fw={600}>
                      {option.name}
                    </Text>
                    <Text size="xs" c="dimmed">
                      {option.description}
                    </Text>
                    <Text size="xs" ff="monospace">
                      {option.flag && `--${option.flag}`} {option.env}
                    </Text>
                  </Table.Td>
                  <Table.Td style={{ overflowWrap: 'anywhere' }}>
                    <Group gap="xs">
                      {value === '' ? (
                        <Text size="sm" c="dimmed">
                          Not set
                        </Text>
                      ) : (
                        <Code>{value}</Code>
                      )}
                      {sources[option.value_source] && <Badge size="sm">{sources[option.value_source]}</Badge>}
                    </Group>
                  </Table.Td>
                </Table.Tr>
              );
            })}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Paper>
  );
}
