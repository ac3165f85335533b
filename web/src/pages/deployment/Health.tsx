import { Badge, Button, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { IconAlertTriangle, IconCircleCheck, IconCircleX, IconRefresh } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type Schema, api } from '../../api/client';
import { Loading } from '../../parts/Loading';
import { Refusal } from '../../parts/Refusal';
import { complain } from '../../parts/confirm';
import { Moment } from '../../parts/time';

type Report = Schema<'HealthcheckReport'>;
type Section = Pick<Report['database'], 'severity' | 'warnings' | 'error' | 'dismissed'>;

const icons = {
  ok: <IconCircleCheck color="var(--mantine-color-green-text)" aria-label="in order" />,
  warning: <IconAlertTriangle color="var(--mantine-color-yellow-text)" aria-label="warning" />,
  error: <IconCircleX color="var(--mantine-color-red-text)" aria-label="error" />,
};

const sections = (r: Report): [Schema<'HealthSection'>, string, Section, string][] => [
  ['AccessURL', 'Access URL', r.access_url, `${r.access_url.access_url}${r.access_url.reachable ? ` answers ${r.access_url.status_code}` : ' does not answer'}`],
  ['Database', 'Database', r.database, r.database.reachable ? `answers in ${r.database.latency_ms} ms; up to ${r.database.threshold_ms} ms is good` : 'cannot be reached'],
  ['DERP', 'Relay', r.derp, 'how clients and workspaces that cannot reach each other meet'],
  ['Websocket', 'WebSockets', r.websocket, r.websocket.healthy ? 'go through to the server' : `answered ${r.websocket.code}`],
  ['ProvisionerDaemons', 'Provisioners', r.provisioner_daemons, `${r.provisioner_daemons.items.length} connected`],
  ['WorkspaceProxy', 'Workspace proxies', r.workspace_proxy, ''],
];

/** How the deployment does, checked from the server. */
export function Health() {
  const client = useQueryClient();
  const { data, error, isPending, isFetching } = useQuery({ queryKey: ['health'], queryFn: () => api.get('/debug/health') });
  const again = useMutation({
    mutationFn: () => api.get('/debug/health', { query: { force: true } }),
    onSuccess: (fresh) => client.setQueryData(['health'], fresh),
    onError: complain,
  });
  const mute = useMutation({
    mutationFn: async ({ section, on }: { section: Schema<'HealthSection'>; on: boolean }) => {
      const now = await api.get('/debug/health/settings');
      const others = now.dismissed_healthchecks.filter((s) => s !== section);
      return api.put('/debug/health/settings', { body: { dismissed_healthchecks: on ? [...others, section] : others } });
    },
    onSuccess: () => again.mutate(),
    onError: complain,
  });
  if (isPending) return <Loading />;
  if (!data) return <Refusal error={error} />;
  return (
    <Stack>
      <Group justify="space-between">
        <Text>
          {data.healthy ? 'Everything is in order.' : 'Something needs a look.'}{' '}
          <Text span size="sm" c="dimmed">
            Checked <Moment at={data.time} />
          </Text>
        </Text>
        <Button variant="default" leftSection={<IconRefresh size={16} />} loading={again.isPending || isFetching} onClick={() => again.mutate()}>
          Check again
        </Button>
      </Group>
      {sections(data).map(([id, title, s, says]) => (
        <Paper withBorder p="md" key={id}>
          <Group justify="space-between" wrap="nowrap" align="flex-start">
            <Group wrap="nowrap" align="flex-start">
              {icons[s.severity]}
              <div>
                <Title order={2} size="h3">
                  {title}
                </Title>
                <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                  {says}
                </Text>
              </div>
            </Group>
            {s.dismissed ? (
              <Button size="compact-sm" variant="subtle" onClick={() => mute.mutate({ section: id, on: false })}>
                Show warnings again
              </Button>
            ) : (
              s.severity === 'warning' && (
                <Button size="compact-sm" variant="subtle" aria-label={`Mute ${title}`} onClick={() => mute.mutate({ section: id, on: true })}>
                  Mute
                </Button>
              )
            )}
          </Group>
          {(s.error || s.warnings.length > 0) && (
            <Stack gap={4} mt="xs" opacity={s.dismissed ? 0.7 : 1}>
              {s.error && (
                <Text size="sm" c="red">
                  {s.error}
                </Text>
              )}
              {s.warnings.map((w) => (
                <Text size="sm" key={w.code + w.message}>
                  <Badge variant="light" color="yellow" mr="xs">
                    {w.code}
                  </Badge>
                  {w.message}
                </Text>
              ))}
            </Stack>
          )}
        </Paper>
      ))}
    </Stack>
  );
}
