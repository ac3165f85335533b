import { Badge, Button, Checkbox, Group, Modal, Paper, Stack, Table, Text, TextInput } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { type Schema, api } from '../../api/client';
import { useLive } from '../../api/live';
import { Loading } from '../../parts/Loading';
import { Sheet } from '../../parts/Sheet';
import { Refusal, fieldError } from '../../parts/Refusal';
import { complain, confirmByName, praise } from '../../parts/confirm';
import { type Organization, type TabProps, rolesQuery } from './data';
import { holds, kinds, summary, toggled } from './permissions';

type Role = Schema<'AssignableRoles'>;

/** The roles that members can have: the built-in ones and the organization's own. */
export default function Roles({ o, may }: TabProps) {
  const client = useQueryClient();
  const list = useQuery(rolesQuery(o.id));
  const [edited, edit] = useState<Role | 'new' | null>(null);
  useLive(['assign_org_role'], ['organization', o.id, 'roles']);
  const remove = useMutation({
    mutationFn: (name: string) => api.delete('/organizations/{organization}/members/roles/{roleName}', { path: { organization: o.id, roleName: name } }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['organization', o.id, 'roles'] });
      praise('The role is deleted; nobody has it any more');
    },
    onError: complain,
  });
  const ask = (r: Role) =>
    confirmByName({
      title: `Delete ${r.display_name || r.name}?`,
      lost: 'The role. Who has it loses at once what only it lets them do.',
      name: r.name,
      verb: 'Delete the role',
      onYes: () => remove.mutate(r.name),
    });
  return (
    <Stack>
      <Group justify="space-between">
        <Text size="sm">Roles add to what every member may do.</Text>
        {may.createRole && (
          <Button leftSection={<IconPlus size={16} />} onClick={() => edit('new')}>
            New role
          </Button>
        )}
      </Group>
      <Refusal error={list.error} />
      {list.isPending && <Loading />}
      {list.data && (
        <Sheet heads={['Role', 'About']} actions={170} minWidth={560}>
          {list.data.map((r) => (
            <Table.Tr key={r.name}>
              <Table.Td>
                <Group gap="xs">
                  <Text size="sm" fw={600}>
                    {r.display_name || r.name}
                  </Text>
                  {r.built_in && (
                    <Badge variant="light" color="gray">
                      built in
                    </Badge>
                  )}
                </Group>
              </Table.Td>
              <Table.Td>
                <Text size="sm">{summary([...r.organization_permissions, ...r.organization_member_permissions])}</Text>
              </Table.Td>
              <Table.Td>
                {!r.built_in && (
                  <Group gap={4} wrap="nowrap">
                    {may.updateRole && (
                      <Button variant="subtle" size="compact-sm" onClick={() => edit(r)} aria-label={`Edit ${r.display_name || r.name}`}>
                        Edit
                      </Button>
                    )}
                    {may.deleteRole && (
                      <Button variant="subtle" color="red" size="compact-sm" onClick={() => ask(r)} aria-label={`Delete ${r.display_name || r.name}`}>
                        Delete …
                      </Button>
                    )}
                  </Group>
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </Sheet>
      )}
      <Modal opened={edited !== null} onClose={() => edit(null)} size="xl" centered={false} title={edited === 'new' ? 'New role' : `Edit ${edited?.display_name || edited?.name}`}>
        {edited && <Editor o={o} role={edited === 'new' ? undefined : edited} onDone={() => edit(null)} />}
      </Modal>
    </Stack>
  );
}

function Editor({ o, role, onDone }: { o: Organization; role?: Role; onDone: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState(role?.name ?? '');
  const [display, setDisplay] = useState(role?.display_name ?? '');
  const [chosen, setChosen] = useState(role?.organization_permissions ?? []);
  const save = useMutation({
    mutationFn: () => {
      const body = {
        name,
        display_name: display,
        organization_permissions: chosen,
        organization_member_permissions: role?.organization_member_permissions ?? [],
        site_permissions: [],
        user_permissions: [],
      };
      const path = { organization: o.id };
      return role ? api.put('/organizations/{organization}/members/roles', { path, body }) : api.post('/organizations/{organization}/members/roles', { path, body });
    },
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['organization', o.id, 'roles'] });
      praise('Saved');
      onDone();
    },
  });
  return (
    <form
      onSubmit={(e: FormEvent) => {
        e.preventDefault();
        save.mutate();
      }}
    >
      <Stack>
        <TextInput data-autofocus label="Name" required disabled={role !== undefined} description="Lower-case letters, digits and hyphens." value={name} onChange={(e) => setName(e.currentTarget.value)} error={fieldError(save.error, 'name')} />
        <TextInput label="Display name" value={display} onChange={(e) => setDisplay(e.currentTarget.value)} error={fieldError(save.error, 'display_name')} />
        {kinds.map((k) => (
          <Paper withBorder p="sm" key={k.resource} component="fieldset">
            <Text component="legend" size="sm" fw={600}>
              {k.label}
            </Text>
            <Group gap="md">
              {k.actions.map((a) => (
                <Checkbox key={a} size="xs" label={a.replaceAll('_', ' ')} checked={holds(chosen, k.resource, a)} onChange={(e) => setChosen(toggled(chosen, k.resource, a, e.currentTarget.checked))} />
              ))}
            </Group>
          </Paper>
        ))}
        <Refusal error={save.error} />
        <Group>
          <Button type="submit" loading={save.isPending}>
            Save
          </Button>
          <Text size="sm" c="dimmed">
            {chosen.length} permissions
          </Text>
        </Group>
      </Stack>
    </form>
  );
}
