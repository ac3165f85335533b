import { Badge, Button, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { sendRequest } from '../api/client';
import { EmptyState } from '../components/EmptyState';
import { ErrorAlert } from '../components/ErrorAlert';
import { Icon } from '../components/Icon';
import { Loading } from '../components/Loading';
import { confirm, notifyError, notifySuccess } from '../components/confirm';
import { RelativeTime } from '../components/time';
import { AppBadges } from './AppList';
import { type AuthorizedApp, type Grant, grantList, groupByApp, isProviderOff } from './queries';

/** The applications that act for the signed-in user. */
export function AuthorizedApps() {
  const list = useQuery(grantList);
  if (isProviderOff(list.error)) {
    return (
      <EmptyState
        title="Applications cannot act for users"
        hint="The OAuth2 provider of this deployment is off. An administrator can turn it on."
      />
    );
  }
  if (!list.data) return list.error ? <ErrorAlert error={list.error} /> : <Loading />;
  return (
    <Stack>
      <Text size="sm">These applications act for you. An application never has more access than your account.</Text>
      <ErrorAlert error={list.error} />
      {list.data.length === 0 && (
        <EmptyState title="No authorized applications" hint="Applications that you authorize appear here." />
      )}
      {groupByApp(list.data).map((authorized) => (
        <AppCard key={authorized.app.id} authorized={authorized} />
      ))}
    </Stack>
  );
}

function AppCard({ authorized: { app, grants } }: { authorized: AuthorizedApp }) {
  const client = useQueryClient();
  const revoke = useMutation({
    mutationFn: () => sendRequest('DELETE', `/oauth2/tokens?client_id=${encodeURIComponent(app.id)}`),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: grantList.queryKey });
      notifySuccess(`Access of ${app.name} revoked`);
    },
    onError: notifyError,
  });
  const ask = () =>
    confirm({
      title: `Revoke the access of ${app.name}?`,
      warning: 'The application loses access to your account immediately. You can authorize it again.',
      action: 'Revoke',
      destructive: true,
      onConfirm: () => revoke.mutate(),
    });
  return (
    <Paper withBorder p="md" component="section" aria-label={app.name}>
      <Stack gap="sm">
        <Group justify="space-between" align="flex-start" wrap="nowrap">
          <Group gap="sm" wrap="nowrap" miw={0}>
            <Icon src={app.icon} name={app.name} />
            <Group gap="xs" miw={0}>
              <Title order={2} size="h4" style={{ overflowWrap: 'anywhere' }}>
                {app.name}
              </Title>
              <AppBadges app={app} />
            </Group>
          </Group>
          <Button
            variant="default"
            style={{ flexShrink: 0 }}
            aria-label={`Revoke ${app.name}`}
            loading={revoke.isPending}
            onClick={ask}
          >
            Revoke…
          </Button>
        </Group>
        {grants.map((grant) => (
          <GrantSummary key={grant.id} grant={grant} />
        ))}
      </Stack>
    </Paper>
  );
}

/** What one consent allows, and since when. */
function GrantSummary({ grant }: { grant: Grant }) {
  return (
    <Stack gap={4}>
      <Group gap={4}>
        {grant.scopes.map((scope) => (
          <Badge key={scope} color="gray">
            {scope === 'coder:all' ? 'Full access' : scope}
          </Badge>
        ))}
      </Group>
      {grant.resource !== '' && (
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          Limited to {grant.resource}
        </Text>
      )}
      <Text size="sm" c="dimmed">
        Authorized <RelativeTime at={grant.created_at} />, last used <RelativeTime at={grant.last_used_at} />, expires{' '}
        <RelativeTime at={grant.expires_at} />
      </Text>
    </Stack>
  );
}
