import { Anchor, Badge, Button, Group, Paper, SimpleGrid, Stack, Text, TextInput, Textarea } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { api } from '../../api/client';
import { useLive } from '../../api/live';
import { usePermissions } from '../../api/permissions';
import { Empty } from '../../parts/Empty';
import { Icon } from '../../parts/Icon';
import { Loading } from '../../parts/Loading';
import { Page } from '../../parts/Page';
import { Refusal, fieldError } from '../../parts/Refusal';
import { modals } from '../../parts/dialogs';

/** The organizations one may see. */
export default function List() {
  const may = usePermissions();
  const navigate = useNavigate();
  const go = (organization: string) => navigate({ to: '/organizations/$organization/$tab', params: { organization, tab: 'members' } });
  const list = useQuery({ queryKey: ['organization', ''], queryFn: () => api.get('/organizations') });
  useLive(['organization'], ['organization', '']);
  return (
    <Page
      title="Organizations"
      hint="Who works together: members, groups, templates, and the provisioners that build for them."
      actions={
        may.createOrganization && (
          <Button leftSection={<IconPlus size={16} />} onClick={() => modals.open({ title: 'New organization', children: <Create onMade={go} /> })}>
            New organization
          </Button>
        )
      }
    >
      <Refusal error={list.error} />
      {list.isPending && <Loading />}
      {list.data?.length === 0 && <Empty title="You are in no organization" hint="Ask somebody who administers one to add you." />}
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
        {list.data?.map((o) => (
          <Paper withBorder p="md" key={o.id}>
            <Group wrap="nowrap" align="flex-start">
              <Icon src={o.icon} name={o.display_name || o.name} size={40} />
              <div>
                <Group gap="xs">
                  <Anchor component={Link} to={`/organizations/${o.name}`} fw={600}>
                    {o.display_name || o.name}
                  </Anchor>
                  {o.is_default && <Badge variant="light">default</Badge>}
                </Group>
                <Text size="sm" c="dimmed" lineClamp={3} style={{ overflowWrap: 'anywhere' }}>
                  {o.description || o.name}
                </Text>
              </div>
            </Group>
          </Paper>
        ))}
      </SimpleGrid>
    </Page>
  );
}

function Create({ onMade }: { onMade: (name: string) => void }) {
  const client = useQueryClient();
  const [f, setF] = useState({ name: '', display_name: '', description: '', icon: '' });
  const create = useMutation({
    mutationFn: () => api.post('/organizations', { body: f }),
    onSuccess: async (o) => {
      modals.closeAll();
      await Promise.all([['organization'], ['organizations'], ['permissions']].map((queryKey) => client.invalidateQueries({ queryKey })));
      onMade(o.name);
    },
  });
  const typed = (k: keyof typeof f) => ({
    value: f[k],
    onChange: (e: { currentTarget: { value: string } }) => {
      const { value } = e.currentTarget;
      setF((old) => ({ ...old, [k]: value }));
    },
    error: fieldError(create.error, k),
  });
  return (
    <form
      onSubmit={(e: FormEvent) => {
        e.preventDefault();
        create.mutate();
      }}
    >
      <Stack>
        <Refusal error={create.error} />
        <TextInput data-autofocus label="Name" required description="Part of its address and of commands." {...typed('name')} />
        <TextInput label="Display name" {...typed('display_name')} />
        <Textarea label="Description" autosize minRows={2} maxRows={6} {...typed('description')} />
        <TextInput label="Icon" description="The address of a picture." {...typed('icon')} />
        <Button type="submit" loading={create.isPending}>
          Create
        </Button>
      </Stack>
    </form>
  );
}
