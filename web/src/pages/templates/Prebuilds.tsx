import { Button, Group, Paper, Text, Title } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { api } from '../../api/client';
import { ErrorAlert } from '../../components/ErrorAlert';
import { notifySuccess } from '../../components/confirm';
import { maxPrebuilds, describePrebuilds } from '../../lib/preset';
import { formatCount } from '../../lib/text';
import { type Template, useTemplateRights } from './queries';

/** The presets of the active version that have prebuilt workspaces. */
export function Prebuilds({ template }: { template: Template }) {
  const may = useTemplateRights(template);
  const { data, error } = useQuery({
    queryKey: ['version', template.active_version_id, 'presets'],
    queryFn: () =>
      api.get('/templateversions/{templateversion}/presets', { path: { templateversion: template.active_version_id } }),
  });
  const renew = useMutation({
    mutationFn: () => api.post('/templates/{template}/prebuilds/invalidate', { path: { template: template.id } }),
    onSuccess: () => notifySuccess('Prebuilt workspaces are being replaced'),
  });
  const byDemand = template.prebuild_budget > 0;
  const kept = (data ?? []).filter((preset) => maxPrebuilds(preset) > 0 || (byDemand && preset.prebuilds));
  if (!error && kept.length === 0) return null;
  return (
    <Paper withBorder p="md">
      <Title order={2} size="h3" mb="xs">
        Prebuilt workspaces
      </Title>
      <ErrorAlert error={error ?? renew.error} />
      {kept.map((preset) => (
        <Group key={preset.ID} justify="space-between" gap="xs">
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            {preset.Name}
          </Text>
          <Text size="sm" c="dimmed">
            {describePrebuilds(preset)}
          </Text>
        </Group>
      ))}
      {byDemand && kept.length > 0 && (
        <Text size="sm" c="dimmed" mt={4}>
          More by demand, up to {formatCount(template.prebuild_budget, 'prebuilt workspace')} of this template
        </Text>
      )}
      {may.update && kept.length > 0 && (
        <Button mt="xs" size="compact-sm" variant="default" loading={renew.isPending} onClick={() => renew.mutate()}>
          Replace prebuilt workspaces
        </Button>
      )}
    </Paper>
  );
}
