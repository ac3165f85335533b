import { Button, Group, Modal, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { type Schema, api } from '../../api/client';
import { authMethods } from '../../api/queries';
import { Refusal, fieldError } from '../../parts/Refusal';

type Way = Extract<Schema<'LoginType'>, 'oidc' | 'github'>;

/** Giving the password up for a provider that this deployment trusts. */
export function Convert() {
  const { data: methods } = useQuery(authMethods);
  const [to, setTo] = useState<Way>();
  const ways: [Way, string][] = [];
  if (methods?.oidc.enabled) ways.push(['oidc', methods.oidc.signInText || 'OpenID Connect']);
  if (methods?.github.enabled) ways.push(['github', 'GitHub']);
  if (ways.length === 0) return null;
  const name = ways.find(([way]) => way === to)?.[1] ?? '';
  return (
    <Stack gap="xs" maw={520}>
      <Title order={2}>Log in another way</Title>
      <Text size="sm">Your account stays as it is, with all that belongs to it. Only the way in changes.</Text>
      <Group>
        {ways.map(([way, label]) => (
          <Button key={way} variant="default" onClick={() => setTo(way)}>
            Change to {label} …
          </Button>
        ))}
      </Group>
      <Modal opened={to !== undefined} onClose={() => setTo(undefined)} title={`Log in by ${name} from now on?`}>
        {to && <Ask to={to} name={name} />}
      </Modal>
    </Stack>
  );
}

function Ask({ to, name }: { to: Way; name: string }) {
  const [password, setPassword] = useState('');
  const begin = useMutation({
    mutationFn: () => api.post('/users/{user}/convert-login', { path: { user: 'me' }, body: { to_type: to, password } }),
    onSuccess: ({ state_string }) => {
      const query = new URLSearchParams({ oidc_merge_state: state_string, redirect: '/settings/security' });
      location.assign(`/api/v2/users/${to === 'oidc' ? 'oidc' : 'oauth2/github'}/callback?${query}`);
    },
  });
  return (
    <form
      onSubmit={(e: FormEvent) => {
        e.preventDefault();
        begin.mutate();
      }}
    >
      <Stack>
        <Refusal error={begin.error} />
        <Text size="sm">
          You go to {name} and log in there. After that your password is gone for good: it cannot be used or set again, and whoever loses the account there loses this one.
        </Text>
        <PasswordInput
          data-autofocus
          label="Your password"
          description="To be sure that it is you."
          required
          autoComplete="current-password"
          value={password}
          onChange={(e) => setPassword(e.currentTarget.value)}
          error={fieldError(begin.error, 'password')}
        />
        <Button type="submit" color="red" loading={begin.isPending || begin.isSuccess}>
          Go on to {name}
        </Button>
      </Stack>
    </form>
  );
}
