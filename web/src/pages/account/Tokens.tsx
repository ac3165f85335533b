import { Badge, Button, Group, Paper, Stack, Table, Text, VisuallyHidden } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type Schema, api } from '../../api/client';
import { Empty } from '../../parts/Empty';
import { Loading } from '../../parts/Loading';
import { Refusal } from '../../parts/Refusal';
import { complain, praise } from '../../parts/confirm';
import { Moment } from '../../parts/time';
import { modals } from '../../parts/dialogs';
import { NewToken } from './NewToken';

const path = { user: 'me' };
const never = '0001-01-01';

/** Tokens for the command line and for programs. */
export function Tokens() {
  const client = useQueryClient();
  const list = useQuery({ queryKey: ['tokens'], queryFn: () => api.get('/users/{user}/keys/tokens', { path }) });
  const remove = useMutation({
    mutationFn: (id: string) => api.delete('/users/{user}/keys/{keyid}', { path: { ...path, keyid: id } }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['tokens'] });
      praise('The token is deleted. Whoever used it is not let in any more.');
    },
    onError: complain,
  });
  const ask = (id: string, name: string) =>
    modals.openConfirmModal({
      title: `Delete ${name}?`,
      children: <Text size="sm">Programs that use it are refused from now on.</Text>,
      labels: { confirm: 'Delete', cancel: 'Keep it' },
      confirmProps: { color: 'red' },
      onConfirm: () => remove.mutate(id),
    });
  return (
    <Stack>
      <Group justify="space-between">
        <Text size="sm">Programs log in with tokens. A token may do what its scopes allow, with what it is for, and never more than you.</Text>
        <Button leftSection={<IconPlus size={16} />} onClick={() => modals.open({ title: 'New token', children: <NewToken /> })}>
          New token
        </Button>
      </Group>
      <Refusal error={list.error} />
      {list.isPending && <Loading />}
      {list.data?.length === 0 && <Empty title="You have no token" />}
      {list.data && list.data.length > 0 && (
        <Paper withBorder>
          <Table.ScrollContainer minWidth={680}>
            <Table>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Name</Table.Th>
                  <Table.Th>Scopes</Table.Th>
                  <Table.Th>Only for</Table.Th>
                  <Table.Th>Last used</Table.Th>
                  <Table.Th>Ends</Table.Th>
                  <Table.Th>
                    <VisuallyHidden>Actions</VisuallyHidden>
                  </Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {list.data.map((t) => (
                  <Table.Tr key={t.id}>
                    <Table.Td>
                      <Text size="sm" fw={600}>
                        {t.token_name}
                      </Text>
                      <Text size="xs" c="dimmed">
                        {t.id}
                      </Text>
                    </Table.Td>
                    <Table.Td>
                      <Group gap={4}>
                        {(t.scopes ?? []).map((s) => (
                          <Badge key={s} variant="light" color="gray">
                            {s}
                          </Badge>
                        ))}
                      </Group>
                    </Table.Td>
                    <Table.Td>
                      <Targets list={t.allow_list} />
                    </Table.Td>
                    <Table.Td>{t.last_used.startsWith(never) ? 'never' : <Moment at={t.last_used} />}</Table.Td>
                    <Table.Td>
                      <Moment at={t.expires_at} />
                    </Table.Td>
                    <Table.Td>
                      <Button size="compact-sm" variant="subtle" color="red" aria-label={`Delete ${t.token_name}`} onClick={() => ask(t.id, t.token_name)}>
                        Delete …
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

type Target = Schema<'APIAllowListTarget'>;

/** What a token is limited to. */
function Targets({ list }: { list: Target[] }) {
  const narrow = list.some((t) => t.type === '*' && t.id === '*') ? [] : list;
  if (narrow.length === 0) return <Text size="sm">everything</Text>;
  return (
    <>
      {narrow.slice(0, 5).map((t) => (
        <Text size="sm" key={`${t.type}:${t.id}`}>
          <Name of={t} />
        </Text>
      ))}
      {narrow.length > 5 && <Text size="sm">and {narrow.length - 5} more</Text>}
    </>
  );
}

function Name({ of: t }: { of: Target }) {
  const one = t.id !== '*';
  const workspace = useQuery({
    queryKey: ['workspace-name', t.id],
    queryFn: () => api.get('/workspaces/{workspace}', { path: { workspace: t.id } }),
    enabled: one && t.type === 'workspace',
    retry: false,
  });
  const template = useQuery({
    queryKey: ['template', t.id],
    queryFn: () => api.get('/templates/{template}', { path: { template: t.id } }),
    enabled: one && t.type === 'template',
    retry: false,
  });
  if (!one) return <>every {t.type}</>;
  return (
    <>
      {t.type} {workspace.data?.name ?? template.data?.name ?? t.id}
    </>
  );
}
