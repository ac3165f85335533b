import '@mantine/core/styles/Accordion.css';
import { Accordion, Badge, Code, Group, Paper, Stack, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type Schema, api } from '../../api/client';
import { Empty } from '../../parts/Empty';
import { Loading } from '../../parts/Loading';
import { Refusal } from '../../parts/Refusal';
import { Search } from '../../parts/Search';
import { duration } from '../../parts/time';
import { setting } from './numbers';

type Option = Schema<'DeploymentOption'>;

const slug = (name: string) => name.replace(/\W+/g, '-'); // it becomes part of an element's id

const sources: Record<string, string> = { flag: 'flag', env: 'environment', yaml: 'file' };

/** Every option of the server and what it is set to. */
export function Settings() {
  const { q = '' } = useSearch({ from: '/shell/deployment/$tab' });
  const navigate = useNavigate({ from: '/deployment/$tab' });
  const { data, error, isPending } = useQuery({ queryKey: ['deployment-config'], queryFn: () => api.get('/deployment/config') });
  if (isPending) return <Loading />;
  const words = q.toLowerCase().split(/\s+/);
  const options = (data?.options ?? []).filter((o) => !o.hidden && words.every((w) => `${o.name} ${o.description} --${o.flag} ${o.env}`.toLowerCase().includes(w)));
  const groups = new Map<string, Option[]>();
  for (const o of options) groups.set(o.group.name || 'General', [...(groups.get(o.group.name || 'General') ?? []), o]);
  const names = [...groups.keys()].sort();
  return (
    <Stack>
      <Text size="sm">
        Options are set where the server is started: by flags, by the environment or in a file. Secrets are shown as set or not, never as they are.
      </Text>
      <Group>
        <Search label="Search options" placeholder="name, --flag, CODER_..." value={q} onChange={(next) => navigate({ search: { q: next || undefined }, replace: true })} />
      </Group>
      <Refusal error={error} />
      {data && options.length === 0 && <Empty title="No option matches" />}
      <Accordion multiple variant="separated" key={q === '' ? 'all' : 'found'} defaultValue={(q === '' ? names.slice(0, 1) : names).map(slug)}>
        {names.map((name) => (
          <Accordion.Item key={name} value={slug(name)}>
            <Accordion.Control>
              {name}{' '}
              <Text span size="sm" c="dimmed">
                {groups.get(name)?.length}
              </Text>
            </Accordion.Control>
            <Accordion.Panel>
              <Options options={groups.get(name) ?? []} />
            </Accordion.Panel>
          </Accordion.Item>
        ))}
      </Accordion>
    </Stack>
  );
}

function Options({ options }: { options: Option[] }) {
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
            {options.map((o) => {
              const value = o.kind === 'duration' && typeof o.value === 'number' && o.value > 0 ? duration(o.value / 1e6) : setting(o.value);
              return (
                <Table.Tr key={o.flag || o.name}>
                  <Table.Td maw={520}>
                    <Text size="sm" fw={600}>
                      {o.name}
                    </Text>
                    <Text size="xs" c="dimmed">
                      {o.description}
                    </Text>
                    <Text size="xs" ff="monospace">
                      {o.flag && `--${o.flag}`} {o.env}
                    </Text>
                  </Table.Td>
                  <Table.Td style={{ overflowWrap: 'anywhere' }}>
                    <Group gap="xs">
                      {value === '' ? (
                        <Text size="sm" c="dimmed">
                          not set
                        </Text>
                      ) : (
                        <Code>{value}</Code>
                      )}
                      {sources[o.value_source] && (
                        <Badge variant="light" size="sm">
                          {sources[o.value_source]}
                        </Badge>
                      )}
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
