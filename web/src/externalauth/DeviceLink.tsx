import { Anchor, Button, Code, CopyButton, Group, Loader, Stack, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { ApiError, api } from '../api/client';
import { ErrorAlert } from '../components/ErrorAlert';

/** Reports whether a failed poll means that the user has not entered the code yet. */
export function isPending(error: unknown): boolean {
  return error instanceof ApiError && (error.detail === 'authorization_pending' || error.detail === 'slow_down');
}

/** Links a provider with a code that the user enters at the provider. */
export function DeviceLink({ id, onLinked }: { id: string; onLinked: () => void }) {
  const client = useQueryClient();
  const path = { externalauth: id };
  const device = useQuery({
    queryKey: ['external-auth-device', id],
    queryFn: () => api.get('/external-auth/{externalauth}/device', { path }),
    staleTime: Infinity,
    gcTime: 0,
    retry: false,
  });
  const code = device.data?.device_code;
  const pause = (device.data?.interval ?? 5) * 1000;
  const poll = useQuery({
    queryKey: ['external-auth-device', id, code],
    enabled: code !== undefined,
    gcTime: 0,
    retry: (_, error) => isPending(error),
    retryDelay: pause,
    queryFn: async () => {
      await api.post('/external-auth/{externalauth}/device', { path, body: { device_code: code ?? '' } });
      await client.invalidateQueries({ queryKey: ['external-auth'] });
      onLinked();
      return true;
    },
  });
  return (
    <Stack>
      <ErrorAlert error={device.error ?? poll.error} />
      {device.data && !poll.error && (
        <>
          <Text style={{ overflowWrap: 'anywhere' }}>
            Enter this code at{' '}
            <Anchor href={device.data.verification_uri} target="_blank" rel="noreferrer">
              {device.data.verification_uri}
            </Anchor>
            :
          </Text>
          <Group justify="space-between">
            <Code fz="xl">{device.data.user_code}</Code>
            <CopyButton value={device.data.user_code}>
              {({ copied, copy }) => (
                <Button variant="default" onClick={copy}>
                  {copied ? 'Copied' : 'Copy'}
                </Button>
              )}
            </CopyButton>
          </Group>
          <Group gap="xs">
            <Loader size="xs" />
            <Text size="sm" c="dimmed">
              Waiting for the code to be entered
            </Text>
          </Group>
        </>
      )}
    </Stack>
  );
}
