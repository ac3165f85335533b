import { Badge, Code, Group, Paper, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client';
import { ErrorAlert } from '../../components/ErrorAlert';
import { RelativeTime } from '../../components/time';

/** The state of SCIM: the address for the identity provider, and what it manages. */
export function ScimStatus() {
  const { data, error } = useQuery({ queryKey: ['scim'], queryFn: () => api.get('/deployment/scim') });
  if (error) return <ErrorAlert error={error} />;
  if (!data) return null;
  return (
    <Paper withBorder p="md">
      <Group mb="xs">
        <Title order={2}>SCIM provisioning</Title>
        <Badge color={data.enabled ? 'green' : 'gray'}>{data.enabled ? 'Enabled' : 'Disabled'}</Badge>
      </Group>
      {data.enabled ? (
        <Text size="sm">
          Enter <Code>{data.url}</Code> and the value of <Code>CODER_SCIM_AUTH_HEADER</Code> at the identity provider.
        </Text>
      ) : (
        <Text size="sm">
          Set <Code>CODER_SCIM_AUTH_HEADER</Code> on the server to let the identity provider create and suspend users.
        </Text>
      )}
      <Text size="sm" mt="xs">
        Managed: {data.users} users and {data.groups} groups.{' '}
        {data.changed_at && (
          <>
            Last change <RelativeTime at={data.changed_at} />.
          </>
        )}
      </Text>
    </Paper>
  );
}
