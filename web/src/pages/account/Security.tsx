import { Alert, Badge, Button, Group, Paper, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { type Schema, api } from '../../api/client';
import { Refusal, fieldError } from '../../parts/Refusal';
import { complain, praise } from '../../parts/confirm';
import { Moment } from '../../parts/time';
import { Convert } from './Convert';
import { useVerdict } from './verdict';

const ways: Record<string, string> = { oidc: 'OpenID Connect', github: 'GitHub', none: 'tokens only', token: 'a token' };

/** The password, for those who have one, and the sessions. */
export function Security({ self }: { self: Schema<'User'> }) {
  return (
    <Stack gap="xl">
      {self.login_type === 'password' ? (
        <>
          <Password />
          <Convert />
        </>
      ) : (
        <Alert title={`You log in with ${ways[self.login_type] ?? self.login_type}`}>There is no password here that could be changed.</Alert>
      )}
      <Sessions />
    </Stack>
  );
}

/** Where one is logged in, to end what one does not know. */
function Sessions() {
  const client = useQueryClient();
  const path = { user: 'me' };
  const list = useQuery({ queryKey: ['sessions'], queryFn: () => api.get('/users/{user}/sessions', { path }) });
  const again = () => client.invalidateQueries({ queryKey: ['sessions'] });
  const end = useMutation({
    mutationFn: (id: string) => api.delete('/users/{user}/keys/{keyid}', { path: { ...path, keyid: id } }),
    onSuccess: again,
    onError: complain,
  });
  const endOthers = useMutation({ mutationFn: () => api.delete('/users/{user}/sessions', { path }), onSuccess: again, onError: complain });
  return (
    <Stack gap="xs">
      <Group justify="space-between">
        <Title order={2}>Sessions</Title>
        <Button variant="default" loading={endOthers.isPending} disabled={!list.data?.some((s) => !s.current)} onClick={() => endOthers.mutate()}>
          End all others
        </Button>
      </Group>
      <Refusal error={list.error} />
      {list.data?.map((s) => (
        <Paper withBorder p="sm" key={s.id}>
          <Group justify="space-between" wrap="nowrap">
            <div style={{ minWidth: 0 }}>
              <Text size="sm" truncate title={s.user_agent}>
                {s.user_agent || 'an unknown program'}
              </Text>
              <Text size="xs" c="dimmed">
                {s.ip_address} · begun <Moment at={s.created_at} /> · used <Moment at={s.last_used} />
              </Text>
            </div>
            {s.current ? (
              <Badge variant="light" flex="none">
                this one
              </Badge>
            ) : (
              <Button flex="none" size="compact-sm" variant="subtle" color="red" aria-label={`End the session ${s.id}`} onClick={() => end.mutate(s.id)}>
                End
              </Button>
            )}
          </Group>
        </Paper>
      ))}
    </Stack>
  );
}

function Password() {
  const [old, setOld] = useState('');
  const [password, setPassword] = useState('');
  const [again, setAgain] = useState('');
  const verdict = useVerdict(password);
  const save = useMutation({
    mutationFn: () => api.put('/users/{user}/password', { path: { user: 'me' }, body: { old_password: old, password } }),
    onSuccess: () => {
      praise('Your password is changed');
      setOld('');
      setPassword('');
      setAgain('');
    },
  });
  const differs = again !== '' && again !== password;
  return (
    <form
      onSubmit={(e: FormEvent) => {
        e.preventDefault();
        if (password === again) save.mutate();
      }}
    >
      <Stack maw={520}>
        <Refusal error={save.error} />
        <PasswordInput
          label="Current password"
          required
          autoComplete="current-password"
          value={old}
          onChange={(e) => setOld(e.currentTarget.value)}
          error={fieldError(save.error, 'old_password')}
        />
        <PasswordInput
          label="New password"
          required
          autoComplete="new-password"
          value={password}
          onChange={(e) => setPassword(e.currentTarget.value)}
          error={fieldError(save.error, 'password') ?? (verdict && !verdict.valid ? verdict.details : undefined)}
        />
        <PasswordInput
          label="New password again"
          required
          autoComplete="new-password"
          value={again}
          onChange={(e) => setAgain(e.currentTarget.value)}
          error={differs ? 'This is not the same.' : undefined}
        />
        <Text size="sm" c="dimmed">
          Your other sessions end when the password changes. Tokens stay good.
        </Text>
        <Group>
          <Button type="submit" loading={save.isPending} disabled={password === '' || password !== again}>
            Change password
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
