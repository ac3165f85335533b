import { Anchor, Badge, Button, Group, Paper, SimpleGrid, Stack, Text, TextInput, Textarea } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client';
import { useLiveUpdates } from '../../api/live';
import { usePermissions } from '../../api/permissions';
import { Form } from '../../components/Form';
import { EmptyState } from '../../components/EmptyState';
import { Icon } from '../../components/Icon';
import { IconInput } from '../../components/IconInput';
import { NameField } from '../../components/NameField';
import { Loading } from '../../components/Loading';
import { Page } from '../../components/Page';
import { ErrorAlert, getFieldError } from '../../components/ErrorAlert';
import { modals } from '../../components/dialogs';

/** The organizations that the user can see. */
export default function OrganizationList() {
  const may = usePermissions();
  const navigate = useNavigate();
  const go = (organization: string) =>
    navigate({ to: '/organizations/$organization/$tab', params: { organization, tab: 'members' } });
  const list = useQuery({ queryKey: ['organization', ''], queryFn: () => api.get('/organizations') });
  useLiveUpdates(['organization'], ['organization', '']);
  return (
    <Page
      title="Organizations"
      hint="Organizations group members, templates and provisioners."
      actions={
        may.createOrganization && (
          <Button
            leftSection={<IconPlus size={16} />}
            onClick={() => modals.open({ title: 'Create organization', children: <CreateOrganization onMade={go} /> })}
          >
            Create organization
          </Button>
        )
      }
    >
      <ErrorAlert error={list.error} />
      {list.isPending && <Loading />}
      {list.data?.length === 0 && <EmptyState title="No organizations" hint="Ask an organization admin to add you." />}
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
        {list.data?.map((organization) => (
          <Paper withBorder p="md" key={organization.id}>
            <Group wrap="nowrap" align="flex-start">
              <Icon src={organization.icon} name={organization.display_name || organization.name} size={40} />
              <div>
                <Group gap="xs">
                  <Anchor component={Link} to={`/organizations/${organization.name}`} fw={600}>
                    {organization.display_name || organization.name}
                  </Anchor>
                  {organization.is_default && <Badge>Default</Badge>}
                </Group>
                <Text size="sm" c="dimmed" lineClamp={3} style={{ overflowWrap: 'anywhere' }}>
                  {organization.description || organization.name}
                </Text>
              </div>
            </Group>
          </Paper>
        ))}
      </SimpleGrid>
    </Page>
  );
}

function CreateOrganization({ onMade }: { onMade: (name: string) => void }) {
  const client = useQueryClient();
  const [f, setF] = useState({ name: '', display_name: '', description: '', icon: '' });
  const create = useMutation({
    mutationFn: () => api.post('/organizations', { body: f }),
    onSuccess: async (organization) => {
      modals.closeAll();
      await Promise.all(
        [['organization'], ['organizations'], ['permissions']].map((queryKey) =>
          client.invalidateQueries({ queryKey }),
        ),
      );
      onMade(organization.name);
    },
  });
  const typed = (k: keyof typeof f) => ({
    value: f[k],
    onChange: (e: { currentTarget: { value: string } }) => {
      const { value } = e.currentTarget;
      setF((old) => ({ ...old, [k]: value }));
    },
    error: getFieldError(create.error, k),
  });
  return (
    <Form
      error={create.error}
      onSubmit={() => {
        create.mutate();
      }}
    >
      <Stack>
        <ErrorAlert error={create.error} />
        <NameField
          data-autofocus
          description="Used in URLs and in the CLI."
          value={f.name}
          onChange={(name) => setF((old) => ({ ...old, name }))}
          error={getFieldError(create.error, 'name')}
        />
        <TextInput label="Display name" {...typed('display_name')} />
        <Textarea label="Description" autosize minRows={2} maxRows={6} {...typed('description')} />
        <IconInput {...typed('icon')} />
        <Button type="submit" loading={create.isPending}>
          Create organization
        </Button>
      </Stack>
    </Form>
  );
}
