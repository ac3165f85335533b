import { Alert, Button, Code, Group, Stack, Text } from '@mantine/core';
import { IconAlertCircle, IconRefresh } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { ApiError } from '../api/client';
import { newVersionQuery } from '../api/newVersion';
import { LoadError } from './lazyComponent';

/** Explains why a part of the page failed to load or render, with a button that tries again. */
export function CrashAlert({ error, onRetry }: { error: Error; onRetry: () => void }) {
  return error instanceof LoadError ? (
    <LoadFailed onRetry={onRetry} />
  ) : (
    <Crash title="Something went wrong" hint={error.message} onRetry={onRetry}>
      {error instanceof ApiError && error.detail !== '' && <Code block>{error.detail}</Code>}
    </Crash>
  );
}

function LoadFailed({ onRetry }: { onRetry: () => void }) {
  const { data: outdated } = useQuery({ ...newVersionQuery, enabled: true });
  if (outdated) return <NewVersionAlert />;
  return (
    <Crash
      title="This part of the page could not be loaded"
      hint="The server cannot be reached or is restarting. Check your connection, then retry."
      onRetry={onRetry}
    />
  );
}

interface CrashProps {
  title: string;
  hint: string;
  onRetry: () => void;
  children?: React.ReactNode;
}

function Crash({ title, hint, onRetry, children }: CrashProps) {
  return (
    <Alert color="red" variant="light" icon={<IconAlertCircle />} title={title} role="alert">
      <Stack gap="sm" align="flex-start">
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {hint}
        </Text>
        {children}
        <Group gap="xs">
          <Button size="xs" onClick={onRetry}>
            Retry
          </Button>
          <Button size="xs" variant="default" onClick={() => location.reload()}>
            Reload page
          </Button>
        </Group>
      </Stack>
    </Alert>
  );
}

/** Offers to reload the page because the server was upgraded. */
export function NewVersionAlert() {
  return (
    <Alert
      color="blue"
      variant="light"
      radius={0}
      py={6}
      icon={<IconRefresh size={16} />}
      role="status"
      title="A new version of the dashboard is available"
    >
      <Group gap="sm">
        <Text size="sm">Reload the page to continue. Unsaved changes on this page are lost.</Text>
        <Button size="compact-sm" variant="default" onClick={() => location.reload()}>
          Reload
        </Button>
      </Group>
    </Alert>
  );
}
