import { Badge, Button, Group, Paper, Stack, Table, Text, VisuallyHidden } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { api } from '../../api/client';
import { EmptyState } from '../../components/EmptyState';
import { Loading } from '../../components/Loading';
import { ErrorAlert } from '../../components/ErrorAlert';
import { notifyError, notifySuccess } from '../../components/confirm';
import { RelativeTime } from '../../components/time';
import { modals } from '../../components/dialogs';
import { CreateToken } from './CreateToken';

const zeroTime = '0001-01-01';

/** The API tokens of the signed-in user, or of a service account. */
export function Tokens({ user = 'me' }: { user?: string }) {
  const path = { user };
  const key = ['tokens', user];
  const client = useQueryClient();
  const list = useQuery({ queryKey: key, queryFn: () => api.get('/users/{user}/keys/tokens', { path }) });
  const remove = useMutation({
    mutationFn: (id: string) => api.delete('/users/{user}/keys/{keyid}', { path: { ...path, keyid: id } }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['tokens'] });
      notifySuccess('Token deleted');
    },
    onError: notifyError,
  });
  const ask = (id: string, name: string) =>
    modals.openConfirmModal({
      title: `Delete ${name}?`,
      children: <Text size="sm">Clients that use this token lose access immediately.</Text>,
      labels: { confirm: 'Delete', cancel: 'Cancel' },
      confirmProps: { color: 'red' },
      onConfirm: () => remove.mutate(id),
    });
  return (
    <Stack>
      <Group justify="space-between">
        <Text size="sm">
          API tokens authenticate scripts and other clients. A token never has more access than{' '}
          {user === 'me' ? 'your account' : 'the account'}.
        </Text>
        <Button
          leftSection={<IconPlus size={16} />}
          onClick={() => modals.open({ title: 'Create token', children: <CreateToken user={user} /> })}
        >
          Create token
        </Button>
      </Group>
      <ErrorAlert error={list.error} />
      {list.isPending && <Loading />}
      {list.data?.length === 0 && <EmptyState title="No tokens" />}
      {list.data && list.data.length > 0 && (
        <Paper withBorder>
          <Table.ScrollContainer minWidth={680}>
            <Table>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Name</Table.Th>
                  <Table.Th>Scopes</Table.Th>
                  <Table.Th>Resources</Table.Th>
                  <Table.Th>Last used</Table.Th>
                  <Table.Th>Expires</Table.Th>
                  <Table.Th>
                    <VisuallyHidden>Actions</VisuallyHidden>
                  </Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {list.data.map((token) => (
                  <Table.Tr key={token.id}>
                    <Table.Td>
                      <Text size="sm" fw={600}>
                        {token.token_name}
                      </Text>
                      <Text size="xs" c="dimmed">
                        {token.id}
                      </Text>
                    </Table.Td>
                    <Table.Td>
                      <Group gap={4}>
                        {(token.scopes ?? []).map((s) => (
                          <Badge key={s} color="gray">
                            {s}
                          </Badge>
                        ))}
                      </Group>
                    </Table.Td>
                    <Table.Td>
                      <TokenResources list={token.allow_list} />
                    </Table.Td>
                    <Table.Td>
                      {token.last_used.startsWith(zeroTime) ? 'Never' : <RelativeTime at={token.last_used} />}
                    </Table.Td>
                    <Table.Td>
                      <RelativeTime at={token.expires_at} />
                    </Table.Td>
                    <Table.Td>
                      <Button
                        size="compact-sm"
                        variant="subtle"
                        color="red"
                        aria-label={`Delete ${token.token_name}`}
                        onClick={() => ask(token.id, token.token_name)}
                      >
                        Delete…
                      </Button>
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
        </Paper>
      )}
    </Stack>
  );
}

/** The resources that a token is limited to, each as "type:id". */
function TokenResources({ list }: { list: string[] }) {
  const narrow = list.includes('*:*') ? [] : list;
  if (narrow.length === 0) return <Text size="sm">All resources</Text>;
  return (
    <>
      {narrow.slice(0, 5).map((t) => (
        <Text size="sm" key={t}>
          <ResourceName target={t} />
        </Text>
      ))}
      {narrow.length > 5 && <Text size="sm">and {narrow.length - 5} more</Text>}
    </>
  );
}

function ResourceName({ target }: { target: string }) {
  const [type = '', id = ''] = target.split(':');
  const one = id !== '*';
  const workspace = useQuery({
    queryKey: ['workspace-name', id],
    queryFn: () => api.get('/workspaces/{workspace}', { path: { workspace: id } }),
    enabled: one && type === 'workspace',
    retry: false,
  });
  const template = useQuery({
    queryKey: ['template', id],
    queryFn: () => api.get('/templates/{template}', { path: { template: id } }),
    enabled: one && type === 'template',
    retry: false,
  });
  if (!one) return <>All {type}s</>;
  return (
    <>
      {type} {workspace.data?.name ?? template.data?.name ?? id}
    </>
  );
}
