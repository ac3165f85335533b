import { Button, Code, Group, Stack, Table, Text, Title } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type Schema, api } from '../api/client';
import { DataTable } from '../components/DataTable';
import { ErrorAlert } from '../components/ErrorAlert';
import { Loading } from '../components/Loading';
import { confirm, notifyError, notifySuccess, showSecret } from '../components/confirm';
import { RelativeTime } from '../components/time';
import { type App, secretList } from './queries';

type Secret = Schema<'OAuth2ProviderAppSecret'>;

/** The client secrets of an application, without their values. */
export function AppSecrets({ app }: { app: App }) {
  const client = useQueryClient();
  const query = secretList(app.id);
  const list = useQuery(query);
  const refresh = () => client.invalidateQueries({ queryKey: query.queryKey });
  const path = { app: app.id };
  const create = useMutation({
    mutationFn: () => api.post('/oauth2-provider/apps/{app}/secrets', { path }),
    onSuccess: async ({ client_secret_full: secret }) => {
      await refresh();
      showSecret(`Client secret of ${app.name}`, secret, 'The application authenticates with it.');
    },
    onError: notifyError,
  });
  const remove = useMutation({
    mutationFn: (secret: Secret) =>
      api.delete('/oauth2-provider/apps/{app}/secrets/{secretID}', { path: { ...path, secretID: secret.id } }),
    onSuccess: async () => {
      await refresh();
      notifySuccess('Client secret deleted');
    },
    onError: notifyError,
  });
  const ask = (secret: Secret) =>
    confirm({
      title: `Delete the secret that ends in ${secret.client_secret_truncated}?`,
      warning: 'Tokens that the application received with it are revoked. Their users must authorize it again.',
      action: 'Delete',
      destructive: true,
      onConfirm: () => remove.mutate(secret),
    });
  return (
    <Stack gap="xs">
      <Group justify="space-between">
        <Title order={2} size="h3">
          Client secrets
        </Title>
        <Button
          variant="default"
          leftSection={<IconPlus size={16} />}
          loading={create.isPending}
          onClick={() => create.mutate()}
        >
          Create secret
        </Button>
      </Group>
      <ErrorAlert error={list.error} />
      {list.isPending && <Loading />}
      {list.data?.length === 0 && (
        <Text size="sm" c="dimmed">
          No secrets. The application needs one to receive tokens.
        </Text>
      )}
      {list.data && list.data.length > 0 && (
        <DataTable headers={['Ends in', 'Last used']} actions={100} minWidth={340}>
          {list.data.map((secret) => (
            <Table.Tr key={secret.id}>
              <Table.Td>
                <Code>{secret.client_secret_truncated}</Code>
              </Table.Td>
              <Table.Td>{secret.last_used_at ? <RelativeTime at={secret.last_used_at} /> : 'Never'}</Table.Td>
              <Table.Td>
                <Button
                  size="compact-sm"
                  variant="subtle"
                  color="red"
                  aria-label={`Delete secret ${secret.client_secret_truncated}`}
                  onClick={() => ask(secret)}
                >
                  Delete…
                </Button>
              </Table.Td>
            </Table.Tr>
          ))}
        </DataTable>
      )}
    </Stack>
  );
}
