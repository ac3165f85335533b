import { Group, Pagination, Text } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';

/** Goes to a page of the list that is shown; the rest of the address stays. */
export function useTurn(): (page: number) => void {
  const navigate = useNavigate();
  return (page) => void navigate({ to: '.', search: (s: object) => ({ ...s, page: page > 1 ? page : undefined }) as never });
}

interface Props {
  /** How many there are in all; undefined when the server does not count them. */
  count?: number;
  /** How many are on this page, for lists that are not counted. */
  rows?: number;
  size: number;
  page: number;
  /** What is counted, in the plural. */
  of: string;
}

/** Goes through the pages of a list; nothing when one page holds it all. */
export function Pages({ count: counted, rows = 0, size, page, of }: Props) {
  const turn = useTurn();
  const more = counted === undefined && rows === size;
  const count = counted ?? (page - 1) * size + rows + (more ? 1 : 0);
  if (count <= size && page === 1) return null;
  return (
    <Group justify="space-between" mt="md">
      <Text size="sm" c="dimmed">
        {more ? `More than ${(count - 1).toLocaleString()}` : count.toLocaleString()} {of}
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
