import { Alert, Group, Paper, Progress, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { type Schema, api } from '../../api/client';
import { useLiveUpdates } from '../../api/live';
import { EmptyState } from '../../components/EmptyState';
import { Loading } from '../../components/Loading';
import { ListPagination } from '../../components/ListPagination';
import { PendingJob } from '../../components/PendingJob';
import { ErrorAlert } from '../../components/ErrorAlert';
import { RelativeTime, formatDuration } from '../../components/time';
import type { Organization, TabProps } from './queries';
import { CancelJob, type Job, JobSubject } from './Job';
import { TagBadges, formatTags } from './tags';

type TagSet = Schema<'ProvisionerQueueTagSet'>;
const size = 25;
const tagSetKey = (tags: Record<string, string>): string => JSON.stringify(formatTags(tags));

/** The provisioner queue by tag set, with an explanation for each pending job. */
export default function ProvisionerQueue({ organization }: TabProps) {
  const queue = useQuery({
    queryKey: ['queue', organization.id],
    queryFn: () =>
      api.get('/organizations/{organization}/provisionerqueue', { path: { organization: organization.id } }),
  });
  const { page = 1 } = useSearch({ from: '/shell/organizations/$organization/$tab' });
  const query = { status: 'pending', limit: size, offset: (page - 1) * size };
  const waiting = useQuery({
    queryKey: ['jobs', organization.id, query],
    queryFn: () =>
      api.get('/organizations/{organization}/provisionerjobs', { path: { organization: organization.id }, query }),
    placeholderData: keepPreviousData,
  });
  useLiveUpdates(
    [`jobs/${organization.id}`, 'provisioner_daemon'],
    ['queue', organization.id],
    ['jobs', organization.id],
  );
  const error = queue.error ?? waiting.error;
  if (error) return <ErrorAlert error={error} />;
  if (!queue.data || !waiting.data) return <Loading />;
  const pending = queue.data.tag_sets.reduce((n, tagSet) => n + tagSet.pending, 0);
  return (
    <Stack gap="lg">
      {queue.data.warnings?.map((w) => (
        <Alert key={w.message} color="yellow" title={w.message} />
      ))}
      {queue.data.tag_sets.length === 0 && <EmptyState title="The queue is empty" />}
      {queue.data.tag_sets.map((tagSet) => (
        <TagSetCard
          key={tagSetKey(tagSet.tags)}
          organization={organization}
          set={tagSet}
          jobs={waiting.data.filter((job) => tagSetKey(job.tags) === tagSetKey(tagSet.tags))}
        />
      ))}
      <ListPagination
        count={Math.max(pending, (page - 1) * size + waiting.data.length)}
        size={size}
        page={page}
        of="pending jobs"
      />
    </Stack>
  );
}

function TagSetCard({ organization, set: tagSet, jobs }: { organization: Organization; set: TagSet; jobs: Job[] }) {
  const figures: [string, string][] = [
    [
      'Pending',
      tagSet.held > 0 ? `${tagSet.pending}, plus ${tagSet.held} held by build limits` : String(tagSet.pending),
    ],
    ['Running', String(tagSet.running)],
    ['Oldest', tagSet.oldest_wait_seconds > 0 ? formatDuration(tagSet.oldest_wait_seconds * 1000) : '–'],
    ['Mean duration', tagSet.mean_seconds > 0 ? formatDuration(tagSet.mean_seconds * 1000) : '–'],
  ];
  return (
    <Paper withBorder p="md" component="section" aria-label={formatTags(tagSet.tags).join(', ') || 'No tags'}>
      <Stack>
        <Group justify="space-between">
          <Title order={2} size="h3">
            <TagBadges tags={tagSet.tags} />
          </Title>
          <Text size="sm">
            {tagSet.slots_busy} of {tagSet.slots} slots busy
            {tagSet.recommended_slots > tagSet.slots && `; ${tagSet.recommended_slots} recommended`}
          </Text>
        </Group>
        <Progress
          value={tagSet.slots > 0 ? (100 * tagSet.slots_busy) / tagSet.slots : 0}
          aria-label={`${tagSet.slots_busy} of ${tagSet.slots} slots busy`}
        />
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
        {jobs.map((job) => (
          <Stack key={job.id} gap={4}>
            <Group justify="space-between">
              <span>
                <JobSubject organization={organization} job={job} />{' '}
                <Text span size="sm" c="dimmed">
                  <RelativeTime at={job.created_at} />
                </Text>
              </span>
              <CancelJob job={job} />
            </Group>
            <PendingJob job={job} />
          </Stack>
        ))}
      </Stack>
    </Paper>
  );
}
