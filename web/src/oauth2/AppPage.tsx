import { Alert, Anchor, Group, Paper, SimpleGrid, Stack, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { api } from '../api/client';
import { CopySnippet } from '../components/CopyButton';
import { DeleteSection } from '../components/DeleteSection';
import { ErrorAlert } from '../components/ErrorAlert';
import { Loading } from '../components/Loading';
import { Page } from '../components/Page';
import { Restricted } from '../components/Refusal';
import { notifySuccess } from '../components/confirm';
import { EditApp } from './AppForm';
import { AppBadges } from './AppList';
import { AppSecrets } from './AppSecrets';
import { type App, appQuery, oauth2Key } from './queries';

/** An OAuth2 application: its endpoints, secrets and settings. */
export default function AppPage() {
  return (
    <Restricted permission="updateOAuth2Apps" title="OAuth2 application" needs="the role Owner">
      <Application />
    </Restricted>
  );
}

const back = (
  <Anchor component={Link} to="/deployment/oauth2" size="sm" underline="always">
    OAuth2 applications
  </Anchor>
);

function Application() {
  const { app: id } = useParams({ from: '/shell/deployment/oauth2/$app' });
  const { data: app, error } = useQuery(appQuery(id));
  if (error) {
    return (
      <Page title="OAuth2 application" hint={back}>
        <ErrorAlert error={error} />
      </Page>
    );
  }
  if (!app) return <Loading />;
  return (
    <Page
      title={app.name}
      wide={false}
      hint={back}
      actions={
        <Group gap="xs">
          <AppBadges app={app} />
        </Group>
      }
    >
      <Stack gap="lg">
        <Endpoints app={app} />
        {!app.public && <AppSecrets app={app} />}
        {app.dynamic ? (
          <Alert color="gray" variant="light" title="The application manages its own settings">
            It registered itself. You can delete it, which revokes all its tokens.
          </Alert>
        ) : (
          <Stack gap="xs">
            <Title order={2} size="h3">
              Settings
            </Title>
            <EditApp key={app.id} app={app} />
          </Stack>
        )}
        <DeleteApp app={app} />
      </Stack>
    </Page>
  );
}

/** What the developer of an application enters in it. */
function Endpoints({ app }: { app: App }) {
  return (
    <Paper withBorder p="md">
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md">
        <CopySnippet label="Client ID" text={app.id} />
        <CopySnippet label="Authorization URL" text={app.endpoints.authorization} />
        <CopySnippet label="Token URL" text={app.endpoints.token} />
        <CopySnippet label="Revocation URL" text={app.endpoints.token_revoke} />
      </SimpleGrid>
    </Paper>
  );
}

function DeleteApp({ app }: { app: App }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const remove = useMutation({
    mutationFn: () => api.delete('/oauth2-provider/apps/{app}', { path: { app: app.id } }),
    onSuccess: async () => {
      notifySuccess(`${app.name} deleted`);
      await client.invalidateQueries({ queryKey: oauth2Key, refetchType: 'none' });
      await navigate({ to: '/deployment/$tab', params: { tab: 'oauth2' } });
    },
  });
  return (
    <DeleteSection
      kind="application"
      name={app.name}
      title={app.name}
      description="Deletes the application and its secrets, and revokes all its tokens."
      warning="All users of the application lose its access immediately. This cannot be undone."
      error={remove.error}
      pending={remove.isPending}
      onConfirm={() => remove.mutate()}
    />
  );
}
