import { Button, Divider, Group, Popover, ScrollArea, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { Fragment } from 'react';
import type { PopupState } from '../components/PopupButton';
import { ButtonPopover } from '../components/popups';
import { NotificationItem } from './NotificationItem';
import { useNewest, useReadAll } from './queries';

/** The number of notifications in the popover. */
const shown = 6;

/** The popover of the bell. */
export default function NewestNotifications({ state }: { state: PopupState }) {
  const { data } = useNewest();
  const readAll = useReadAll();
  const newest = data?.notifications.slice(0, shown) ?? [];
  return (
    <ButtonPopover state={state} position="bottom-end" width={400} trapFocus returnFocus shadow="md">
      <Popover.Dropdown aria-label="Newest notifications">
        <Group justify="space-between">
          <Text fw={600}>Notifications</Text>
          <Button
            variant="subtle"
            size="compact-sm"
            disabled={!data?.unread_count}
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
          <Button component={Link} to="/notifications" variant="light" size="sm" onClick={() => state.onChange(false)}>
            View all notifications
          </Button>
        </Stack>
      </Popover.Dropdown>
    </ButtonPopover>
  );
}
