import { Badge, Button, Group, MultiSelect, Paper, Select, Stack, Table, Text, TextInput, VisuallyHidden } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { type Schema, api } from '../../api/client';
import { Empty } from '../../parts/Empty';
import { Loading } from '../../parts/Loading';
import { Refusal, fieldError } from '../../parts/Refusal';
import { complain, praise, showSecret } from '../../parts/confirm';
import { Moment } from '../../parts/time';
import { lifetimes } from './lifetimes';
import { modals } from '../../parts/dialogs';

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
        <Text size="sm">Programs log in with tokens. A token may do what its scopes allow, and never more than you.</Text>
        <Button leftSection={<IconPlus size={16} />} onClick={() => modals.open({ title: 'New token', children: <Create /> })}>
          New token
        </Button>
      </Group>
      <Refusal error={list.error} />
      {list.isPending && <Loading />}
      {list.data?.length === 0 && <Empty title="You have no token" />}
      {list.data && list.data.length > 0 && (
        <Paper withBorder>
          <Table.ScrollContainer minWidth={560}>
            <Table>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Name</Table.Th>
                  <Table.Th>Scopes</Table.Th>
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

function Create() {
  const client = useQueryClient();
  const config = useQuery({ queryKey: ['token-config'], queryFn: () => api.get('/users/{user}/keys/tokens/tokenconfig', { path }) });
  const known = useQuery({ queryKey: ['scopes'], queryFn: () => api.get('/auth/scopes') });
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<string[]>(['coder:all']);
  const [days, setDays] = useState('30');
  const choices = lifetimes(config.data?.max_token_lifetime);
  const create = useMutation({
    mutationFn: () =>
      api.post('/users/{user}/keys/tokens', {
        path,
        body: { token_name: name, scopes: scopes as Schema<'APIKeyScope'>[], lifetime: Number(days) * 86_400_000_000_000 },
      }),
    onSuccess: async ({ key }) => {
      await client.invalidateQueries({ queryKey: ['tokens'] });
      modals.closeAll();
      showSecret(`The token ${name}`, key, 'Set it as CODER_SESSION_TOKEN, or give it to the program that needs it.');
    },
  });
  return (
    <form
      onSubmit={(e: FormEvent) => {
        e.preventDefault();
        create.mutate();
      }}
    >
      <Stack>
        <Refusal error={create.error} />
        <TextInput data-autofocus label="Name" required value={name} onChange={(e) => setName(e.currentTarget.value)} error={fieldError(create.error, 'token_name')} />
        <Select
          label="Lifetime"
          allowDeselect={false}
          value={choices.some((c) => c.value === days) ? days : (choices.at(-1)?.value ?? null)}
          onChange={(v) => setDays(v ?? '30')}
          data={choices}
          error={fieldError(create.error, 'lifetime')}
        />
        <MultiSelect
          label="Scopes"
          required
          searchable
          description="What the token may be used for."
          data={[...new Set(['coder:all', ...(known.data?.external ?? [])])]}
          value={scopes}
          onChange={setScopes}
          error={fieldError(create.error, 'scopes')}
        />
        <Button type="submit" loading={create.isPending} disabled={scopes.length === 0}>
          Create
        </Button>
      </Stack>
    </form>
  );
}
