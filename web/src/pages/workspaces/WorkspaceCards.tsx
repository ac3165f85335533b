import { Box, Group, Paper, Skeleton, Text } from '@mantine/core';
import { memo } from 'react';
import { RelativeTime } from '../../components/time';
import { QuickApps, StartStop } from './RowActions';
import { WorkspaceHealth, WorkspaceName } from './WorkspaceRow';
import type { ListedWorkspace } from './rowRights';
import { useRowKeys } from './useRowKeys';
import type { Rows } from './useWorkspaceRows';

/** The workspaces as cards, for narrow windows. Only those near the visible part of the page are rendered. */
export function WorkspaceCards({ rows }: { rows: Rows }) {
  const { count, visible, before, after, container, measure, get, scrollTo } = rows;
  const list = useRowKeys({ count, visible, scrollTo });
  return (
    <div ref={list}>
      <div ref={container} style={{ height: before }} />
      {visible.map(({ index }) => {
        const workspace = get(index);
        return (
          <Box key={index} ref={measure} data-index={index} pb="xs">
            <Paper withBorder p="sm">
              {workspace ? <Card workspace={workspace} /> : <Skeleton height={84} aria-label="Loading" role="img" />}
            </Paper>
          </Box>
        );
      })}
      <div style={{ height: after }} />
    </div>
  );
}

const Card = memo(function Card({ workspace }: { workspace: ListedWorkspace }) {
  return (
    <>
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <WorkspaceName workspace={workspace} />
        <Group gap="xs" wrap="nowrap">
          <WorkspaceHealth workspace={workspace} />
          <StartStop workspace={workspace} />
        </Group>
      </Group>
      <QuickApps workspace={workspace} />
      <Text size="xs" c="dimmed" mt={4}>
        {workspace.template_display_name || workspace.template_name} · last used{' '}
        <RelativeTime at={workspace.last_used_at} />
      </Text>
    </>
  );
});
