import { Button, Code, CopyButton, Group, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { api } from '../../api/client';
import { Loading } from '../../parts/Loading';
import { Refusal } from '../../parts/Refusal';
import { praise } from '../../parts/confirm';
import { Moment } from '../../parts/time';
import { modals } from '../../parts/dialogs';

/** The key that git in one's workspaces uses. */
export function SSHKey() {
  const client = useQueryClient();
  const path = { user: 'me' };
  const key = useQuery({ queryKey: ['ssh-key'], queryFn: () => api.get('/users/{user}/gitsshkey', { path }) });
  const renew = useMutation({
    mutationFn: () => api.put('/users/{user}/gitsshkey', { path }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['ssh-key'] });
      praise('There is a new key. Give its public part to the services you use.');
    },
  });
  const ask = () =>
    modals.openConfirmModal({
      title: 'Make a new key?',
      children: <Text size="sm">The old key stops working at once. Every service that knows it has to be told the new one.</Text>,
      labels: { confirm: 'Make a new key', cancel: 'Keep it' },
      confirmProps: { color: 'red' },
      onConfirm: () => renew.mutate(),
    });
  if (key.isPending) return <Loading />;
  return (
    <Stack>
      <Refusal error={key.error ?? renew.error} />
      <Text size="sm">
        Git in your workspaces logs in with this key. Give the public part to GitHub, GitLab or whatever keeps your repositories.
      </Text>
      {key.data && (
        <>
          <Code block style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
            {key.data.public_key}
          </Code>
          <Text size="xs" c="dimmed">
            made <Moment at={key.data.updated_at} />
          </Text>
          <Group>
            <CopyButton value={key.data.public_key}>
              {({ copied, copy }) => (
                <Button variant="default" onClick={copy}>
                  {copied ? 'Copied' : 'Copy public key'}
                </Button>
              )}
            </CopyButton>
            <Button color="red" variant="light" loading={renew.isPending} onClick={ask}>
              Make a new key …
            </Button>
          </Group>
        </>
      )}
    </Stack>
  );
}
