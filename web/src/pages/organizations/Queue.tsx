import { Alert, Group, Paper, Progress, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { type Schema, api } from '../../api/client';
import { useLive } from '../../api/live';
import { Empty } from '../../parts/Empty';
import { Loading } from '../../parts/Loading';
import { Pages } from '../../parts/Pages';
import { Pending } from '../../parts/Pending';
import { Refusal } from '../../parts/Refusal';
import { Moment, duration } from '../../parts/time';
import type { Organization, TabProps } from './data';
import { Cancel, type Job, JobSubject } from './Job';
import { Tags, tagList } from './tags';

type TagSet = Schema<'ProvisionerQueueTagSet'>;
const size = 25;
const keyOf = (tags: Record<string, string>): string => JSON.stringify(tagList(tags));

/** What waits and runs, by tag set, and why each job that waits does. */
export default function Queue({ o }: TabProps) {
  const queue = useQuery({
    queryKey: ['queue', o.id],
    queryFn: () => api.get('/organizations/{organization}/provisionerqueue', { path: { organization: o.id } }),
  });
  const { page = 1 } = useSearch({ from: '/shell/organizations/$organization/$tab' });
  const query = { status: 'pending', limit: size, offset: (page - 1) * size };
  const waiting = useQuery({
    queryKey: ['jobs', o.id, query],
    queryFn: () => api.get('/organizations/{organization}/provisionerjobs', { path: { organization: o.id }, query }),
    placeholderData: keepPreviousData,
  });
  useLive([`jobs/${o.id}`, 'provisioner_daemon'], ['queue', o.id], ['jobs', o.id]);
  const error = queue.error ?? waiting.error;
  if (error) return <Refusal error={error} />;
  if (!queue.data || !waiting.data) return <Loading />;
  const pending = queue.data.tag_sets.reduce((n, s) => n + s.pending, 0);
  return (
    <Stack gap="lg">
      {queue.data.warnings?.map((w) => (
        <Alert key={w.message} color="yellow" title={w.message} />
      ))}
      {queue.data.tag_sets.length === 0 && <Empty title="Nothing waits and nothing runs" />}
      {queue.data.tag_sets.map((s) => (
        <Part key={keyOf(s.tags)} o={o} set={s} jobs={waiting.data.filter((j) => keyOf(j.tags) === keyOf(s.tags))} />
      ))}
      <Pages count={Math.max(pending, (page - 1) * size + waiting.data.length)} size={size} page={page} of="jobs wait" />
    </Stack>
  );
}

function Part({ o, set: s, jobs }: { o: Organization; set: TagSet; jobs: Job[] }) {
  const figures: [string, string][] = [
    ['Waiting', s.held > 0 ? `${s.pending}, and ${s.held} held back` : String(s.pending)],
    ['Running', String(s.running)],
    ['Waits longest', s.oldest_wait_seconds > 0 ? duration(s.oldest_wait_seconds * 1000) : '–'],
    ['Takes', s.mean_seconds > 0 ? `${duration(s.mean_seconds * 1000)} on average` : '–'],
  ];
  return (
    <Paper withBorder p="md" component="section" aria-label={tagList(s.tags).join(', ') || 'no tags'}>
      <Stack>
        <Group justify="space-between">
          <Title order={2} size="h3">
            <Tags tags={s.tags} />
          </Title>
          <Text size="sm">
            {s.slots_busy} of {s.slots} slots busy
            {s.recommended_slots > s.slots && `; ${s.recommended_slots} would be enough`}
          </Text>
        </Group>
        <Progress value={s.slots > 0 ? (100 * s.slots_busy) / s.slots : 0} aria-label={`${s.slots_busy} of ${s.slots} slots busy`} />
        <SimpleGrid cols={{ base: 2, sm: 4 }}>
          {figures.map(([name, value]) => (
            <div key={name}>
              <Text size="xs" c="dimmed">
                {name}
              </Text>
              <Text size="sm" fw={600}>
                {value}
              </Text>
            </div>
          ))}
        </SimpleGrid>
        {jobs.map((j) => (
          <Stack key={j.id} gap={4}>
            <Group justify="space-between">
              <span>
                <JobSubject o={o} job={j} />{' '}
                <Text span size="sm" c="dimmed">
                  <Moment at={j.created_at} />
                </Text>
              </span>
              <Cancel job={j} />
            </Group>
            <Pending job={j} />
          </Stack>
        ))}
      </Stack>
    </Paper>
  );
}
