import { Box, Group, Text, Title } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';

interface Props {
  title: string;
  hint?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  /** Wider than text should be: for tables. */
  wide?: boolean;
}

/** A page: its title, what one can do on it, and its content. */
export function Page({ title, hint, actions, children, wide = true }: Props) {
  useEffect(() => {
    document.title = `${title} · Coder`;
  }, [title]);
  return (
    <Box maw={wide ? 1320 : 860} mx="auto" px={{ base: 'sm', sm: 'lg' }} py="lg">
      <Group justify="space-between" mb="md" align="flex-start">
        <div>
          <Title order={1}>{title}</Title>
          {hint && (
            <Text c="dimmed" size="sm">
              {hint}
            </Text>
          )}
        </div>
        {actions && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </Box>
  );
}
