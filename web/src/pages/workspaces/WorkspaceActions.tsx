import { Button, Group, Menu } from '@mantine/core';
import {
  IconCopyPlus,
  IconDotsVertical,
  IconLifebuoy,
  IconPlayerPlay,
  IconPlayerStop,
  IconRefresh,
  IconStar,
  IconStarFilled,
  IconSunrise,
  IconTrash,
  IconX,
} from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Suspense } from 'react';
import { api } from '../../api/client';
import { confirm, confirmByName, notifyError } from '../../components/confirm';
import { Loading } from '../../components/Loading';
import { modals } from '../../components/dialogs';
import { useFocusGroup } from '../../components/focus';
import { lazyComponent } from '../../components/lazyComponent';
import { type Rights, type Workspace, isBuilding, useCreateBuild } from './queries';

const CreateBundle = lazyComponent(() => import('../../support/CreateBundle'));

const openBundle = (workspace: Workspace) =>
  modals.open({
    title: `Support bundle of ${workspace.name}`,
    size: 'lg',
    children: (
      <Suspense fallback={<Loading />}>
        <CreateBundle workspace={workspace} />
      </Suspense>
    ),
  });

/** The actions on a workspace in its current state. */
export function WorkspaceActions({
  workspace,
  may,
  onUpdate,
}: {
  workspace: Workspace;
  may: Rights;
  onUpdate: () => void;
}) {
  const client = useQueryClient();
  const build = useCreateBuild(workspace);
  const again = () => client.invalidateQueries({ queryKey: ['workspace', workspace.owner_name, workspace.name] });
  const cancel = useMutation({
    mutationFn: () =>
      api.patch('/workspacebuilds/{workspacebuild}/cancel', { path: { workspacebuild: workspace.latest_build.id } }),
    onSuccess: again,
    onError: notifyError,
  });
  const favorite = useMutation({
    mutationFn: () => {
      const path = { workspace: workspace.id };
      return workspace.favorite
        ? api.delete('/workspaces/{workspace}/favorite', { path })
        : api.put('/workspaces/{workspace}/favorite', { path });
    },
    onSuccess: again,
    onError: notifyError,
  });
  const wake = useMutation({
    mutationFn: () =>
      api.put('/workspaces/{workspace}/dormant', { path: { workspace: workspace.id }, body: { dormant: false } }),
    onSuccess: again,
    onError: notifyError,
  });
  const start = (transition: 'start' | 'stop', restart = false) =>
    build.mutate({ transition, restart }, { onError: notifyError });
  const restart = () =>
    confirm({
      title: `Restart ${workspace.name}?`,
      warning: 'Stops all programs in the workspace and starts it again. Files outside of persistent storage are lost.',
      action: 'Restart',
      onConfirm: () => start('start', true),
    });
  const remove = () =>
    confirmByName({
      title: `Delete ${workspace.name}?`,
      warning: 'Deletes the workspace with all of its resources and files. This cannot be undone.',
      name: workspace.name,
      action: 'Delete workspace',
      option:
        workspace.latest_build.status === 'failed'
          ? {
              label: 'Orphan resources',
              description:
                'Deletes the workspace without destroying its resources. Remaining resources keep running and may incur costs.',
            }
          : undefined,
      onConfirm: (orphan) => build.mutate({ transition: 'delete', orphan }, { onError: notifyError }),
    });
  const place = useFocusGroup();
  const running = workspace.latest_build.transition === 'start' && workspace.latest_build.job.status === 'succeeded';
  // A build cannot stop an external agent; it would only revoke the agent's token.
  const stops = running && may.stop && !workspace.latest_build.has_external_agent;
  return (
    <Group gap="xs" ref={place}>
      {isBuilding(workspace) ? (
        may.update && (
          <Button
            variant="default"
            leftSection={<IconX size={16} />}
            loading={cancel.isPending}
            disabled={workspace.latest_build.job.status === 'canceling'}
            onClick={() => cancel.mutate()}
          >
            Cancel
          </Button>
        )
      ) : (
        <>
          {workspace.outdated && !workspace.dormant_at && may.start && (
            <Button variant="light" leftSection={<IconRefresh size={16} />} onClick={onUpdate}>
              Update{running ? ' and restart' : ' and start'}
            </Button>
          )}
          {stops && (
            <Button
              variant="default"
              leftSection={<IconPlayerStop size={16} />}
              loading={build.isPending}
              onClick={() => start('stop')}
            >
              Stop
            </Button>
          )}
          {workspace.dormant_at && may.update && (
            <Button leftSection={<IconSunrise size={16} />} loading={wake.isPending} onClick={() => wake.mutate()}>
              Activate
            </Button>
          )}
          {!running && !workspace.dormant_at && may.start && (
            <Button leftSection={<IconPlayerPlay size={16} />} loading={build.isPending} onClick={() => start('start')}>
              Start
            </Button>
          )}
        </>
      )}
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" px={8} aria-label="More actions">
            <IconDotsVertical size={16} />
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item
            leftSection={workspace.favorite ? <IconStarFilled size={16} /> : <IconStar size={16} />}
            onClick={() => favorite.mutate()}
          >
            {workspace.favorite ? 'Remove from favorites' : 'Add to favorites'}
          </Menu.Item>
          <Menu.Item
            leftSection={<IconCopyPlus size={16} />}
            component={Link}
            to={`/templates/${workspace.organization_name}/${workspace.template_name}/workspace?from=${workspace.id}`}
          >
            Duplicate…
          </Menu.Item>
          <Menu.Item leftSection={<IconLifebuoy size={16} />} onClick={() => openBundle(workspace)}>
            Support bundle…
          </Menu.Item>
          {stops && may.start && (
            <Menu.Item leftSection={<IconRefresh size={16} />} disabled={isBuilding(workspace)} onClick={restart}>
              Restart…
            </Menu.Item>
          )}
          {may.remove && (
            <Menu.Item
              c="var(--mantine-color-red-text)"
              leftSection={<IconTrash size={16} />}
              disabled={isBuilding(workspace)}
              onClick={remove}
            >
              Delete…
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
    </Group>
  );
}
