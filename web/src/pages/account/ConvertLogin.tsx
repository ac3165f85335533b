import { Button, Group, Modal, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schema, api } from '../../api/client';
import { authMethods } from '../../api/queries';
import { Form } from '../../components/Form';
import { ErrorAlert, getFieldError } from '../../components/ErrorAlert';

type ProviderType = Extract<Schema<'LoginType'>, 'oidc' | 'github'>;

/** Converts a password account to sign in with an identity provider. */
export function ConvertLogin() {
  const { data: methods } = useQuery(authMethods);
  const [to, setTo] = useState<ProviderType>();
  const ways: [ProviderType, string][] = [];
  if (methods?.oidc.enabled) ways.push(['oidc', methods.oidc.signInText || 'OpenID Connect']);
  if (methods?.github.enabled) ways.push(['github', 'GitHub']);
  if (ways.length === 0) return null;
  const name = ways.find(([way]) => way === to)?.[1] ?? '';
  return (
    <Stack gap="xs" maw={520}>
      <Title order={2}>Sign-in method</Title>
      <Text size="sm">
        Switch from a password to an identity provider. Your account and its resources stay the same.
      </Text>
      <Group>
        {ways.map(([way, label]) => (
          <Button key={way} variant="default" onClick={() => setTo(way)}>
            Switch to {label}…
          </Button>
        ))}
      </Group>
      <Modal opened={to !== undefined} onClose={() => setTo(undefined)} title={`Switch to ${name}?`}>
        {to && <ConvertForm to={to} name={name} />}
      </Modal>
    </Stack>
  );
}

function ConvertForm({ to, name }: { to: ProviderType; name: string }) {
  const [password, setPassword] = useState('');
  const begin = useMutation({
    mutationFn: () =>
      api.post('/users/{user}/convert-login', { path: { user: 'me' }, body: { to_type: to, password } }),
    onSuccess: ({ state_string }) => {
      const query = new URLSearchParams({ oidc_merge_state: state_string, redirect: '/settings/security' });
      location.assign(`/api/v2/users/${to === 'oidc' ? 'oidc' : 'oauth2/github'}/callback?${query}`);
    },
  });
  return (
    <Form
      error={begin.error}
      onSubmit={() => {
        begin.mutate();
      }}
    >
      <Stack>
        <ErrorAlert error={begin.error} />
        <Text size="sm">
          You will sign in to {name}. After that, your password is removed permanently, and you can only sign in with{' '}
          {name}.
        </Text>
        <PasswordInput
          data-autofocus
          label="Current password"
          description="Confirms your identity."
          required
          autoComplete="current-password"
          value={password}
          onChange={(e) => setPassword(e.currentTarget.value)}
          error={getFieldError(begin.error, 'password')}
        />
        <Button type="submit" color="red" loading={begin.isPending || begin.isSuccess}>
          Switch to {name}
        </Button>
      </Stack>
    </Form>
  );
}
