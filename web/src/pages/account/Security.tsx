import { Alert, Button, Group, PasswordInput, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { type Schema, api } from '../../api/client';
import { Refusal, fieldError } from '../../parts/Refusal';
import { praise } from '../../parts/confirm';

const ways: Record<string, string> = { oidc: 'OpenID Connect', github: 'GitHub', none: 'tokens only', token: 'a token' };

/** The password, for those who have one. */
export function Security({ self }: { self: Schema<'User'> }) {
  if (self.login_type !== 'password') {
    return <Alert title={`You log in with ${ways[self.login_type] ?? self.login_type}`}>There is no password here that could be changed.</Alert>;
  }
  return <Password />;
}

function Password() {
  const [old, setOld] = useState('');
  const [password, setPassword] = useState('');
  const [again, setAgain] = useState('');
  const { data: verdict } = useQuery({
    queryKey: ['password', password],
    queryFn: () => api.post('/users/validate-password', { body: { password } }),
    enabled: password.length > 0,
    gcTime: 0, // passwords are kept no longer than they are looked at
  });
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
