import { Alert, Anchor, Button, Divider, Text } from '@mantine/core';
import { IconBrandGithub } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { appearance, authMethods, me, queries } from '../../api/queries';
import { tellTabs } from '../../api/session';
import { Gate } from '../../layout/Gate';
import { Icon } from '../../parts/Icon';
import { PasswordForm } from './PasswordForm';

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
  const to = safeRedirect(search.redirect);
  const enter = async () => {
    queries.clear(); // it may be another person's
    await queries.fetchQuery({ ...me, staleTime: 0 });
    tellTabs();
    await navigate({ href: to });
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
      {methods?.password.enabled !== false && (
        <PasswordForm onDone={enter}>
          <Anchor component={Link} to="/reset-password" size="sm" ta="center">
            Forgot your password?
          </Anchor>
        </PasswordForm>
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
