import { Button, Code, CopyButton, Group, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { api } from '../../api/client';
import { Loading } from '../../components/Loading';
import { ErrorAlert } from '../../components/ErrorAlert';
import { notifySuccess } from '../../components/confirm';
import { RelativeTime } from '../../components/time';
import { modals } from '../../components/dialogs';

/** The SSH key that Git in the user's workspaces uses. */
export function SSHKey() {
  const client = useQueryClient();
  const path = { user: 'me' };
  const key = useQuery({ queryKey: ['ssh-key'], queryFn: () => api.get('/users/{user}/gitsshkey', { path }) });
  const renew = useMutation({
    mutationFn: () => api.put('/users/{user}/gitsshkey', { path }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['ssh-key'] });
      notifySuccess('SSH key regenerated. Add the new public key to your Git providers.');
    },
  });
  const ask = () =>
    modals.openConfirmModal({
      title: 'Regenerate SSH key?',
      children: (
        <Text size="sm">
          The old key stops working immediately. Add the new public key to every service that uses it.
        </Text>
      ),
      labels: { confirm: 'Regenerate', cancel: 'Cancel' },
      confirmProps: { color: 'red' },
      onConfirm: () => renew.mutate(),
    });
  if (key.isPending) return <Loading />;
  return (
    <Stack>
      <ErrorAlert error={key.error ?? renew.error} />
      <Text size="sm">
        Git in your workspaces authenticates with this key. Add the public key to GitHub, GitLab or another Git
        provider.
      </Text>
      {key.data && (
        <>
          <Code block style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
            {key.data.public_key}
          </Code>
          <Text size="xs" c="dimmed">
            Created <RelativeTime at={key.data.updated_at} />
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
              Regenerate…
            </Button>
          </Group>
        </>
      )}
    </Stack>
  );
}
