import { Button, Group, Paper, Text, Title } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { api } from '../../api/client';
import { Refusal } from '../../parts/Refusal';
import { praise } from '../../parts/confirm';
import { mostReady, readyWords } from '../../parts/preset';
import { type Template, useTemplateRights } from './data';

/** The presets of the active version whose workspaces are built ahead. */
export function Prebuilds({ t }: { t: Template }) {
  const may = useTemplateRights(t);
  const { data, error } = useQuery({
    queryKey: ['version', t.active_version_id, 'presets'],
    queryFn: () => api.get('/templateversions/{templateversion}/presets', { path: { templateversion: t.active_version_id } }),
  });
  const renew = useMutation({
    mutationFn: () => api.post('/templates/{template}/prebuilds/invalidate', { path: { template: t.id } }),
    onSuccess: () => praise('New ones take the place of those that stand ready'),
  });
  const kept = (data ?? []).filter((p) => mostReady(p) > 0);
  if (!error && kept.length === 0) return null;
  return (
    <Paper withBorder p="md">
      <Title order={2} size="h3" mb="xs">
        Built ahead
      </Title>
      <Refusal error={error ?? renew.error} />
      {kept.map((p) => (
        <Group key={p.id} justify="space-between" gap="xs">
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            {p.name}
          </Text>
          <Text size="sm" c="dimmed">
            {readyWords(p)}
          </Text>
        </Group>
      ))}
      {may.update && kept.length > 0 && (
        <Button mt="xs" size="compact-sm" variant="default" loading={renew.isPending} onClick={() => renew.mutate()}>
          Replace those that stand ready
        </Button>
      )}
    </Paper>
  );
}
