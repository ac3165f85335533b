import { Button, Group, Menu } from '@mantine/core';
import { IconCopyPlus, IconDotsVertical, IconPlayerPlay, IconPlayerStop, IconRefresh, IconStar, IconStarFilled, IconSunrise, IconTrash, IconX } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api } from '../../api/client';
import { complain, confirmByName } from '../../parts/confirm';
import { useKeptFocus } from '../../parts/focus';
import { type Rights, type Workspace, busy, useBuild } from './data';

/** What one may do to a workspace now. */
export function Actions({ w, may, onUpdate }: { w: Workspace; may: Rights; onUpdate: () => void }) {
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
  const wake = useMutation({
    mutationFn: () => api.put('/workspaces/{workspace}/dormant', { path: { workspace: w.id }, body: { dormant: false } }),
    onSuccess: again,
    onError: complain,
  });
  const start = (transition: 'start' | 'stop', restart = false) => build.mutate({ transition, restart }, { onError: complain });
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
  // A machine of one's own is not stopped by a build, which would only take its agent's token away.
  const stops = running && may.stop && !w.latest_build.has_external_agent;
  return (
    <Group gap="xs" ref={place}>
      {busy(w) ? (
        may.update && (
          <Button variant="default" leftSection={<IconX size={16} />} loading={cancel.isPending} disabled={w.latest_build.job.status === 'canceling'} onClick={() => cancel.mutate()}>
            Cancel
          </Button>
        )
      ) : (
        <>
          {w.outdated && !w.dormant_at && may.start && (
            <Button variant="light" leftSection={<IconRefresh size={16} />} onClick={onUpdate}>
              Update{running ? ' and restart' : ' and start'}
            </Button>
          )}
          {stops && (
            <Button variant="default" leftSection={<IconPlayerStop size={16} />} loading={build.isPending} onClick={() => start('stop')}>
              Stop
            </Button>
          )}
          {w.dormant_at && may.update && (
            <Button leftSection={<IconSunrise size={16} />} loading={wake.isPending} onClick={() => wake.mutate()}>
              Wake
            </Button>
          )}
          {!running && !w.dormant_at && may.start && (
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
          <Menu.Item leftSection={<IconCopyPlus size={16} />} component={Link} to={`/templates/${w.organization_name}/${w.template_name}/workspace?from=${w.id}`}>
            Duplicate …
          </Menu.Item>
          {stops && may.start && (
            <Menu.Item leftSection={<IconRefresh size={16} />} disabled={busy(w)} onClick={() => start('start', true)}>
              Restart
            </Menu.Item>
          )}
          {may.remove && (
            <Menu.Item c="var(--mantine-color-red-text)" leftSection={<IconTrash size={16} />} disabled={busy(w)} onClick={remove}>
              Delete …
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
    </Group>
  );
}
