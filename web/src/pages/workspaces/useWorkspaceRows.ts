// The rows of the workspace list. Only the visible rows are rendered, and only the parts of the
// list that contain them are read, so that a list of 10,000 workspaces opens like a short one.

import { useThrottledValue } from '@mantine/hooks';
import { keepPreviousData, queryOptions, useQueries, useQuery } from '@tanstack/react-query';
import { type VirtualItem, type Virtualizer, useWindowVirtualizer, windowScroll } from '@tanstack/react-virtual';
import { useCallback, useState } from 'react';
import { api } from '../../api/client';
import { useLiveUpdates } from '../../api/live';
import { type ListedWorkspace, withRights } from './rowRights';

/** The search of the list by default. */
export const mine = 'owner:me';

/** The number of workspaces that one request reads. */
const partSize = 25;

/** A part of a list. */
export const partQuery = (q: string, sort: string | undefined, part: number) =>
  queryOptions({
    queryKey: ['workspaces', 'list', q, sort, part],
    queryFn: async ({ signal }) => {
      const query = { q, sort, limit: partSize, offset: part * partSize, rights: true };
      const answer = await api.get('/workspaces', { query, signal });
      return { count: answer.count, workspaces: withRights(answer) };
    },
  });

/** The rows of a list, of which some are loaded. */
export interface Rows {
  count: number;
  /** Returns the workspace of a row; undefined while it loads. */
  get: (index: number) => ListedWorkspace | undefined;
  /** The workspaces of the loaded parts, by part. */
  parts: ListedWorkspace[][];
  /** The rows to render. */
  visible: VirtualItem[];
  /** The height of the rows before and after the visible ones, in pixels. */
  before: number;
  after: number;
  measure: Virtualizer<Window, Element>['measureElement'];
  scrollTo: (index: number) => void;
  /** The ref of the element that contains the rows. */
  container: (element: HTMLElement | null) => void;
}

/**
 * Returns the height of a row. A new row counts with its estimate until the browser has observed it:
 * measuring it at once would lay out the page while it is rendered.
 */
function measureElement(row: Element, observed: ResizeObserverEntry | undefined, list: Virtualizer<Window, Element>) {
  const size = observed?.borderBoxSize[0]?.blockSize;
  const index = list.indexFromElement(row);
  return size === undefined
    ? (list.measurementsCache[index]?.size ?? list.options.estimateSize(index))
    : Math.round(size);
}

/** The distance of the rows from the top of the page when they were last displayed, in pixels. A right guess
 * at first spares the second rendering of all rows. */
let lastTop = 259;

/** Scrolls the window. The list calls it when it is mounted, too: the page need not be laid out for that. */
const scrollToFn: typeof windowScroll = (offset, options, list) => {
  if (offset !== list.scrollOffset || options.adjustments) windowScroll(offset, options, list);
};

/** Reads the rows of the workspace list near the visible part of the page. */
export function useWorkspaceRows(q: string, sort: string | undefined, rowHeight: number) {
  useLiveUpdates(['workspace', 'agent'], ['workspaces', 'list']);
  const head = useQuery({ ...partQuery(q, sort, 0), placeholderData: keepPreviousData });
  const [top, setTop] = useState(lastTop);
  const count = head.data?.count ?? 0;
  const virtual = useWindowVirtualizer({
    count,
    estimateSize: () => rowHeight,
    measureElement,
    overscan: 4,
    scrollMargin: top,
    scrollToFn,
    // Without it, the list would be rendered without rows at first.
    initialRect: { width: window.innerWidth, height: window.innerHeight },
  });
  const visible = virtual.getVirtualItems();
  const first = visible[0]?.index ?? 0;
  const last = visible.at(-1)?.index ?? 0;
  // While the user drags the scroll bar, the parts in between are not read.
  const [from = 0, to = 0] = useThrottledValue(`${Math.floor(first / partSize)} ${Math.floor(last / partSize)}`, 150)
    .split(' ')
    .map(Number);
  const indexes = Array.from({ length: to - from + 1 }, (_, i) => from + i).filter((part) => part > 0);
  const rest = useQueries({ queries: indexes.map((part) => partQuery(q, sort, part)) });
  const parts = new Map<number, ListedWorkspace[]>();
  if (head.data) parts.set(0, head.data.workspaces);
  rest.forEach(({ data }, i) => data && parts.set(indexes[i] ?? 0, data.workspaces));
  const rows: Rows = {
    count,
    get: (index) => parts.get(Math.floor(index / partSize))?.[index % partSize],
    parts: [...parts.values()],
    visible,
    before: (visible[0]?.start ?? top) - top,
    after: virtual.getTotalSize() - ((visible.at(-1)?.end ?? top) - top),
    measure: virtual.measureElement,
    scrollTo: virtual.scrollToIndex,
    container: useCallback((element) => {
      if (element) setTop((lastTop = Math.round(element.getBoundingClientRect().top + window.scrollY)));
    }, []),
  };
  return { head, rows };
}
