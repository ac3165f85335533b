import { Button, Code, CopyButton, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { api } from '../../api/client';
import { Page } from '../../parts/Page';
import { Refusal } from '../../parts/Refusal';

/** A session for the command line, which somebody carries there by hand. It is
 * made when asked for, not by opening the page. */
export default function CliAuth() {
  const make = useMutation({ mutationFn: () => api.post('/users/{user}/keys', { path: { user: 'me' } }) });
  return (
    <Page title="Command line" wide={false}>
      <Stack>
        <Text>Sign in on the command line with a token: run “coder login”, leave the e-mail address empty, and give the token there.</Text>
        <Refusal error={make.error} />
        {!make.data && (
          <Button onClick={() => make.mutate()} loading={make.isPending} w="fit-content">
            Show a token
          </Button>
        )}
        {make.data && (
          <>
            <Code block aria-label="Token">
              {make.data.key}
            </Code>
            <CopyButton value={make.data.key}>
              {({ copied, copy }) => (
                <Button variant="default" onClick={copy} w="fit-content">
                  {copied ? 'Copied' : 'Copy the token'}
                </Button>
              )}
            </CopyButton>
            <Text size="sm" c="dimmed">
              It may do all that you may. Give it to nobody; your account’s security page ends it.
            </Text>
          </>
        )}
      </Stack>
    </Page>
  );
}
