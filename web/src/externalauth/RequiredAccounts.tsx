import { Alert, Badge, Button, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schema, api } from '../api/client';
import { ErrorAlert } from '../components/ErrorAlert';
import { modals } from '../components/dialogs';
import { DeviceLink } from './DeviceLink';
import { linkAddress, linksKey } from './LinkedAccounts';

type Requirement = Schema<'TemplateVersionExternalAuth'>;

/** The time between checks while the user links an account in another tab, in milliseconds. */
const pollInterval = 2000;

const isMissing = (r: Requirement) => !r.authenticated && !r.optional;

/** Returns the accounts that a template version uses, and the required ones that the user has not linked. */
export function useRequiredAccounts(version: string) {
  const [linking, setLinking] = useState(false);
  const { data, error } = useQuery({
    queryKey: [...linksKey, 'version', version],
    queryFn: () => api.get('/templateversions/{templateversion}/external-auth', { path: { templateversion: version } }),
    refetchOnWindowFocus: 'always',
    refetchInterval: ({ state }) => (linking && state.data?.some((r) => !r.authenticated) ? pollInterval : false),
  });
  return { accounts: data ?? [], missing: (data ?? []).filter(isMissing), error, setLinking };
}

interface Props {
  required: ReturnType<typeof useRequiredAccounts>;
  /** A submit was refused because accounts are missing. */
  tried: boolean;
}

/** The accounts that a template uses, with buttons to link them. */
export function RequiredAccounts({ required: { accounts, missing, error, setLinking }, tried }: Props) {
  if (accounts.length === 0) return <ErrorAlert error={error} />;
  return (
    <Stack component="section" aria-label="Accounts" gap="sm">
      <Title order={2} size="h3">
        Accounts
      </Title>
      {tried && missing.length > 0 && (
        <Alert color="red" variant="light" role="alert">
          Link {missing.map((r) => r.display_name).join(' and ')} to create a workspace from this template.
        </Alert>
      )}
      <ErrorAlert error={error} />
      {accounts.map((r) => (
        <AccountRow key={r.id} account={r} onStart={() => setLinking(true)} />
      ))}
    </Stack>
  );
}

function AccountRow({ account, onStart }: { account: Requirement; onStart: () => void }) {
  // Whether a provider uses codes is not in the requirement.
  const providers = useQuery({
    queryKey: linksKey,
    queryFn: () => api.get('/external-auth'),
    enabled: !account.authenticated,
  });
  const provider = providers.data?.providers.find((p) => p.id === account.id);
  const enterCode = () => {
    onStart();
    modals.open({
      title: `Link ${account.display_name}`,
      children: <DeviceLink id={account.id} onLinked={() => modals.closeAll()} />,
    });
  };
  const label = `Link ${account.display_name}`;
  return (
    <Paper withBorder p="sm">
      <Group justify="space-between">
        <Group gap="sm">
          <Text fw={600}>{account.display_name}</Text>
          {account.optional && <Text c="dimmed">Optional</Text>}
        </Group>
        {account.authenticated && <Badge color="green">Linked</Badge>}
        {!account.authenticated && provider?.device && (
          <Button variant="default" onClick={enterCode}>
            {label}
          </Button>
        )}
        {!account.authenticated && provider && !provider.device && (
          <Button
            variant="default"
            component="a"
            href={linkAddress(account.id)}
            target="_blank"
            rel="noreferrer"
            onClick={onStart}
          >
            {label}
          </Button>
        )}
      </Group>
    </Paper>
  );
}
