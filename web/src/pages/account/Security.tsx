import { Alert, Badge, Button, Group, Paper, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schema, api } from '../../api/client';
import { Form } from '../../components/Form';
import { ErrorAlert, getFieldError } from '../../components/ErrorAlert';
import { notifyError, notifySuccess } from '../../components/confirm';
import { RelativeTime } from '../../components/time';
import { ConvertLogin } from './ConvertLogin';
import { usePasswordValidation } from './passwordValidation';

const loginTypes: Record<string, string> = {
  oidc: 'OpenID Connect',
  github: 'GitHub',
  none: 'API tokens only',
  token: 'an API token',
};

/** The password of accounts that have one, and the sessions. */
export function Security({ self }: { self: Schema<'User'> }) {
  return (
    <Stack gap="xl">
      {self.login_type === 'password' ? (
        <>
          <PasswordSettings />
          <ConvertLogin />
        </>
      ) : (
        <Alert title={`You sign in with ${loginTypes[self.login_type] ?? self.login_type}`}>
          This account has no password.
        </Alert>
      )}
      <Sessions />
    </Stack>
  );
}

/** The active sessions of the user. */
function Sessions() {
  const client = useQueryClient();
  const path = { user: 'me' };
  const list = useQuery({ queryKey: ['sessions'], queryFn: () => api.get('/users/{user}/sessions', { path }) });
  const again = () => client.invalidateQueries({ queryKey: ['sessions'] });
  const end = useMutation({
    mutationFn: (id: string) => api.delete('/users/{user}/keys/{keyid}', { path: { ...path, keyid: id } }),
    onSuccess: again,
    onError: notifyError,
  });
  const endOthers = useMutation({
    mutationFn: () => api.delete('/users/{user}/sessions', { path }),
    onSuccess: again,
    onError: notifyError,
  });
  return (
    <Stack gap="xs">
      <Group justify="space-between">
        <Title order={2}>Sessions</Title>
        <Button
          variant="default"
          loading={endOthers.isPending}
          disabled={!list.data?.some((s) => !s.current)}
          onClick={() => endOthers.mutate()}
        >
          Sign out other sessions
        </Button>
      </Group>
      <ErrorAlert error={list.error} />
      {list.data?.map((s) => (
        <Paper withBorder p="sm" key={s.id}>
          <Group justify="space-between" wrap="nowrap">
            <div style={{ minWidth: 0 }}>
              <Text size="sm" truncate title={s.user_agent}>
                {s.user_agent || 'Unknown client'}
              </Text>
              <Text size="xs" c="dimmed">
                {s.ip_address} · signed in <RelativeTime at={s.created_at} /> · last used{' '}
                <RelativeTime at={s.last_used} />
              </Text>
            </div>
            {s.current ? (
              <Badge flex="none">Current session</Badge>
            ) : (
              <Button
                flex="none"
                size="compact-sm"
                variant="subtle"
                color="red"
                aria-label={`Sign out session ${s.id}`}
                onClick={() => end.mutate(s.id)}
              >
                Sign out
              </Button>
            )}
          </Group>
        </Paper>
      ))}
    </Stack>
  );
}

function PasswordSettings() {
  const [old, setOld] = useState('');
  const [password, setPassword] = useState('');
  const [again, setAgain] = useState('');
  const verdict = usePasswordValidation(password);
  const save = useMutation({
    mutationFn: () =>
      api.put('/users/{user}/password', { path: { user: 'me' }, body: { old_password: old, password } }),
    onSuccess: () => {
      notifySuccess('Password changed');
      setOld('');
      setPassword('');
      setAgain('');
    },
  });
  const differs = again !== '' && again !== password;
  return (
    <Form
      error={save.error}
      onSubmit={() => {
        if (password !== again) return false;
        save.mutate();
      }}
    >
      <Stack maw={520}>
        <ErrorAlert error={save.error} />
        <PasswordInput
          label="Current password"
          required
          autoComplete="current-password"
          value={old}
          onChange={(e) => setOld(e.currentTarget.value)}
          error={getFieldError(save.error, 'old_password')}
        />
        <PasswordInput
          label="New password"
          required
          autoComplete="new-password"
          value={password}
          onChange={(e) => setPassword(e.currentTarget.value)}
          error={getFieldError(save.error, 'password') ?? (verdict && !verdict.valid ? verdict.details : undefined)}
        />
        <PasswordInput
          label="Confirm new password"
          required
          autoComplete="new-password"
          value={again}
          onChange={(e) => setAgain(e.currentTarget.value)}
          error={differs ? 'The passwords do not match.' : undefined}
        />
        <Text size="sm" c="dimmed">
          Changing the password signs out your other sessions. API tokens stay valid.
        </Text>
        <Group>
          <Button type="submit" loading={save.isPending} disabled={password === '' || password !== again}>
            Change password
          </Button>
        </Group>
      </Stack>
    </Form>
  );
}
