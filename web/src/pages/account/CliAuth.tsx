import { Button, Code, CopyButton, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { api } from '../../api/client';
import { Page } from '../../components/Page';
import { ErrorAlert } from '../../components/ErrorAlert';

/** Shows a session token to paste into the CLI. The token is created on request, not when
 * the page opens. */
export default function CliAuth() {
  const make = useMutation({ mutationFn: () => api.post('/users/{user}/keys', { path: { user: 'me' } }) });
  return (
    <Page title="CLI sign-in" wide={false}>
      <Stack>
        <Text>
          Sign in to the CLI with a session token: run “coder login”, leave the email empty and paste the token.
        </Text>
        <ErrorAlert error={make.error} />
        {!make.data && (
          <Button onClick={() => make.mutate()} loading={make.isPending} w="fit-content">
            Show session token
          </Button>
        )}
        {make.data && (
          <>
            <Code block aria-label="Session token">
              {make.data.key}
            </Code>
            <CopyButton value={make.data.key}>
              {({ copied, copy }) => (
                <Button variant="default" onClick={copy} w="fit-content">
                  {copied ? 'Copied' : 'Copy session token'}
                </Button>
              )}
            </CopyButton>
            <Text size="sm" c="dimmed">
              Keep it secret: it has the same access as your account. Revoke it under Account settings, Security.
            </Text>
          </>
        )}
      </Stack>
    </Page>
  );
}
