import { ActionIcon, Button, Divider, Group, Indicator, Popover, ScrollArea, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconBell } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { Fragment } from 'react';
import { NotificationItem } from './NotificationItem';
import { useNewest, useReadAll } from './queries';

/** The number of notifications in the popover. */
const shown = 6;

/** The bell in the header, with the number of unread notifications and the newest of them. */
export function NotificationBell() {
  const [open, { toggle, close, set }] = useDisclosure();
  const { data } = useNewest();
  const readAll = useReadAll();
  const unread = data?.unread_count ?? 0;
  const label = unread === 0 ? 'Notifications' : `Notifications, ${unread} unread`;
  const newest = data?.notifications.slice(0, shown) ?? [];
  return (
    <Popover opened={open} onChange={set} position="bottom-end" width={400} trapFocus shadow="md">
      <Indicator label={unread > 99 ? '99+' : unread} disabled={unread === 0} size={16} offset={4} color="red">
        <Popover.Target>
          <ActionIcon variant="subtle" color="gray" size="lg" aria-label={label} onClick={toggle}>
            <IconBell size={20} />
          </ActionIcon>
        </Popover.Target>
      </Indicator>
      <Popover.Dropdown aria-label="Newest notifications">
        <Group justify="space-between">
          <Text fw={600}>Notifications</Text>
          <Button
            variant="subtle"
            size="compact-sm"
            disabled={unread === 0}
            loading={readAll.isPending}
            onClick={() => readAll.mutate()}
          >
            Mark all as read
          </Button>
        </Group>
        <ScrollArea.Autosize mah={420} type="auto">
          {newest.length === 0 && (
            <Text size="sm" c="dimmed" py="md">
              No notifications yet
            </Text>
          )}
          {newest.map((n, i) => (
            <Fragment key={n.id}>
              {i > 0 && <Divider />}
              <NotificationItem notification={n} />
            </Fragment>
          ))}
        </ScrollArea.Autosize>
        <Stack gap={4} mt="xs">
          <Button component={Link} to="/notifications" variant="light" size="sm" onClick={close}>
            View all notifications
          </Button>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
