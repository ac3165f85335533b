import { Button, Group, Paper, Text, Title } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { api } from '../../api/client';
import { ErrorAlert } from '../../components/ErrorAlert';
import { notifySuccess } from '../../components/confirm';
import { describePrebuilds, explainPrebuilds, maxPrebuilds } from '../../lib/preset';
import { formatCount, formatNumber } from '../../lib/text';
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
  const state = useQuery({
    queryKey: ['template', template.id, 'prebuilds'],
    queryFn: () => api.get('/templates/{template}/prebuilds', { path: { template: template.id } }),
    enabled: kept.length > 0,
    refetchInterval: 10_000,
  });
  if (!error && kept.length === 0) return null;
  return (
    <Paper withBorder p="md">
      <Title order={2} size="h3" mb="xs">
        Prebuilt workspaces
      </Title>
      <ErrorAlert error={error ?? state.error ?? renew.error} />
      {state.data?.reconciliation_paused && (
        <Text size="sm" mb={4}>
          Paused for the whole deployment: none are created or deleted
        </Text>
      )}
      {kept.map((preset) => {
        const status = state.data?.presets.find((p) => p.preset_id === preset.ID);
        return (
          <div key={preset.ID}>
            <Group justify="space-between" gap="xs">
              <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
                {preset.Name}
              </Text>
              {status && (
                <Text size="sm">
                  {formatNumber(status.eligible)} of {formatNumber(status.desired_instances)} ready
                </Text>
              )}
            </Group>
            <Text size="sm" c="dimmed">
              {status ? explainPrebuilds(preset, status) : describePrebuilds(preset)}
            </Text>
          </div>
        );
      })}
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
