import { Alert, Anchor, Button, Divider, Text } from '@mantine/core';
import { IconBrandGithub } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { appearance, authMethods, me, queries } from '../../api/queries';
import { notifyTabs } from '../../api/session';
import { SignInLayout } from '../../layout/SignInLayout';
import { Icon } from '../../components/Icon';
import { PasswordForm } from './PasswordForm';

/** Returns where to go after sign-in. Only paths of this origin are allowed. */
export function safeRedirect(to: string | undefined): string {
  return to?.startsWith('/') && !to.startsWith('//') && !to.startsWith('/\\') ? to : '/workspaces';
}

/** Reports whether the server and not the dashboard serves a path. */
export function isServerPath(path: string): boolean {
  return /^\/(api|external-auth|oauth2)\//.test(path);
}

/** Signs a user in with the methods that the deployment enables. */
export default function SignIn() {
  const search = useSearch({ from: '/login' });
  const navigate = useNavigate();
  const { data: methods } = useQuery(authMethods);
  const { data: look } = useQuery(appearance);
  const { data: self } = useQuery(me);
  const to = safeRedirect(search.redirect);
  const enter = async () => {
    queries.clear(); // cached data may belong to another user
    await queries.fetchQuery({ ...me, staleTime: 0 });
    notifyTabs();
    if (isServerPath(to)) window.location.assign(to);
    else await navigate({ href: to });
  };
  const elsewhere = `?redirect=${encodeURIComponent(to)}`;
  return (
    <SignInLayout title={look?.application_name || 'Sign in to Coder'}>
      {search.message && <Alert color="yellow">{search.message}</Alert>}
      {self && (
        <Text size="sm">
          You are signed in as {self.username}. <Anchor href={to}>Continue as {self.username}</Anchor>
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
        <Button
          component="a"
          variant="default"
          leftSection={methods.oidc.iconUrl && <Icon src={methods.oidc.iconUrl} name="" size={18} />}
          href={`/api/v2/users/oidc/callback${elsewhere}`}
        >
          {methods.oidc.signInText || 'OpenID Connect'}
        </Button>
      )}
      {methods?.github.enabled && (
        <Button
          component="a"
          variant="default"
          leftSection={<IconBrandGithub size={18} />}
          href={`/api/v2/users/oauth2/github/callback${elsewhere}`}
        >
          GitHub
        </Button>
      )}
      {methods?.terms_of_service_url && (
        <Text size="xs" c="dimmed" ta="center">
          By signing in, you agree to the <Anchor href={methods.terms_of_service_url}>terms of service</Anchor>.
        </Text>
      )}
    </SignInLayout>
  );
}
