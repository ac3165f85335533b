import { Button, Group, Menu } from '@mantine/core';
import { IconDotsVertical, IconPlayerPlay, IconPlayerStop, IconRefresh, IconStar, IconStarFilled, IconTrash, IconX } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { api } from '../../api/client';
import { complain, confirmByName } from '../../parts/confirm';
import { useKeptFocus } from '../../parts/focus';
import { type Workspace, busy, useBuild } from './data';

/** What one may do to a workspace now. */
export function Actions({ w, onUpdate }: { w: Workspace; onUpdate: () => void }) {
  const client = useQueryClient();
  const build = useBuild(w);
  const again = () => client.invalidateQueries({ queryKey: ['workspace', w.owner_name, w.name] });
  const cancel = useMutation({
    mutationFn: () => api.patch('/workspacebuilds/{workspacebuild}/cancel', { path: { workspacebuild: w.latest_build.id } }),
    onSuccess: again,
    onError: complain,
  });
  const favorite = useMutation({
    mutationFn: () => {
      const path = { workspace: w.id };
      return w.favorite ? api.delete('/workspaces/{workspace}/favorite', { path }) : api.put('/workspaces/{workspace}/favorite', { path });
    },
    onSuccess: again,
    onError: complain,
  });
  const start = (transition: 'start' | 'stop') => build.mutate({ transition }, { onError: complain });
  const remove = () =>
    confirmByName({
      title: `Delete ${w.name}?`,
      lost: 'What the template made for it is destroyed, and with it every file in it that is not kept elsewhere. This cannot be undone.',
      name: w.name,
      verb: 'Delete',
      option:
        w.latest_build.status === 'failed'
          ? { label: 'Forget it without destroying what was made (orphan)', description: 'For what cannot be destroyed any more. Whatever still exists goes on, and costs.' }
          : undefined,
      onYes: (orphan) => build.mutate({ transition: 'delete', orphan }, { onError: complain }),
    });
  const place = useKeptFocus();
  const running = w.latest_build.transition === 'start' && w.latest_build.job.status === 'succeeded';
  return (
    <Group gap="xs" ref={place}>
      {busy(w) ? (
        <Button variant="default" leftSection={<IconX size={16} />} loading={cancel.isPending} disabled={w.latest_build.job.status === 'canceling'} onClick={() => cancel.mutate()}>
          Cancel
        </Button>
      ) : (
        <>
          {w.outdated && (
            <Button variant="light" leftSection={<IconRefresh size={16} />} onClick={onUpdate}>
              Update{running ? ' and restart' : ' and start'}
            </Button>
          )}
          {running ? (
            <Button variant="default" leftSection={<IconPlayerStop size={16} />} loading={build.isPending} onClick={() => start('stop')}>
              Stop
            </Button>
          ) : (
            <Button leftSection={<IconPlayerPlay size={16} />} loading={build.isPending} onClick={() => start('start')}>
              Start
            </Button>
          )}
        </>
      )}
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" px={8} aria-label="More">
            <IconDotsVertical size={16} />
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={w.favorite ? <IconStarFilled size={16} /> : <IconStar size={16} />} onClick={() => favorite.mutate()}>
            {w.favorite ? 'No favorite any more' : 'Make it a favorite'}
          </Menu.Item>
          {running && (
            <Menu.Item leftSection={<IconRefresh size={16} />} disabled={busy(w)} onClick={() => start('start')}>
              Restart
            </Menu.Item>
          )}
          <Menu.Item color="red" leftSection={<IconTrash size={16} />} disabled={busy(w)} onClick={remove}>
            Delete …
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </Group>
  );
}
