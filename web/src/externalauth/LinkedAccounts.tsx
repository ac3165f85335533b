import { Alert, Anchor, Badge, Button, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { type Schema, api } from '../api/client';
import { EmptyState } from '../components/EmptyState';
import { ErrorAlert } from '../components/ErrorAlert';
import { Loading } from '../components/Loading';
import { notifyError, notifySuccess } from '../components/confirm';
import { modals } from '../components/dialogs';
import { RelativeTime } from '../components/time';
import { DeviceLink } from './DeviceLink';

type Provider = Schema<'ExternalAuthLinkProvider'>;
type Link = Schema<'ExternalAuthLink'>;

export const linksKey = ['external-auth'];

/** Returns the address at which the browser links a provider and comes back to this page. */
export function linkAddress(id: string): string {
  return `/external-auth/${encodeURIComponent(id)}/callback?redirect=${encodeURIComponent('/settings/external-auth')}`;
}

/** Reports whether a time of the API is the zero time, which stands for none. */
const isZero = (time: string) => time.startsWith('0001-');

/** The account at a linked provider, with the installations of the provider's app. */
function Account({ id }: { id: string }) {
  const { data } = useQuery({
    queryKey: [...linksKey, id],
    queryFn: () => api.get('/external-auth/{externalauth}', { path: { externalauth: id } }),
  });
  if (!data?.user && !data?.app_install_url) return null;
  return (
    <Group gap="md">
      {data.user && (
        <Text size="sm" c="dimmed">
          Account {data.user.login}
        </Text>
      )}
      {data.installations.map((i) => (
        <Anchor key={i.id} size="sm" href={i.configure_url} target="_blank" rel="noreferrer">
          App of {i.account.login}
        </Anchor>
      ))}
      {data.app_installable && data.app_install_url && (
        <Anchor size="sm" href={data.app_install_url} target="_blank" rel="noreferrer">
          Install the app
        </Anchor>
      )}
    </Group>
  );
}

/** The state of a link in one word. */
function LinkState({ link }: { link: Link | undefined }) {
  if (!link) return <Badge color="gray">Not linked</Badge>;
  if (link.validate_error) return <Badge color="red">Invalid</Badge>;
  return <Badge color="green">Linked</Badge>;
}

function ProviderCard({ provider, link }: { provider: Provider; link: Link | undefined }) {
  const client = useQueryClient();
  const unlink = useMutation({
    mutationFn: () => api.delete('/external-auth/{externalauth}', { path: { externalauth: provider.id } }),
    onSuccess: async (result) => {
      await client.invalidateQueries({ queryKey: linksKey });
      notifySuccess(result.token_revoked ? 'Account unlinked, its token is revoked' : 'Account unlinked');
    },
    onError: notifyError,
  });
  const name = provider.display_name;
  const ask = () =>
    modals.openConfirmModal({
      title: `Unlink ${name}?`,
      children: <Text size="sm">Your workspaces lose access to {name}. You can link the account again.</Text>,
      labels: { confirm: 'Unlink', cancel: 'Cancel' },
      confirmProps: { color: 'red' },
      onConfirm: () => unlink.mutate(),
    });
  const enterCode = () =>
    modals.open({
      title: `Link ${name}`,
      children: <DeviceLink id={provider.id} onLinked={() => modals.closeAll()} />,
    });
  const again = link ? 'Link again' : 'Link';
  return (
    <Paper withBorder p="md" component="section" aria-label={name}>
      <Group justify="space-between" align="flex-start">
        <Stack gap={4}>
          <Group gap="sm">
            <Title order={2} size="h4">
              {name}
            </Title>
            <LinkState link={link} />
          </Group>
          {link && <Account id={provider.id} />}
          {link && (
            <Text size="sm" c="dimmed">
              Linked <RelativeTime at={link.created_at} />
              {!isZero(link.expires) && !link.has_refresh_token && (
                <>
                  , token expires <RelativeTime at={link.expires} />
                </>
              )}
            </Text>
          )}
        </Stack>
        <Group gap="xs">
          {provider.device ? (
            <Button variant="default" aria-label={`${again} ${name}`} onClick={enterCode}>
              {again}
            </Button>
          ) : (
            <Button variant="default" component="a" aria-label={`${again} ${name}`} href={linkAddress(provider.id)}>
              {again}
            </Button>
          )}
          {link && (
            <Button variant="default" aria-label={`Unlink ${name}`} loading={unlink.isPending} onClick={ask}>
              Unlink
            </Button>
          )}
        </Group>
      </Group>
      {link?.validate_error && (
        <Alert mt="sm" color="red" variant="light">
          {link.validate_error}
        </Alert>
      )}
    </Paper>
  );
}

/** The user's accounts at external providers, such as git hosts. */
export function LinkedAccounts() {
  const { message } = useSearch({ from: '/shell/settings/$tab' });
  const list = useQuery({ queryKey: linksKey, queryFn: () => api.get('/external-auth') });
  if (!list.data) return list.error ? <ErrorAlert error={list.error} /> : <Loading />;
  const { providers, links } = list.data;
  return (
    <Stack>
      <Text size="sm">Your workspaces use these accounts, for example for git over HTTPS.</Text>
      {message && (
        <Alert color="red" title="The account was not linked">
          {message}
        </Alert>
      )}
      <ErrorAlert error={list.error} />
      {providers.length === 0 && (
        <EmptyState title="No providers" hint="This deployment has no providers of external authentication." />
      )}
      {providers.map((p) => (
        <ProviderCard key={p.id} provider={p} link={links.find((l) => l.provider_id === p.id)} />
      ))}
    </Stack>
  );
}
