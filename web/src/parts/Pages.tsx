import { Group, Pagination, Text } from '@mantine/core';

interface Props {
  count: number;
  size: number;
  page: number;
  /** What is counted, in the plural. */
  of: string;
  onPage: (page: number | undefined) => void;
}

/** Goes through the pages of a list; nothing when one page holds it all. */
export function Pages({ count, size, page, of, onPage }: Props) {
  if (count <= size && page === 1) return null;
  return (
    <Group justify="space-between" mt="md">
      <Text size="sm" c="dimmed">
        {count.toLocaleString()} {of}
      </Text>
      <Pagination
        total={Math.max(1, Math.ceil(count / size))}
        value={page}
        onChange={(n) => onPage(n > 1 ? n : undefined)}
        getControlProps={(control) => ({ 'aria-label': `${control} page` })}
      />
    </Group>
  );
}
