import { Alert, Button, Group, Select, Stack, Switch, Table, Text, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type Schema, api } from '../api/client';
import { DataTable } from '../components/DataTable';
import { ErrorAlert } from '../components/ErrorAlert';
import { Loading } from '../components/Loading';
import { RelativeTime } from '../components/time';
import { useTemplates } from './queries';

type Method = Schema<'NotificationMethod'>;

const methodNames: Record<string, string> = {
  smtp: 'Email',
  webhook: 'Webhook',
  inbox: 'Inbox only',
};
const queueKey = ['notification-queue'];

/** The queue of notifications: whether it is paused, what waits, and what failed. */
function Queue() {
  const client = useQueryClient();
  const queue = useQuery({
    queryKey: queueKey,
    queryFn: () => api.get('/notifications/queue'),
    refetchInterval: 5_000,
  });
  const refetch = () => client.invalidateQueries({ queryKey: queueKey });
  const pause = useMutation({
    mutationFn: (paused: boolean) => api.put('/notifications/settings', { body: { notifier_paused: paused } }),
    onSuccess: refetch,
  });
  const test = useMutation({ mutationFn: () => api.post('/notifications/test'), onSuccess: refetch });
  const retry = useMutation({
    mutationFn: (id: string) => api.post('/notifications/queue/{id}/retry', { path: { id } }),
    onSuccess: refetch,
  });
  if (!queue.data) return queue.error ? <ErrorAlert error={queue.error} /> : <Loading />;
  const { paused, waiting_events: events, waiting_messages: messages, failed, failed_count: count } = queue.data;
  return (
    <Stack>
      <ErrorAlert error={queue.error ?? pause.error ?? test.error ?? retry.error} />
      <Group justify="space-between">
        <Switch
          label="Send notifications"
          description="While off, events wait and are sent later."
          checked={!paused}
          disabled={pause.isPending}
          onChange={(e) => pause.mutate(!e.currentTarget.checked)}
        />
        <Button variant="default" loading={test.isPending} onClick={() => test.mutate()}>
          Send test notification
        </Button>
      </Group>
      <Text size="sm" c="dimmed" role="status">
        {events + messages === 0 ? 'Nothing waits.' : `Waiting: ${events} events, ${messages} messages.`}
      </Text>
      {count > 0 && (
        <>
          <Alert color="red" variant="light">
            {count === 1 ? '1 notification was not delivered.' : `${count} notifications were not delivered.`}
          </Alert>
          <DataTable headers={['Notification', 'Recipient', 'Method', 'Failed', 'Error']} actions={90} minWidth={760}>
            {failed.map((f) => (
              <Table.Tr key={f.id}>
                <Table.Td>{f.title || 'Event'}</Table.Td>
                <Table.Td>{f.username || '–'}</Table.Td>
                <Table.Td>{methodNames[f.method] ?? '–'}</Table.Td>
                <Table.Td>
                  <RelativeTime at={f.failed_at} />
                </Table.Td>
                <Table.Td>{f.error}</Table.Td>
                <Table.Td>
                  <Button
                    size="compact-sm"
                    variant="default"
                    loading={retry.isPending && retry.variables === f.id}
                    onClick={() => retry.mutate(f.id)}
                  >
                    Retry
                  </Button>
                </Table.Td>
              </Table.Tr>
            ))}
          </DataTable>
        </>
      )}
    </Stack>
  );
}

/** The method of every notification. */
function Methods() {
  const client = useQueryClient();
  const templates = useTemplates();
  const methods = useQuery({
    queryKey: ['notification-methods'],
    queryFn: () => api.get('/notifications/dispatch-methods'),
  });
  const save = useMutation({
    mutationFn: ({ id, method }: { id: string; method: string }) =>
      api.put('/notifications/templates/{notification_template}/method', {
        path: { notification_template: id },
        body: { method: method as Method },
      }),
    onSuccess: () => client.invalidateQueries({ queryKey: ['notification-templates'] }),
  });
  const server = methods.data?.at(0);
  if (!templates.data || !server) return <ErrorAlert error={templates.error ?? methods.error} />;
  const choices = [
    { value: '', label: `Default (${methodNames[server.default] ?? server.default})` },
    ...server.available.map((m) => ({ value: m as string, label: methodNames[m] ?? m })),
  ];
  return (
    <Stack gap="lg">
      <ErrorAlert error={save.error} />
      {[...templates.data].map(([group, list]) => (
        <Stack key={group} gap="xs" component="section" aria-label={group}>
          <Title order={3} size="h5">
            {group}
          </Title>
          {list.map((t) => (
            <Group key={t.id} justify="space-between" wrap="nowrap">
              <Text size="sm">{t.name}</Text>
              <Select
                aria-label={`Method of ${t.name}`}
                w={200}
                allowDeselect={false}
                data={choices}
                value={t.method}
                disabled={save.isPending && save.variables.id === t.id}
                onChange={(method) => save.mutate({ id: t.id, method: method ?? '' })}
              />
            </Group>
          ))}
        </Stack>
      ))}
    </Stack>
  );
}

/** The notifications of the deployment, for administrators. */
export function Administration() {
  return (
    <Stack maw={900} gap="xl">
      <Queue />
      <Stack>
        <Title order={2} size="h4">
          Methods
        </Title>
        <Methods />
      </Stack>
    </Stack>
  );
}
