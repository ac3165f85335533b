import { Box, Group, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';

interface Props {
  title: string;
  hint?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  /** Uses the full width, for tables. */
  wide?: boolean;
}

/** A page with its title, actions and content. */
export function Page({ title, hint, actions, children, wide = true }: Props) {
  return (
    <Box maw={wide ? 1320 : 860} mx="auto" px={{ base: 'sm', sm: 'lg' }} py="lg">
      <title>{`${title} · Coder`}</title>
      <Group justify="space-between" mb="md" mih={36} align="flex-start">
        <div>
          <Title order={1} style={{ overflowWrap: 'anywhere' }}>
            {title}
          </Title>
          {hint && (
            <Text component="div" c="dimmed" size="sm">
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
