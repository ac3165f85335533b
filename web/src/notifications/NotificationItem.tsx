import { ActionIcon, Anchor, Box, Group, Stack, Text, Tooltip } from '@mantine/core';
import { IconCircle, IconCircleFilled } from '@tabler/icons-react';
import { MarkdownText } from '../components/MarkdownText';
import { RelativeTime } from '../components/time';
import { type Notification, useSetRead } from './queries';

/** Returns the path of a link to this deployment, so that it is opened in this tab without the host. */
export function localPath(url: string): string {
  const parsed = new URL(url, location.href);
  return parsed.origin === location.origin ? parsed.pathname : parsed.href;
}

/** One notification with its links. Following a link marks it as read. */
export function NotificationItem({ notification }: { notification: Notification }) {
  const { id, title, content, actions, created_at: createdAt, read_at: readAt } = notification;
  const setRead = useSetRead();
  const unread = readAt === null;
  const label = unread ? 'Mark as read' : 'Mark as unread';
  return (
    <Group component="article" aria-label={title} wrap="nowrap" align="flex-start" justify="space-between" py="xs">
      <Stack gap={2} style={{ minWidth: 0 }}>
        <Text fw={unread ? 600 : 400}>{title}</Text>
        <Box fz="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          <MarkdownText text={content} />
        </Box>
        <Group gap="md">
          <Text size="xs" c="dimmed">
            <RelativeTime at={createdAt} />
          </Text>
          {actions.map((a) => (
            <Anchor
              key={a.label}
              size="sm"
              href={localPath(a.url)}
              onClick={() => unread && setRead.mutate({ id, read: true })}
            >
              {a.label}
            </Anchor>
          ))}
        </Group>
      </Stack>
      <Tooltip label={label}>
        <ActionIcon
          variant="subtle"
          size="sm"
          aria-label={label}
          loading={setRead.isPending}
          onClick={() => setRead.mutate({ id, read: unread })}
        >
          {unread ? <IconCircleFilled size={12} /> : <IconCircle size={12} />}
        </ActionIcon>
      </Tooltip>
    </Group>
  );
}
