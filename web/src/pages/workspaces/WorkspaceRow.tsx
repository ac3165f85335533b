// The parts that a row of the workspace table and a card have in common.

import { Anchor, Avatar, Badge, Group, Stack, Text } from '@mantine/core';
import { IconStarFilled } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { Icon } from '../../components/Icon';
import { WorkspaceStatusBadge } from '../../components/WorkspaceStatus';
import type { Workspace } from './queries';

/** The name of a workspace as a link, its template's icon, and its owner. */
export function WorkspaceName({ workspace }: { workspace: Workspace }) {
  return (
    <Group gap="xs" wrap="nowrap">
      <Icon src={workspace.template_icon} name={workspace.template_name} />
      <div>
        <Group gap={4}>
          <Anchor data-row-link component={Link} to={`/@${workspace.owner_name}/${workspace.name}`} fw={600}>
            {workspace.name}
          </Anchor>
          {workspace.is_prebuild && (
            <Badge size="xs" title="Not claimed by a user yet">
              Prebuilt
            </Badge>
          )}
          {workspace.favorite && (
            <IconStarFilled size={12} color="var(--mantine-color-yellow-6)" aria-label="Favorite" />
          )}
        </Group>
        <Group gap={6} wrap="nowrap">
          <Avatar size={16} radius="xl" src={workspace.owner_avatar_url || null} name={workspace.owner_name} alt="" />
          <Text size="xs" c="dimmed">
            {workspace.owner_name}
          </Text>
        </Group>
      </div>
    </Group>
  );
}

/** The status of a workspace. */
export function WorkspaceHealth({ workspace }: { workspace: Workspace }) {
  return (
    <Stack gap={2} align="flex-start">
      <WorkspaceStatusBadge workspace={workspace} />
      {workspace.dormant_at && (
        <Text size="xs" c="orange">
          Dormant
        </Text>
      )}
    </Stack>
  );
}
