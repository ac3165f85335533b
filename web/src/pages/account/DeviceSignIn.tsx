import { Anchor, Button, Code, CopyButton, Group, Loader, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { api, buildURL } from '../../api/client';
import { SignInLayout } from '../../layout/SignInLayout';
import { ErrorAlert } from '../../components/ErrorAlert';

/** Interprets a poll for a device code: where to go when it was entered, an error, or
 * wait when the page should poll again. */
export function interpretPoll(
  status: number,
  body: { redirect_url?: string; message?: string; detail?: string },
): { to?: string; error?: string; wait?: boolean } {
  if (status === 200 && body.redirect_url?.startsWith('/') && !body.redirect_url.startsWith('//'))
    return { to: body.redirect_url };
  if (body.detail === 'authorization_pending' || body.detail === 'slow_down') return { wait: true };
  return { error: body.message ?? 'Sign-in failed' };
}

/** Signs in to GitHub with a device code. */
export default function DeviceSignIn() {
  const { state } = useSearch({ from: '/login/device' });
  const [failure, setFailure] = useState<Error | null>(null);
  const device = useQuery({
    queryKey: ['github-device', state],
    queryFn: () => api.get('/users/oauth2/github/device'),
    staleTime: Infinity,
    gcTime: 0,
    retry: false,
  });
  const code = device.data?.device_code;
  const pause = (device.data?.interval ?? 5) * 1000;
  useEffect(() => {
    if (!code) return;
    const stop = new AbortController();
    let timer = 0;
    const ask = async () => {
      try {
        const response = await fetch(buildURL('/users/oauth2/github/callback', {}, { code, state }), {
          signal: stop.signal,
          headers: { Accept: 'application/json' },
        });
        const v = interpretPoll(response.status, (await response.json()) as object);
        if (v.to) location.assign(v.to);
        else if (v.wait) timer = window.setTimeout(() => void ask(), pause);
        else setFailure(new Error(v.error));
      } catch {
        if (!stop.signal.aborted) timer = window.setTimeout(() => void ask(), pause);
      }
    };
    timer = window.setTimeout(() => void ask(), pause);
    return () => {
      stop.abort();
      window.clearTimeout(timer);
    };
  }, [code, state, pause]);
  return (
    <SignInLayout title="Sign in with GitHub">
      <ErrorAlert error={device.error ?? failure} />
      {device.data && !failure && (
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
              Waiting for GitHub…
            </Text>
          </Group>
        </>
      )}
      {(device.error ?? failure) && <Anchor href="/login">Start over</Anchor>}
    </SignInLayout>
  );
}
