import { Button, Center, Divider, Paper, SegmentedControl } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { Fragment } from 'react';
import { EmptyState } from '../components/EmptyState';
import { ErrorAlert } from '../components/ErrorAlert';
import { Loading } from '../components/Loading';
import { Page } from '../components/Page';
import { NotificationItem } from './NotificationItem';
import { type ReadStatus, useInbox, useReadAll } from './queries';

/** All notifications of the signed-in user. */
export default function Inbox() {
  const { status = 'all' } = useSearch({ from: '/shell/notifications' });
  const navigate = useNavigate();
  const inbox = useInbox(status);
  const readAll = useReadAll();
  const all = inbox.data?.pages.flatMap((p) => p.notifications) ?? [];
  const unread = inbox.data?.pages.at(0)?.unread_count ?? 0;
  return (
    <Page
      title="Notifications"
      hint={unread === 0 ? 'No unread notifications' : `${unread} unread`}
      wide={false}
      actions={
        <>
          <Button
            variant="default"
            disabled={unread === 0}
            loading={readAll.isPending}
            onClick={() => readAll.mutate()}
          >
            Mark all as read
          </Button>
          <Button
            variant="default"
            onClick={() => navigate({ to: '/settings/$tab', params: { tab: 'notifications' } })}
          >
            Preferences
          </Button>
        </>
      }
    >
      <SegmentedControl
        aria-label="Read status"
        mb="md"
        value={status}
        onChange={(value) =>
          navigate({ to: '/notifications', search: { status: value === 'all' ? undefined : (value as ReadStatus) } })
        }
        data={[
          { value: 'all', label: 'All' },
          { value: 'unread', label: 'Unread' },
          { value: 'read', label: 'Read' },
        ]}
      />
      <ErrorAlert error={inbox.error ?? readAll.error} />
      {inbox.isPending && <Loading />}
      {inbox.isSuccess && all.length === 0 && (
        <EmptyState title="No notifications" hint="Events of your workspaces and your account appear here." />
      )}
      {all.length > 0 && (
        <Paper withBorder px="md">
          {all.map((n, i) => (
            <Fragment key={n.id}>
              {i > 0 && <Divider />}
              <NotificationItem notification={n} />
            </Fragment>
          ))}
        </Paper>
      )}
      {inbox.hasNextPage && (
        <Center mt="md">
          <Button variant="default" loading={inbox.isFetchingNextPage} onClick={() => inbox.fetchNextPage()}>
            Show older
          </Button>
        </Center>
      )}
    </Page>
  );
}
