import { Badge, Group, Stack, Table, TagsInput, Text, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client';
import { Empty } from '../../parts/Empty';
import { FilterMenu, Listing, useList } from '../../parts/Listing';
import { Sheet } from '../../parts/Sheet';
import { Moment, duration } from '../../parts/time';
import type { TabProps } from './data';
import { Cancel, JobStatus, JobSubject } from './Job';
import { Tags, parseTags } from './tags';

const statuses = ['pending', 'running', 'succeeded', 'failed', 'canceled'] as const;
const size = 25;

/** What provisioners were asked to do: builds, imports and trials, the newest first. */
export default function Jobs({ o }: TabProps) {
  const { status, tags, initiator, page = 1 } = useSearch({ from: '/shell/organizations/$organization/$tab' });
  const navigate = useNavigate({ from: '/organizations/$organization/$tab' });
  const words = tags?.split(' ').filter(Boolean) ?? [];
  const asked = parseTags(words);
  const query = { status, initiator, tags: asked && words.length > 0 ? JSON.stringify(asked) : undefined };
  const list = useList({
    key: ['jobs', o.id],
    filter: query,
    page,
    size,
    topics: [`jobs/${o.id}`],
    read: (part, signal) => api.get('/organizations/{organization}/provisionerjobs', { path: { organization: o.id }, query: { ...query, ...part }, signal }),
  });
  const set = (search: { status?: string; tags?: string; initiator?: string }) => navigate({ search: (old) => ({ ...old, page: undefined, ...search }), replace: true });
  return (
    <Stack>
      <Group align="flex-end">
        <FilterMenu
          label={status ?? 'Any status'}
          choices={[['Any status', undefined], ...statuses.map((s) => [s, s] as const)]}
          onChoose={(s) => set({ status: s })}
        />
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
      <Listing list={list} rows={list.data?.length} page={page} size={size} of="jobs" empty={<Empty title="No job matches" />}>
        <Sheet heads={['Job', 'Status', 'Tags', 'Provisioner', 'Asked for', 'Took']} actions={90} minWidth={800}>
          {list.data?.map((j) => (
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
        </Sheet>
      </Listing>
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
