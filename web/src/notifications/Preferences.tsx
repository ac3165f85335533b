import { Checkbox, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { api } from '../api/client';
import { ErrorAlert } from '../components/ErrorAlert';
import { Loading } from '../components/Loading';
import { BrowserNotifications } from './BrowserNotifications';
import { DailyEmail } from './DailyEmail';
import { useTemplates } from './queries';

const path = { user: 'me' };
const key = ['notification-preferences'];

/** Which notifications the signed-in user gets. */
export function Preferences() {
  const client = useQueryClient();
  const templates = useTemplates();
  const preferences = useQuery({
    queryKey: key,
    queryFn: () => api.get('/users/{user}/notifications/preferences', { path }),
  });
  const save = useMutation({
    mutationFn: ({ id, disabled }: { id: string; disabled: boolean }) =>
      api.put('/users/{user}/notifications/preferences', { path, body: { template_disabled_map: { [id]: disabled } } }),
    onSuccess: (data) => client.setQueryData(key, data),
  });
  if (templates.isPending || preferences.isPending) return <Loading />;
  const choices = new Map(preferences.data?.map((p) => [p.id, !p.disabled]));
  return (
    <Stack maw={520} gap="lg">
      <ErrorAlert error={templates.error ?? preferences.error ?? save.error} />
      <Text size="sm" c="dimmed">
        A notification is in your inbox, and is sent by email or webhook if your deployment has one. Notifications of
        templates and users go to their administrators.
      </Text>
      <BrowserNotifications />
      <DailyEmail />
      {[...(templates.data ?? [])].map(([group, list]) => (
        <Stack key={group} gap="xs" component="section" aria-label={group}>
          <Title order={2} size="h4">
            {group}
          </Title>
          {list.map((t) => (
            <Checkbox
              key={t.id}
              label={t.name}
              checked={choices.get(t.id) ?? t.enabled_by_default}
              disabled={save.isPending && save.variables.id === t.id}
              onChange={(e) => save.mutate({ id: t.id, disabled: !e.currentTarget.checked })}
            />
          ))}
        </Stack>
      ))}
    </Stack>
  );
}
