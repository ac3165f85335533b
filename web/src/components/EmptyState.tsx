import { Center, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';

/** The empty state of a list, with an optional next step. */
export function EmptyState({ title, hint, children }: { title: string; hint?: string; children?: ReactNode }) {
  return (
    <Center mih={220}>
      <Stack align="center" gap="xs">
        <Text fw={600}>{title}</Text>
        {hint && (
          <Text c="dimmed" size="sm" ta="center" maw={420}>
            {hint}
          </Text>
        )}
        {children}
      </Stack>
    </Center>
  );
}
