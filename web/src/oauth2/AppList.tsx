import { Anchor, Badge, Button, Group, Paper, Stack, Switch, Table, Text } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { api } from '../api/client';
import { DataTable } from '../components/DataTable';
import { EmptyState } from '../components/EmptyState';
import { ErrorAlert } from '../components/ErrorAlert';
import { Icon } from '../components/Icon';
import { Loading } from '../components/Loading';
import { notifyError } from '../components/confirm';
import { modals } from '../components/dialogs';
import { CreateApp } from './AppForm';
import { type App, appList, isProviderOff, settingsQuery } from './queries';

/** How an application came to be, and how it authenticates. */
export function AppBadges({ app }: { app: App }) {
  return (
    <>
      {app.dynamic && <Badge color="orange">Self-registered</Badge>}
      {app.public && <Badge color="gray">Public client</Badge>}
    </>
  );
}

/** The applications that can act for users, for administrators. */
export function AppList() {
  const list = useQuery(appList);
  const navigate = useNavigate();
  if (isProviderOff(list.error)) {
    return (
      <EmptyState
        title="The OAuth2 provider is off"
        hint="Start the server with --oauth2-provider-enable to let applications act for users who authorize them."
      />
    );
  }
  const show = (app: App) => void navigate({ to: '/deployment/oauth2/$app', params: { app: app.id } });
  const create = () => modals.open({ title: 'Create application', children: <CreateApp onCreated={show} /> });
  return (
    <Stack>
      <Group justify="space-between">
        <Text size="sm">
          Applications act for users who authorize them, with OAuth2. Users revoke access in their account settings.
        </Text>
        <Button leftSection={<IconPlus size={16} />} onClick={create}>
          Create application
        </Button>
      </Group>
      <ErrorAlert error={list.error} />
      {list.isPending && <Loading />}
      {list.data?.length === 0 && <EmptyState title="No applications" />}
      {list.data && list.data.length > 0 && (
        <DataTable headers={['Application', 'Callback URL', 'Scopes']} minWidth={640}>
          {list.data.map((app) => (
            <AppRow key={app.id} app={app} />
          ))}
        </DataTable>
      )}
      {list.data && <SelfRegistration />}
    </Stack>
  );
}

function AppRow({ app }: { app: App }) {
  const more = app.redirect_uris.length - 1;
  return (
    <Table.Tr>
      <Table.Td>
        <Group gap="sm" wrap="nowrap">
          <Icon src={app.icon} name={app.name} size={24} />
          <Stack gap={4} align="flex-start">
            <Anchor component={Link} to={`/deployment/oauth2/${app.id}`} size="sm" fw={600}>
              {app.name}
            </Anchor>
            <Group gap={4}>
              <AppBadges app={app} />
            </Group>
          </Stack>
        </Group>
      </Table.Td>
      <Table.Td>
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {app.callback_url}
          {more > 0 && ` and ${more} more`}
        </Text>
      </Table.Td>
      <Table.Td>
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {app.scope || 'All scopes'}
        </Text>
      </Table.Td>
    </Table.Tr>
  );
}

/** The switch that lets applications register themselves. */
function SelfRegistration() {
  const client = useQueryClient();
  const settings = useQuery(settingsQuery);
  const save = useMutation({
    mutationFn: (on: boolean) =>
      api.put('/oauth2-provider/settings', { body: { dynamic_client_registration_enabled: on } }),
    onSuccess: (saved) => client.setQueryData(settingsQuery.queryKey, saved),
    onError: notifyError,
  });
  if (settings.error) return <ErrorAlert error={settings.error} />;
  return (
    <Paper withBorder p="md">
      <Switch
        label="Applications can register themselves"
        description="Editors and MCP clients need it. Users still authorize each application. Registered applications stay when this is off."
        checked={settings.data?.dynamic_client_registration_enabled ?? false}
        disabled={!settings.data || save.isPending}
        onChange={(e) => save.mutate(e.currentTarget.checked)}
      />
    </Paper>
  );
}
