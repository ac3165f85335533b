import { Button, Center, Code, Group, Stack, Text, Title } from '@mantine/core';
import type { ErrorComponentProps } from '@tanstack/react-router';
import { ApiError } from '../api/client';

/** Shown where the address leads nowhere. */
export function NotFound() {
  return (
    <Center component="main" mih="60vh" p="md">
      <Stack align="center" gap="xs">
        <Title order={1}>There is nothing here</Title>
        <Text c="dimmed" ta="center">The address is wrong, what it names is gone, or you may not see it.</Text>
        <Button component="a" href="/workspaces" mt="md">
          Your workspaces
        </Button>
      </Stack>
    </Center>
  );
}

/** Shown in place of a page that failed. */
export function Crash({ error, reset }: ErrorComponentProps) {
  if (error instanceof ApiError && error.status === 404) return <NotFound />;
  return (
    <Center component="main" mih="60vh" p="md">
      <Stack align="center" gap="xs" maw={560}>
        <Title order={1}>This page failed</Title>
        <Text ta="center">{error instanceof Error ? error.message : String(error)}</Text>
        {error instanceof ApiError && error.detail !== '' && <Code block>{error.detail}</Code>}
        <Group mt="md">
          <Button onClick={reset}>Try again</Button>
          <Button variant="default" onClick={() => location.reload()}>
            Reload
          </Button>
        </Group>
      </Stack>
    </Center>
  );
}
