// The shared parts of all lists: a filter and a page in the URL, and rows that are
// refetched when a change notification arrives.

import { Button, Group, Menu } from '@mantine/core';
import { IconFilter } from '@tabler/icons-react';
import { type QueryKey, type UseQueryResult, keepPreviousData, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useLiveUpdates } from '../api/live';
import { EmptyState } from './EmptyState';
import { Loading } from './Loading';
import { ListPagination, useGoToPage } from './ListPagination';
import { ErrorAlert } from './ErrorAlert';
import { SearchField } from './SearchField';

type PageRange = {
  limit: number;
  offset: number;
};

interface PagedQuery<T> {
  /** The query key of the list; a change refetches all of its pages. */
  key: QueryKey;
  /** The search filter. */
  filter?: unknown;
  page: number;
  size: number;
  /** The topics whose changes refetch the list. */
  topics: readonly string[];
  read: (part: PageRange, signal: AbortSignal) => Promise<T>;
}

/** Reads one page of a list and keeps it up to date. The previous page is shown while the next one loads. */
export function usePagedQuery<T>({ key, filter, page, size, topics, read }: PagedQuery<T>): UseQueryResult<T> {
  useLiveUpdates(topics, key);
  return useQuery({
    queryKey: [...key, filter, page],
    queryFn: ({ signal }) => read({ limit: size, offset: (page - 1) * size }, signal),
    placeholderData: keepPreviousData,
  });
}

/** A menu of common filters, each a label and a value. */
export function FilterMenu<V>({
  label = 'Filter',
  choices,
  onChoose,
}: {
  label?: string;
  choices: readonly (readonly [string, V])[];
  onChoose: (value: V) => void;
}) {
  return (
    <Menu>
      <Menu.Target>
        <Button variant="default" leftSection={<IconFilter size={16} />} style={{ flexShrink: 0 }}>
          {label}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {choices.map(([name, value]) => (
          <Menu.Item key={name} onClick={() => onChoose(value)}>
            {name}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

interface ListToolbarProps {
  /** The label of the search field, such as "Search users". */
  label: string;
  placeholder: string;
  value: string;
  onSearch: (q: string) => void;
  choices?: readonly (readonly [string, string])[];
}

/** The toolbar of a list: a menu of common filters and a search field. */
export function ListToolbar({ label, placeholder, value, onSearch: onSeek, choices }: ListToolbarProps) {
  return (
    <Group mb="md" gap="xs" wrap="nowrap">
      {choices && <FilterMenu choices={choices} onChoose={onSeek} />}
      <SearchField label={label} placeholder={placeholder} value={value} onChange={onSeek} />
    </Group>
  );
}

interface Props {
  list: UseQueryResult<unknown>;
  /** The number of rows on the page; undefined while it loads. */
  rows: number | undefined;
  /** The total number of rows; undefined when the server does not count them. */
  count?: number;
  page: number;
  size: number;
  /** What is listed, as a plural noun. */
  of: string;
  /** The empty state. */
  empty: ReactNode;
  children: ReactNode;
}

/** One page of a list: its rows, error or empty state, and the pagination. */
export function PagedList({ list, rows, count, page, size, of, empty, children }: Props) {
  const turn = useGoToPage();
  return (
    <>
      <ErrorAlert error={list.error} />
      {list.isPending && <Loading />}
      {rows === 0 && page === 1 && empty}
      {rows === 0 && page > 1 && (
        <EmptyState title={`No ${of} on page ${page}`}>
          <Button variant="default" onClick={() => turn(1)}>
            Go to first page
          </Button>
        </EmptyState>
      )}
      {rows !== undefined && rows > 0 && children}
      {rows !== undefined && (rows > 0 || count !== undefined) && (
        <ListPagination count={count} rows={rows} size={size} page={page} of={of} />
      )}
    </>
  );
}
