import { Alert, Anchor, Button, Divider, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { IconBrandGithub } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { api } from '../../api/client';
import { appearance, authMethods, me, queries } from '../../api/queries';
import { Gate } from '../../layout/Gate';
import { Icon } from '../../parts/Icon';
import { Refusal } from '../../parts/Refusal';

/** Where to go after the login: a path of this page, nothing else. */
export function safeRedirect(to: string | undefined): string {
  return to?.startsWith('/') && !to.startsWith('//') && !to.startsWith('/\\') ? to : '/workspaces';
}

/** Logging in, by the ways that the deployment offers. */
export default function Login() {
  const search = useSearch({ from: '/login' });
  const navigate = useNavigate();
  const { data: methods } = useQuery(authMethods);
  const { data: look } = useQuery(appearance);
  const { data: self } = useQuery(me);
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const to = safeRedirect(search.redirect);
  const login = useMutation({
    mutationFn: () => api.post('/users/login', { body: { email, password } }),
    onSuccess: async () => {
      queries.removeQueries({ queryKey: ['permissions'] });
      await queries.fetchQuery({ ...me, staleTime: 0 });
      await navigate({ href: to });
    },
  });
  const submit = (e: FormEvent) => {
    e.preventDefault();
    login.mutate();
  };
  const elsewhere = `?redirect=${encodeURIComponent(to)}`;
  return (
    <Gate title={look?.application_name || 'Log in to Coder'}>
      {search.message && <Alert color="yellow">{search.message}</Alert>}
      {self && (
        <Text size="sm">
          You are still logged in as {self.username}. <Anchor href={to}>Go on as {self.username}</Anchor>
        </Text>
      )}
      <Refusal error={login.error} />
      {methods?.password.enabled !== false && (
        <form onSubmit={submit}>
          <Stack>
            <TextInput label="Email" type="email" autoComplete="username" required autoFocus value={email} onChange={(e) => setEmail(e.currentTarget.value)} />
            <PasswordInput label="Password" autoComplete="current-password" required value={password} onChange={(e) => setPassword(e.currentTarget.value)} />
            <Button type="submit" loading={login.isPending} fullWidth>
              Log in
            </Button>
          </Stack>
        </form>
      )}
      {methods?.password.enabled && (methods.oidc.enabled || methods.github.enabled) && <Divider label="or" />}
      {methods?.oidc.enabled && (
        <Button component="a" variant="default" leftSection={methods.oidc.iconUrl && <Icon src={methods.oidc.iconUrl} name="" size={18} />} href={`/api/v2/users/oidc/callback${elsewhere}`}>
          {methods.oidc.signInText || 'OpenID Connect'}
        </Button>
      )}
      {methods?.github.enabled && (
        <Button component="a" variant="default" leftSection={<IconBrandGithub size={18} />} href={`/api/v2/users/oauth2/github/callback${elsewhere}`}>
          GitHub
        </Button>
      )}
      {methods?.terms_of_service_url && (
        <Text size="xs" c="dimmed" ta="center">
          By logging in you agree to the <Anchor href={methods.terms_of_service_url}>terms of service</Anchor>.
        </Text>
      )}
    </Gate>
  );
}
