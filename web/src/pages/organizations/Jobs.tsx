import { Badge, Button, Group, Menu, Paper, Stack, Table, TagsInput, Text, TextInput, VisuallyHidden } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { IconFilter } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client';
import { useLive } from '../../api/live';
import { Empty } from '../../parts/Empty';
import { Loading } from '../../parts/Loading';
import { Pages } from '../../parts/Pages';
import { Refusal } from '../../parts/Refusal';
import { Moment, duration } from '../../parts/time';
import type { TabProps } from './data';
import { Cancel, JobStatus, JobSubject } from './Job';
import { Tags, parseTags } from './tags';

const statuses = ['pending', 'running', 'succeeded', 'failed', 'canceled'] as const;
const size = 50;

/** What provisioners were asked to do: builds, imports and trials, the newest first. */
export default function Jobs({ o }: TabProps) {
  const { status, tags, initiator, page = 1 } = useSearch({ from: '/shell/organizations/$organization/$tab' });
  const navigate = useNavigate({ from: '/organizations/$organization/$tab' });
  const words = tags?.split(' ').filter(Boolean) ?? [];
  const asked = parseTags(words);
  const query = { status, initiator, tags: asked && words.length > 0 ? JSON.stringify(asked) : undefined, limit: size, offset: (page - 1) * size };
  const { data, error } = useQuery({
    queryKey: ['jobs', o.id, query],
    queryFn: ({ signal }) => api.get('/organizations/{organization}/provisionerjobs', { path: { organization: o.id }, query, signal }),
    placeholderData: keepPreviousData,
  });
  useLive([`jobs/${o.id}`], ['jobs', o.id]);
  const set = (search: { status?: string; tags?: string; initiator?: string }) => navigate({ search: (old) => ({ ...old, page: undefined, ...search }), replace: true });
  return (
    <Stack>
      <Group align="flex-end">
        <Menu>
          <Menu.Target>
            <Button variant="default" leftSection={<IconFilter size={16} />}>
              {status ?? 'Any status'}
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item onClick={() => set({ status: undefined })}>Any status</Menu.Item>
            {statuses.map((s) => (
              <Menu.Item key={s} onClick={() => set({ status: s })}>
                {s}
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
        <Initiator value={initiator ?? ''} onChange={(who) => set({ initiator: who || undefined })} />
        <TagsInput
          flex={1}
          miw={200}
          label="Tags"
          placeholder="name=value, then Enter"
          value={words}
          onChange={(list) => set({ tags: list.map((t) => t.replaceAll(' ', '')).join(' ') || undefined })}
          error={asked ? undefined : 'Write each as name=value.'}
        />
      </Group>
      <Refusal error={error} />
      {!data && !error && <Loading />}
      {data?.length === 0 && <Empty title="No job matches" />}
      {data && data.length > 0 && (
        <Paper withBorder>
          <Table.ScrollContainer minWidth={860}>
            <Table>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Job</Table.Th>
                  <Table.Th>Status</Table.Th>
                  <Table.Th>Tags</Table.Th>
                  <Table.Th>Provisioner</Table.Th>
                  <Table.Th>Asked for</Table.Th>
                  <Table.Th>Took</Table.Th>
                  <Table.Th w={90}>
                    <VisuallyHidden>Actions</VisuallyHidden>
                  </Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {data.map((j) => (
                  <Table.Tr key={j.id}>
                    <Table.Td>
                      <JobSubject o={o} job={j} />
                      {j.error && (
                        <Text size="xs" c="red" lineClamp={2} style={{ overflowWrap: 'anywhere' }}>
                          {j.error}
                        </Text>
                      )}
                    </Table.Td>
                    <Table.Td>
                      <JobStatus job={j} />
                      {j.status === 'pending' && j.queue_position > 0 && (
                        <Badge variant="default" ml={4}>
                          {j.queue_position} of {j.queue_size}
                        </Badge>
                      )}
                    </Table.Td>
                    <Table.Td>
                      <Tags tags={j.tags} />
                    </Table.Td>
                    <Table.Td>{j.worker_name || '–'}</Table.Td>
                    <Table.Td>
                      <Moment at={j.created_at} />
                    </Table.Td>
                    <Table.Td>{j.started_at && j.completed_at ? duration(Date.parse(j.completed_at) - Date.parse(j.started_at)) : '–'}</Table.Td>
                    <Table.Td>
                      <Cancel job={j} />
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
        </Paper>
      )}
      {data && <Pages rows={data.length} size={size} page={page} of="jobs" onPage={(n) => navigate({ search: (old) => ({ ...old, page: n }) })} />}
    </Stack>
  );
}

function Initiator({ value, onChange }: { value: string; onChange: (who: string) => void }) {
  const [typed, setTyped] = useState(value);
  const send = useDebouncedCallback(onChange, 400);
  return (
    <TextInput
      label="Asked for by"
      placeholder="username"
      value={typed}
      onChange={(e) => {
        setTyped(e.currentTarget.value);
        send(e.currentTarget.value.trim());
      }}
    />
  );
}
