import { Button, Group, Stack, Switch, Text, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { buildInfo, me } from '../api/queries';
import { ErrorAlert } from '../components/ErrorAlert';
import { browserQuery, sendTest, subscribe, unsubscribe } from './browser';

/** The switch for notifications in this browser. It is hidden if the deployment has no web push. */
export function BrowserNotifications() {
  const client = useQueryClient();
  const publicKey = useQuery(buildInfo).data?.webpush_public_key ?? '';
  const user = useQuery(me).data?.id ?? '';
  const query = browserQuery(user, publicKey);
  const state = useQuery({ ...query, enabled: publicKey !== '' && user !== '' });
  const change = useMutation({
    mutationFn: (on: boolean) => (on ? subscribe(user, publicKey) : unsubscribe()),
    onSettled: () => client.invalidateQueries({ queryKey: query.queryKey }),
  });
  const test = useMutation({ mutationFn: sendTest });
  if (!state.data) return <ErrorAlert error={state.error} />;
  const hints = {
    on: 'Notifications appear also while no page of this site is open.',
    off: 'Show notifications also while no page of this site is open.',
    blocked: 'This browser blocks notifications of this site. Allow them in its settings.',
    unsupported: 'This browser or its connection does not support notifications. They require HTTPS.',
  };
  return (
    <Stack gap="xs" component="section" aria-label="This browser">
      <Title order={2} size="h4">
        This browser
      </Title>
      <ErrorAlert error={change.error ?? test.error} />
      <Group justify="space-between" align="flex-start">
        <Switch
          label="Show notifications in this browser"
          description={hints[state.data]}
          checked={state.data === 'on'}
          disabled={change.isPending || state.data === 'blocked' || state.data === 'unsupported'}
          onChange={(e) => change.mutate(e.currentTarget.checked)}
        />
        {state.data === 'on' && (
          <Button variant="default" loading={test.isPending} onClick={() => test.mutate()}>
            Send test notification
          </Button>
        )}
      </Group>
      {test.isSuccess && (
        <Text size="sm" c="dimmed" role="status">
          The test notification was sent.
        </Text>
      )}
    </Stack>
  );
}
