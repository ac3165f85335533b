import { Badge, Button, Code, Group, Paper, Stack, Table, Text, VisuallyHidden } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type Schema, api } from '../api/client';
import { EmptyState } from '../components/EmptyState';
import { ErrorAlert } from '../components/ErrorAlert';
import { Loading } from '../components/Loading';
import { confirm, notifyError, notifySuccess } from '../components/confirm';
import { modals } from '../components/dialogs';
import { RelativeTime } from '../components/time';
import { SecretForm, secretsKey } from './SecretForm';

type Secret = Schema<'UserSecret'>;

const path = { user: 'me' };

/** The user's secrets, without their values. */
export function Secrets() {
  const list = useQuery({ queryKey: secretsKey, queryFn: () => api.get('/users/{user}/secrets', { path }) });
  return (
    <Stack>
      <Group justify="space-between">
        <Text size="sm">
          Your workspaces get these values as environment variables or files. Changes reach running workspaces
          immediately.
        </Text>
        <Button
          leftSection={<IconPlus size={16} />}
          onClick={() => modals.open({ title: 'Create secret', children: <SecretForm /> })}
        >
          Create secret
        </Button>
      </Group>
      <ErrorAlert error={list.error} />
      {list.isPending && <Loading />}
      {list.data?.length === 0 && <EmptyState title="No secrets" />}
      {list.data && list.data.length > 0 && (
        <Paper withBorder>
          <Table.ScrollContainer minWidth={680}>
            <Table>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Name</Table.Th>
                  <Table.Th>Variable</Table.Th>
                  <Table.Th>File</Table.Th>
                  <Table.Th>Updated</Table.Th>
                  <Table.Th>
                    <VisuallyHidden>Actions</VisuallyHidden>
                  </Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {list.data.map((secret) => (
                  <SecretRow key={secret.id} secret={secret} />
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
        </Paper>
      )}
    </Stack>
  );
}

function SecretRow({ secret }: { secret: Secret }) {
  const client = useQueryClient();
  const remove = useMutation({
    mutationFn: () => api.delete('/users/{user}/secrets/{secret}', { path: { ...path, secret: secret.name } }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: secretsKey });
      notifySuccess('Secret deleted');
    },
    onError: notifyError,
  });
  const ask = () =>
    confirm({
      title: `Delete ${secret.name}?`,
      warning: 'Your workspaces lose its file immediately, and its variable in new shells.',
      action: 'Delete',
      destructive: true,
      onConfirm: () => remove.mutate(),
    });
  const edit = () => modals.open({ title: `Edit ${secret.name}`, children: <SecretForm secret={secret} /> });
  return (
    <Table.Tr>
      <Table.Td>
        <Group gap="xs">
          <Text size="sm" fw={600}>
            {secret.name}
          </Text>
          {!secret.enabled && <Badge color="gray">Disabled</Badge>}
        </Group>
        <Text size="xs" c="dimmed">
          {secret.description}
        </Text>
      </Table.Td>
      <Table.Td>{secret.env_name && <Code>{secret.env_name}</Code>}</Table.Td>
      <Table.Td>{secret.file_path && <Code>{secret.file_path}</Code>}</Table.Td>
      <Table.Td>
        <RelativeTime at={secret.updated_at} />
      </Table.Td>
      <Table.Td>
        <Group gap={4} wrap="nowrap" justify="flex-end">
          <Button size="compact-sm" variant="subtle" aria-label={`Edit ${secret.name}`} onClick={edit}>
            Edit…
          </Button>
          <Button size="compact-sm" variant="subtle" color="red" aria-label={`Delete ${secret.name}`} onClick={ask}>
            Delete…
          </Button>
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}
