// What every list has in common: a filter and a page that are kept in the
// address, and rows that are read again when something of their kind changed.

import { Button, Group, Menu } from '@mantine/core';
import { IconFilter } from '@tabler/icons-react';
import { type QueryKey, type UseQueryResult, keepPreviousData, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useLive } from '../api/live';
import { Empty } from './Empty';
import { Loading } from './Loading';
import { Pages, useTurn } from './Pages';
import { Refusal } from './Refusal';
import { Search } from './Search';

type Part = {
  limit: number;
  offset: number;
};

interface Asked<T> {
  /** What the list is of; every page of it is read again on a change. */
  key: QueryKey;
  /** What is looked for. */
  filter?: unknown;
  page: number;
  size: number;
  /** What changes it. */
  topics: readonly string[];
  read: (part: Part, signal: AbortSignal) => Promise<T>;
}

/** A page of a list, live. The page before is shown until the next is there. */
export function useList<T>({ key, filter, page, size, topics, read }: Asked<T>): UseQueryResult<T> {
  useLive(topics, key);
  return useQuery({
    queryKey: [...key, filter, page],
    queryFn: ({ signal }) => read({ limit: size, offset: (page - 1) * size }, signal),
    placeholderData: keepPreviousData,
  });
}

/** A menu of what lists are often filtered by: a label, and what it stands for. */
export function FilterMenu<V>({ label = 'Filter', choices, onChoose }: { label?: string; choices: readonly (readonly [string, V])[]; onChoose: (value: V) => void }) {
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

interface FindProps {
  /** What is searched, as in "Search users". */
  label: string;
  placeholder: string;
  value: string;
  onSeek: (q: string) => void;
  choices?: readonly (readonly [string, string])[];
}

/** What stands above a list: filters to choose from, and one to type. */
export function Find({ label, placeholder, value, onSeek, choices }: FindProps) {
  return (
    <Group mb="md" gap="xs" wrap="nowrap">
      {choices && <FilterMenu choices={choices} onChoose={onSeek} />}
      <Search label={label} placeholder={placeholder} value={value} onChange={onSeek} />
    </Group>
  );
}

interface Props {
  list: UseQueryResult<unknown>;
  /** How many rows the page has; undefined until it is known. */
  rows: number | undefined;
  /** How many there are in all; undefined where the server does not count. */
  count?: number;
  page: number;
  size: number;
  /** What is listed, in the plural. */
  of: string;
  /** Shown when there are none. */
  empty: ReactNode;
  children: ReactNode;
}

/** A page of a list: its rows, or why there are none, and the way to the other pages. */
export function Listing({ list, rows, count, page, size, of, empty, children }: Props) {
  const turn = useTurn();
  return (
    <>
      <Refusal error={list.error} />
      {list.isPending && <Loading />}
      {rows === 0 && page === 1 && empty}
      {rows === 0 && page > 1 && (
        <Empty title={`There are no ${of} on page ${page}`}>
          <Button variant="default" onClick={() => turn(1)}>
            First page
          </Button>
        </Empty>
      )}
      {rows !== undefined && rows > 0 && children}
      {rows !== undefined && (rows > 0 || count !== undefined) && <Pages count={count} rows={rows} size={size} page={page} of={of} />}
    </>
  );
}
