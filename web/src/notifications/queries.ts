// The queries of notifications. The inbox is refetched when the server reports a
// change of the user's topic.

import {
  type UseInfiniteQueryResult,
  type InfiniteData,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { type Schema, api } from '../api/client';
import { useLiveUpdates } from '../api/live';
import { me } from '../api/queries';
import { useFirstPageShown } from '../lib/firstPage';

export type Notification = Schema<'InboxNotification'>;
export type InboxPage = Schema<'ListInboxNotificationsResponse'>;
export type NotificationTemplate = Schema<'NotificationTemplate'>;
export type ReadStatus = 'all' | 'unread' | 'read';

const inboxKey = ['inbox'];

/** The number of notifications on a page of the server. */
const pageSize = 25;

/** Refetches the inbox when it changes. */
function useLiveInbox(): void {
  const { data: user } = useQuery(me);
  useLiveUpdates(user ? [`inbox/${user.id}`] : [], inboxKey);
}

/** The newest notifications and the number of unread ones. */
export function useNewest() {
  useLiveInbox();
  const enabled = useFirstPageShown();
  return useQuery({ queryKey: [...inboxKey, 'newest'], queryFn: () => api.get('/notifications/inbox'), enabled });
}

/** All notifications with a read status, page by page. */
export function useInbox(status: ReadStatus): UseInfiniteQueryResult<InfiniteData<InboxPage>> {
  useLiveInbox();
  return useInfiniteQuery({
    queryKey: [...inboxKey, 'pages', status],
    queryFn: ({ pageParam }) =>
      api.get('/notifications/inbox', { query: { read_status: status, starting_before: pageParam } }),
    initialPageParam: '',
    getNextPageParam: (last) => {
      const oldest = last.notifications.at(-1);
      return last.notifications.length === pageSize && oldest ? oldest.id : undefined;
    },
  });
}

/** Marks a notification as read or unread. */
export function useSetRead() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, read }: { id: string; read: boolean }) =>
      api.put('/notifications/inbox/{id}/read-status', { path: { id }, body: { is_read: read } }),
    onSuccess: () => client.invalidateQueries({ queryKey: inboxKey }),
  });
}

/** Marks all notifications as read. */
export function useReadAll() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => api.put('/notifications/inbox/mark-all-as-read'),
    onSuccess: () => client.invalidateQueries({ queryKey: inboxKey }),
  });
}

/** The templates of the server that users can disable, by group. */
export function useTemplates() {
  return useQuery({
    queryKey: ['notification-templates'],
    queryFn: async () => {
      const [system, custom] = await Promise.all([
        api.get('/notifications/templates/system'),
        api.get('/notifications/templates/custom'),
      ]);
      const groups = new Map<string, NotificationTemplate[]>();
      for (const t of [...system, ...custom]) groups.set(t.group, [...(groups.get(t.group) ?? []), t]);
      return groups;
    },
  });
}
