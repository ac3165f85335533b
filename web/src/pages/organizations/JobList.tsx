import { Badge, Group, Stack, Table, TagsInput, Text, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client';
import { EmptyState } from '../../components/EmptyState';
import { JobBadge } from '../../components/JobBadge';
import { FilterMenu, PagedList, usePagedQuery } from '../../components/PagedList';
import { DataTable } from '../../components/DataTable';
import { capitalize } from '../../lib/text';
import { RelativeTime, formatDuration } from '../../components/time';
import type { TabProps } from './queries';
import { CancelJob, JobSubject } from './Job';
import { TagBadges, parseTags } from './tags';

const statuses = ['pending', 'running', 'succeeded', 'failed', 'canceled'] as const;
const size = 25;

/** The provisioner jobs of the organization, newest first. */
export default function JobList({ organization }: TabProps) {
  const { status, tags, initiator, page = 1 } = useSearch({ from: '/shell/organizations/$organization/$tab' });
  const navigate = useNavigate({ from: '/organizations/$organization/$tab' });
  const words = tags?.split(' ').filter(Boolean) ?? [];
  const asked = parseTags(words);
  const query = { status, initiator, tags: asked && words.length > 0 ? JSON.stringify(asked) : undefined };
  const list = usePagedQuery({
    key: ['jobs', organization.id],
    filter: query,
    page,
    size,
    topics: [`jobs/${organization.id}`],
    read: (part, signal) =>
      api.get('/organizations/{organization}/provisionerjobs', {
        path: { organization: organization.id },
        query: { ...query, ...part },
        signal,
      }),
  });
  const set = (search: { status?: string; tags?: string; initiator?: string }) =>
    navigate({ search: (old) => ({ ...old, page: undefined, ...search }), replace: true });
  return (
    <Stack>
      <Group align="flex-end">
        <FilterMenu
          label={status ? capitalize(status) : 'Any status'}
          choices={[['Any status', undefined], ...statuses.map((s) => [capitalize(s), s] as const)]}
          onChoose={(s) => set({ status: s })}
        />
        <InitiatorField value={initiator ?? ''} onChange={(who) => set({ initiator: who || undefined })} />
        <TagsInput
          flex={1}
          miw={200}
          label="Tags"
          placeholder="name=value"
          value={words}
          onChange={(list) => set({ tags: list.map((t) => t.replaceAll(' ', '')).join(' ') || undefined })}
          error={asked ? undefined : 'Enter tags as name=value.'}
        />
      </Group>
      <PagedList
        list={list}
        rows={list.data?.length}
        page={page}
        size={size}
        of="jobs"
        empty={<EmptyState title="No jobs found" />}
      >
        <DataTable
          headers={['Job', 'Status', 'Tags', 'Provisioner', 'Created', 'Duration']}
          actions={90}
          minWidth={800}
        >
          {list.data?.map((job) => (
            <Table.Tr key={job.id}>
              <Table.Td>
                <JobSubject organization={organization} job={job} />
                {job.error && (
                  <Text size="xs" c="red" lineClamp={2} style={{ overflowWrap: 'anywhere' }}>
                    {job.error}
                  </Text>
                )}
              </Table.Td>
              <Table.Td>
                <JobBadge status={job.status} />
                {job.status === 'pending' && job.queue_position > 0 && (
                  <Badge variant="default" ml={4}>
                    {job.queue_position} of {job.queue_size}
                  </Badge>
                )}
              </Table.Td>
              <Table.Td>
                <TagBadges tags={job.tags} />
              </Table.Td>
              <Table.Td>{job.worker_name || '–'}</Table.Td>
              <Table.Td>
                <RelativeTime at={job.created_at} />
              </Table.Td>
              <Table.Td>
                {job.started_at && job.completed_at
                  ? formatDuration(Date.parse(job.completed_at) - Date.parse(job.started_at))
                  : '–'}
              </Table.Td>
              <Table.Td>
                <CancelJob job={job} />
              </Table.Td>
            </Table.Tr>
          ))}
        </DataTable>
      </PagedList>
    </Stack>
  );
}

function InitiatorField({ value, onChange }: { value: string; onChange: (who: string) => void }) {
  const [typed, setTyped] = useState(value);
  const send = useDebouncedCallback(onChange, 400);
  return (
    <TextInput
      label="Initiator"
      placeholder="Username"
      value={typed}
      onChange={(e) => {
        setTyped(e.currentTarget.value);
        send(e.currentTarget.value.trim());
      }}
    />
  );
}
