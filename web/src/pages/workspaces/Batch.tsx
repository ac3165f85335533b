import { Button, Group, List, Paper, Text } from '@mantine/core';
import { IconPlayerPlay, IconPlayerStop, IconRefresh, IconTrash } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type Schema, api } from '../../api/client';
import { plural } from '../../parts/plural';
import { modals, notifications } from '../../parts/dialogs';

type Workspace = Schema<'Workspace'>;
type Deed = 'start' | 'stop' | 'update' | 'delete';

/** What can be done to a workspace as it is now. */
export function possible(deed: Deed, w: Workspace): boolean {
  const status = w.latest_build.status;
  const settled = !['pending', 'starting', 'stopping', 'canceling', 'deleting'].includes(status);
  if (!settled) return false;
  if (deed === 'start') return status !== 'running';
  if (deed === 'stop') return status === 'running';
  if (deed === 'update') return w.outdated;
  return true;
}

async function run(deed: Deed, w: Workspace): Promise<unknown> {
  return api.post('/workspaces/{workspace}/builds', {
    path: { workspace: w.id },
    body: {
      transition: deed === 'update' ? 'start' : deed,
      template_version_id: deed === 'update' ? w.template_active_version_id : undefined,
      reason: deed === 'delete' ? undefined : 'dashboard',
      dry_run: false,
      orphan: false,
    },
  });
}

/** What can be done to the chosen workspaces at once. */
export function Batch({ picked, onDone }: { picked: Workspace[]; onDone: () => void }) {
  const client = useQueryClient();
  const batch = useMutation({
    mutationFn: async ({ deed, on }: { deed: Deed; on: Workspace[] }) => {
      const failed: string[] = [];
      for (const w of on) {
        try {
          await run(deed, w);
        } catch (error) {
          failed.push(`${w.name}: ${error instanceof Error ? error.message : error}`);
        }
      }
      return failed;
    },
    onSuccess: (failed, { deed, on }) => {
      const done = on.length - failed.length;
      if (done > 0) notifications.show({ message: `${plural(done, 'workspace')}: ${deed} begins` });
      for (const message of failed) notifications.show({ color: 'red', message, autoClose: false });
      onDone();
      client.invalidateQueries({ queryKey: ['workspaces'] });
    },
  });
  if (picked.length === 0) return null;
  const button = (deed: Deed, label: string, icon: React.ReactNode, color?: string) => {
    const on = picked.filter((w) => possible(deed, w));
    const go = () => {
      if (deed !== 'delete') return batch.mutate({ deed, on });
      modals.openConfirmModal({
        title: `Delete ${plural(on.length, 'workspace')}?`,
        children: (
          <>
            <Text size="sm">Everything in them that is not kept elsewhere is lost:</Text>
            <List size="sm">
              {on.map((w) => (
                <List.Item key={w.id}>
                  {w.owner_name}/{w.name}
                </List.Item>
              ))}
            </List>
          </>
        ),
        labels: { confirm: 'Delete', cancel: 'Keep' },
        confirmProps: { color: 'red' },
        onConfirm: () => batch.mutate({ deed, on }),
      });
    };
    return (
      <Button size="xs" variant="light" color={color} leftSection={icon} disabled={on.length === 0} loading={batch.isPending && batch.variables.deed === deed} onClick={go}>
        {label}
      </Button>
    );
  };
  return (
    <Paper withBorder p="xs" mb="xs" visibleFrom="sm">
      <Group gap="xs">
        <Text size="sm" fw={600} mr="xs">
          {picked.length} chosen
        </Text>
        {button('start', 'Start', <IconPlayerPlay size={14} />)}
        {button('stop', 'Stop', <IconPlayerStop size={14} />)}
        {button('update', 'Update', <IconRefresh size={14} />)}
        {button('delete', 'Delete', <IconTrash size={14} />, 'red')}
      </Group>
    </Paper>
  );
}
