import { Paper, Switch, Title } from '@mantine/core';
import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { api } from '../../api/client';
import { ErrorAlert } from '../../components/ErrorAlert';

export const prebuildSettings = queryOptions({
  queryKey: ['prebuilds-settings'],
  queryFn: () => api.get('/prebuilds/settings'),
});

/** Pauses and resumes the reconciliation of prebuilt workspaces. */
export function PrebuildSettings() {
  const client = useQueryClient();
  const { data, error } = useQuery(prebuildSettings);
  const save = useMutation({
    mutationFn: (paused: boolean) => api.put('/prebuilds/settings', { body: { reconciliation_paused: paused } }),
    onSettled: () => client.invalidateQueries(prebuildSettings),
  });
  return (
    <Paper withBorder p="md">
      <Title order={2} mb="xs">
        Prebuilt workspaces
      </Title>
      <ErrorAlert error={error ?? save.error} />
      {data && (
        <Switch
          label="Maintain prebuilt workspaces"
          description="When disabled, prebuilt workspaces are neither created nor deleted. Existing ones can still be claimed."
          checked={!data.reconciliation_paused}
          disabled={save.isPending}
          onChange={(e) => save.mutate(!e.currentTarget.checked)}
        />
      )}
    </Paper>
  );
}
