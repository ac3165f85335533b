import { Box, Button, Center, Stack, Text, Title } from '@mantine/core';
import { type ErrorComponentProps, useRouter } from '@tanstack/react-router';
import { ApiError } from '../api/client';
import { CrashAlert } from '../components/CrashAlert';
import { resetFailedComponents } from '../components/lazyComponent';

/** The page for an address that matches no route. */
export function NotFound() {
  return (
    <Center component="main" mih="60vh" p="md">
      <NotFoundText />
    </Center>
  );
}

function NotFoundText() {
  return (
    <Stack align="center" gap="xs">
      <Title order={1}>Page not found</Title>
      <Text c="dimmed" ta="center">
        The address is wrong, the resource was deleted, or you do not have access to it.
      </Text>
      <Button component="a" href="/workspaces" mt="md">
        Go to workspaces
      </Button>
    </Stack>
  );
}

/** Replaces a page that failed to load or render. The navigation around it stays usable. */
export function ErrorPage({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  if (error instanceof ApiError && error.status === 404) {
    return (
      <Center mih="60vh" p="md">
        <NotFoundText />
      </Center>
    );
  }
  const retry = () => {
    resetFailedComponents();
    reset();
    void router.invalidate();
  };
  return (
    <Box maw={640} mx="auto" p="lg">
      <Stack>
        <Title order={1}>Error</Title>
        <CrashAlert error={error instanceof Error ? error : new Error(String(error))} onRetry={retry} />
      </Stack>
    </Box>
  );
}

/** Replaces a page without navigation, or the navigation itself, when it failed to load or render. */
export function RootErrorPage(props: ErrorComponentProps) {
  return (
    <Box component="main">
      <ErrorPage {...props} />
    </Box>
  );
}
