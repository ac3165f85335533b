import { Stack, Switch, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { api } from '../api/client';
import { ErrorAlert } from '../components/ErrorAlert';

const path = { user: 'me' };
const queryKey = ['notification-digest'];

/** The switch for one email a day. It is hidden if the deployment sends no email. */
export function DailyEmail() {
  const client = useQueryClient();
  const digest = useQuery({ queryKey, queryFn: () => api.get('/users/{user}/notifications/digest', { path }) });
  const save = useMutation({
    mutationFn: (daily: boolean) => api.put('/users/{user}/notifications/digest', { path, body: { daily } }),
    onSuccess: (data) => client.setQueryData(queryKey, data),
  });
  if (!digest.data?.available) return <ErrorAlert error={digest.error} />;
  return (
    <Stack gap="xs" component="section" aria-label="Email">
      <Title order={2} size="h4">
        Email
      </Title>
      <ErrorAlert error={save.error} />
      <Switch
        label="Send one email a day"
        description="Notifications are collected and sent at 08:00 UTC."
        checked={digest.data.daily}
        disabled={save.isPending}
        onChange={(e) => save.mutate(e.currentTarget.checked)}
      />
    </Stack>
  );
}
