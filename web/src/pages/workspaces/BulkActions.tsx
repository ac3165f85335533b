import { Button, Group, List, Paper, Text } from '@mantine/core';
import { IconPlayerPlay, IconPlayerStop, IconRefresh, IconTrash } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type Schema, api } from '../../api/client';
import { capitalize, formatCount } from '../../lib/text';
import { confirm, confirmByName, notifyError, notifySuccess, notifyUndo } from '../../components/confirm';

type Workspace = Schema<'Workspace'>;
type BulkAction = 'start' | 'stop' | 'update' | 'delete';

/** Reports whether an action applies to a workspace in its current state. */
export function canRunAction(deed: BulkAction, workspace: Workspace): boolean {
  const status = workspace.latest_build.status;
  const settled = !['pending', 'starting', 'stopping', 'canceling', 'deleting'].includes(status);
  if (!settled) return false;
  if (deed === 'start') return status !== 'running';
  if (deed === 'stop') return status === 'running';
  if (deed === 'update') return workspace.outdated;
  return true;
}

async function runAction(deed: BulkAction, workspace: Workspace): Promise<unknown> {
  return api.post('/workspaces/{workspace}/builds', {
    path: { workspace: workspace.id },
    body: {
      transition: deed === 'update' ? 'start' : deed,
      template_version_id: deed === 'update' ? workspace.template_active_version_id : undefined,
      reason: deed === 'delete' ? undefined : 'dashboard',
      dry_run: false,
      orphan: false,
    },
  });
}

/** What a bulk action does, for its confirmation. */
const effects: Partial<Record<BulkAction, string>> = {
  stop: 'Stops all programs in these workspaces. They can be started again.',
  update: 'Rebuilds these workspaces with the active version of their template. Running workspaces restart.',
  delete: 'Deletes these workspaces with all of their resources and files. This cannot be undone.',
};

function Effect({ deed, on }: { deed: BulkAction; on: Workspace[] }) {
  return (
    <>
      <Text size="sm">{effects[deed]}</Text>
      <List size="sm" mt="xs">
        {on.map((workspace) => (
          <List.Item key={workspace.id}>
            {workspace.owner_name}/{workspace.name}
          </List.Item>
        ))}
      </List>
    </>
  );
}

/** Runs an action on several workspaces, one after the other, and reports failures by workspace. */
function useBulkAction(onDone: () => void) {
  const client = useQueryClient();
  const batch = useMutation({
    mutationFn: async ({ deed, on }: { deed: BulkAction; on: Workspace[] }) => {
      const failed = new Map<Workspace, string>();
      for (const workspace of on) {
        try {
          await runAction(deed, workspace);
        } catch (error) {
          failed.set(workspace, error instanceof Error ? error.message : String(error));
        }
      }
      return failed;
    },
    onSuccess: (failed, { deed, on }) => {
      const done = on.filter((workspace) => !failed.has(workspace));
      const message = `${capitalize(deed)} requested for ${formatCount(done.length, 'workspace')}`;
      if (done.length > 0 && deed === 'stop') notifyUndo(message, () => batch.mutate({ deed: 'start', on: done }));
      else if (done.length > 0) notifySuccess(message);
      for (const [workspace, why] of failed) notifyError(new Error(`${workspace.name}: ${why}`));
      onDone();
      void client.invalidateQueries({ queryKey: ['workspaces'] });
    },
  });
  return batch;
}

/** Asks for confirmation of an action on several workspaces. */
function askFor(deed: BulkAction, on: Workspace[], onConfirm: () => void): void {
  const title = `${capitalize(deed)} ${formatCount(on.length, 'workspace')}?`;
  const warning = <Effect deed={deed} on={on} />;
  if (deed === 'delete') confirmByName({ title, warning, name: 'delete', action: 'Delete', onConfirm });
  else confirm({ title, warning, action: capitalize(deed), onConfirm });
}

const buttons: { deed: BulkAction; Icon: typeof IconTrash; color?: string }[] = [
  { deed: 'start', Icon: IconPlayerPlay },
  { deed: 'stop', Icon: IconPlayerStop },
  { deed: 'update', Icon: IconRefresh },
  { deed: 'delete', Icon: IconTrash, color: 'red' },
];

/** The bulk actions on the selected workspaces. */
export default function BulkActions({ picked, onDone }: { picked: Workspace[]; onDone: () => void }) {
  const batch = useBulkAction(onDone);
  return (
    <Paper withBorder p="xs" mb="xs" visibleFrom="sm">
      <Group gap="xs">
        <Text size="sm" fw={600} mr="xs">
          {picked.length} selected
        </Text>
        {buttons.map(({ deed, Icon, color }) => {
          const on = picked.filter((workspace) => canRunAction(deed, workspace));
          const run = () => batch.mutate({ deed, on });
          return (
            <Button
              key={deed}
              size="xs"
              variant="light"
              color={color}
              leftSection={<Icon size={14} />}
              disabled={on.length === 0}
              loading={batch.isPending && batch.variables.deed === deed}
              onClick={() => (deed === 'start' ? run() : askFor(deed, on, run))}
            >
              {capitalize(deed)}
              {deed !== 'start' && '…'}
            </Button>
          );
        })}
      </Group>
    </Paper>
  );
}
