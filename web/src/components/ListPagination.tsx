import { Group, Pagination, Text } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { formatNumber } from '../lib/text';

/** Returns a function that opens a page of the current list and keeps the other search parameters. */
export function useGoToPage(): (page: number) => void {
  const navigate = useNavigate();
  return (page) =>
    void navigate({ to: '.', search: (s: object) => ({ ...s, page: page > 1 ? page : undefined }) as never });
}

interface Props {
  /** The total number of items; undefined when the server does not count them. */
  count?: number;
  /** The number of items on this page, for lists without a total. */
  rows?: number;
  size: number;
  page: number;
  /** What is listed, as a plural noun. */
  of: string;
}

/** The pagination of a list. Hidden when one page holds all items. */
export function ListPagination({ count: counted, rows = 0, size, page, of }: Props) {
  const turn = useGoToPage();
  const more = counted === undefined && rows === size;
  const count = counted ?? (page - 1) * size + rows + (more ? 1 : 0);
  if (count <= size && page === 1) return null;
  return (
    <Group justify="space-between" mt="md">
      <Text size="sm" c="dimmed">
        {more ? `More than ${formatNumber(count - 1)}` : formatNumber(count)} {of}
      </Text>
      <Pagination
        total={Math.max(1, Math.ceil(count / size))}
        value={page}
        onChange={turn}
        getControlProps={(control) => ({ 'aria-label': `${control} page` })}
      />
    </Group>
  );
}
