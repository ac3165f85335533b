import { Center, Paper, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { Logo } from './Logo';

/** The layout of pages that need no session. */
export function SignInLayout({ title, hint, children }: { title: string; hint?: string; children: ReactNode }) {
  return (
    <Center component="main" mih="100vh" p="md">
      <Paper withBorder p="xl" w="100%" maw={420} shadow="sm">
        <Stack>
          <Stack gap={4} align="center">
            <Logo size={40} />
            <Title order={1} ta="center">
              {title}
            </Title>
            {hint && (
              <Text c="dimmed" size="sm" ta="center">
                {hint}
              </Text>
            )}
          </Stack>
          {children}
        </Stack>
      </Paper>
    </Center>
  );
}
