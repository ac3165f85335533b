import { Center, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';

/** Shown where a list has nothing, with what to do about it. */
export function Empty({ title, hint, children }: { title: string; hint?: string; children?: ReactNode }) {
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
