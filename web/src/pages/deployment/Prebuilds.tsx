import { Paper, Switch, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { api } from '../../api/client';
import { Refusal } from '../../parts/Refusal';

const key = ['prebuilds-settings'];

/** Whether workspaces are built ahead as templates want them. */
export function Prebuilds() {
  const client = useQueryClient();
  const { data, error } = useQuery({ queryKey: key, queryFn: () => api.get('/prebuilds/settings') });
  const save = useMutation({
    mutationFn: (paused: boolean) => api.put('/prebuilds/settings', { body: { reconciliation_paused: paused } }),
    onSettled: () => client.invalidateQueries({ queryKey: key }),
  });
  return (
    <Paper withBorder p="md">
      <Title order={2} mb="xs">
        Prebuilt workspaces
      </Title>
      <Refusal error={error ?? save.error} />
      {data && (
        <Switch
          label="Build workspaces ahead as templates want them"
          description="While this is off none is built or deleted; what stands ready can be taken."
          checked={!data.reconciliation_paused}
          disabled={save.isPending}
          onChange={(e) => save.mutate(!e.currentTarget.checked)}
        />
      )}
    </Paper>
  );
}
