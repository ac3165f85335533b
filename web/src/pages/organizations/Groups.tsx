import { Anchor, Badge, Button, Group as Row, NumberInput, Stack, Table, Text, TextInput } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { type Schema, api } from '../../api/client';
import { useLive } from '../../api/live';
import { Empty } from '../../parts/Empty';
import { Loading } from '../../parts/Loading';
import { Sheet } from '../../parts/Sheet';
import { Refusal, fieldError } from '../../parts/Refusal';
import type { Organization, TabProps } from './data';
import { modals } from '../../parts/dialogs';

/** The groups of the organization and what their members may spend. */
export default function Groups({ o, may }: TabProps) {
  const list = useQuery({
    queryKey: ['organization', o.id, 'groups'],
    queryFn: () => api.get('/organizations/{organization}/groups', { path: { organization: o.id }, query: { exclude_members: true } }),
  });
  useLive(['group'], ['organization', o.id, 'groups']);
  return (
    <Stack>
      <Row justify="space-between">
        <Text size="sm">Groups share templates and workspaces, and say what their members may spend a day.</Text>
        {may.createGroup && (
          <Button leftSection={<IconPlus size={16} />} onClick={() => modals.open({ title: 'New group', children: <GroupForm o={o} /> })}>
            New group
          </Button>
        )}
      </Row>
      <Refusal error={list.error} />
      {list.isPending && <Loading />}
      {list.data?.length === 0 && <Empty title="There is no group you may see" />}
      {list.data && list.data.length > 0 && (
        <Sheet heads={['Group', 'Members', 'Credits a day for each']} minWidth={480}>
          {list.data.map((g) => (
            <Table.Tr key={g.id}>
              <Table.Td>
                <Row gap="xs">
                  <Anchor component={Link} to={`/organizations/${o.name}/groups/${encodeURIComponent(g.name)}`} fw={600}>
                    {g.display_name || g.name}
                  </Anchor>
                  {g.source === 'oidc' && <Badge variant="light">from the identity provider</Badge>}
                </Row>
              </Table.Td>
              <Table.Td>{g.total_member_count}</Table.Td>
              <Table.Td>{g.quota_allowance}</Table.Td>
            </Table.Tr>
          ))}
        </Sheet>
      )}
    </Stack>
  );
}

/** The form for a group, new or there already. */
export function GroupForm({ o, g, onSaved }: { o: Organization; g?: Schema<'Group'>; onSaved?: (g: Schema<'Group'>) => void }) {
  const client = useQueryClient();
  const everyone = g?.id === o.id;
  const [f, setF] = useState({ name: g?.name ?? '', display_name: g?.display_name ?? '', avatar_url: g?.avatar_url ?? '', quota: (g?.quota_allowance ?? 0) as string | number });
  const save = useMutation({
    mutationFn: () => {
      const { quota, ...texts } = f;
      const body = { ...texts, quota_allowance: Number(quota) || 0 };
      if (!g) return api.post('/organizations/{organization}/groups', { path: { organization: o.id }, body });
      return api.patch('/groups/{group}', { path: { group: g.id }, body: everyone ? { quota_allowance: body.quota_allowance } : body });
    },
    onSuccess: async (saved) => {
      modals.closeAll();
      onSaved?.(saved);
      await client.invalidateQueries({ queryKey: ['organization', o.id, 'groups'] });
      await client.invalidateQueries({ queryKey: ['group', o.name] });
    },
  });
  const typed = (k: 'name' | 'display_name' | 'avatar_url') => ({
    value: f[k],
    onChange: (e: { currentTarget: { value: string } }) => {
      const { value } = e.currentTarget;
      setF((old) => ({ ...old, [k]: value }));
    },
    error: fieldError(save.error, k),
    disabled: everyone,
  });
  return (
    <form
      onSubmit={(e: FormEvent) => {
        e.preventDefault();
        save.mutate();
      }}
    >
      <Stack>
        <Refusal error={save.error} />
        <TextInput data-autofocus label="Name" required {...typed('name')} />
        <TextInput label="Display name" {...typed('display_name')} />
        <TextInput label="Picture" description="The address of one." {...typed('avatar_url')} />
        <NumberInput
          label="Credits a day for each member"
          description="What workspaces cost, templates say. Members of several groups have the sum."
          min={0}
          allowDecimal={false}
          value={f.quota}
          onChange={(v) => setF((old) => ({ ...old, quota: v }))}
          error={fieldError(save.error, 'quota_allowance')}
        />
        <Button type="submit" loading={save.isPending}>
          {g ? 'Save' : 'Create'}
        </Button>
      </Stack>
    </form>
  );
}
