import { Badge, Button, Checkbox, Group, Modal, Paper, Stack, Table, Text, TextInput } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schema, api } from '../../api/client';
import { useLiveUpdates } from '../../api/live';
import { Form } from '../../components/Form';
import { Loading } from '../../components/Loading';
import { DataTable } from '../../components/DataTable';
import { ErrorAlert, getFieldError } from '../../components/ErrorAlert';
import { notifyError, confirmByName, notifySuccess } from '../../components/confirm';
import { type Organization, type TabProps, rolesQuery } from './queries';
import { formatCount } from '../../lib/text';
import { hasPermission, kinds, summarizePermissions, togglePermission } from './permissions';

type Role = Schema<'AssignableRoles'>;

/** The built-in and custom roles of the organization. */
export default function RoleList({ organization, may }: TabProps) {
  const client = useQueryClient();
  const list = useQuery(rolesQuery(organization.id));
  const [edited, edit] = useState<Role | 'new' | null>(null);
  useLiveUpdates(['assign_org_role'], ['organization', organization.id, 'roles']);
  const remove = useMutation({
    mutationFn: (name: string) =>
      api.delete('/organizations/{organization}/members/roles/{roleName}', {
        path: { organization: organization.id, roleName: name },
      }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['organization', organization.id, 'roles'] });
      notifySuccess('Role deleted');
    },
    onError: notifyError,
  });
  const ask = (role: Role) =>
    confirmByName({
      title: `Delete ${role.display_name || role.name}?`,
      warning: 'Members with this role lose its permissions immediately.',
      name: role.name,
      action: 'Delete role',
      onConfirm: () => remove.mutate(role.name),
    });
  return (
    <Stack>
      <Group justify="space-between">
        <Text size="sm">Roles grant permissions in addition to those of every member.</Text>
        {may.createRole && (
          <Button leftSection={<IconPlus size={16} />} onClick={() => edit('new')}>
            Create role
          </Button>
        )}
      </Group>
      <ErrorAlert error={list.error} />
      {list.isPending && <Loading />}
      {list.data && (
        <DataTable headers={['Role', 'Permissions']} actions={170} minWidth={560}>
          {list.data.map((role) => (
            <Table.Tr key={role.name}>
              <Table.Td>
                <Group gap="xs">
                  <Text size="sm" fw={600}>
                    {role.display_name || role.name}
                  </Text>
                  {role.built_in && <Badge color="gray">Built-in</Badge>}
                </Group>
              </Table.Td>
              <Table.Td>
                <Text size="sm">
                  {summarizePermissions([...role.organization_permissions, ...role.organization_member_permissions])}
                </Text>
              </Table.Td>
              <Table.Td>
                {!role.built_in && (
                  <Group gap={4} wrap="nowrap">
                    {may.updateRole && (
                      <Button
                        variant="subtle"
                        size="compact-sm"
                        onClick={() => edit(role)}
                        aria-label={`Edit ${role.display_name || role.name}`}
                      >
                        Edit
                      </Button>
                    )}
                    {may.deleteRole && (
                      <Button
                        variant="subtle"
                        color="red"
                        size="compact-sm"
                        onClick={() => ask(role)}
                        aria-label={`Delete ${role.display_name || role.name}`}
                      >
                        Delete…
                      </Button>
                    )}
                  </Group>
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </DataTable>
      )}
      <Modal
        opened={edited !== null}
        onClose={() => edit(null)}
        size="xl"
        centered={false}
        title={edited === 'new' ? 'Create role' : `Edit ${edited?.display_name || edited?.name}`}
      >
        {edited && (
          <RoleForm
            organization={organization}
            role={edited === 'new' ? undefined : edited}
            onDone={() => edit(null)}
          />
        )}
      </Modal>
    </Stack>
  );
}

function RoleForm({ organization, role, onDone }: { organization: Organization; role?: Role; onDone: () => void }) {
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
      const path = { organization: organization.id };
      return role
        ? api.put('/organizations/{organization}/members/roles', { path, body })
        : api.post('/organizations/{organization}/members/roles', { path, body });
    },
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['organization', organization.id, 'roles'] });
      notifySuccess(role ? 'Role saved' : 'Role created');
      onDone();
    },
  });
  return (
    <Form
      error={save.error}
      onSubmit={() => {
        save.mutate();
      }}
    >
      <Stack>
        <TextInput
          data-autofocus
          label="Name"
          required
          disabled={role !== undefined}
          description="Lowercase letters, digits and hyphens."
          value={name}
          onChange={(e) => setName(e.currentTarget.value)}
          error={getFieldError(save.error, 'name')}
        />
        <TextInput
          label="Display name"
          value={display}
          onChange={(e) => setDisplay(e.currentTarget.value)}
          error={getFieldError(save.error, 'display_name')}
        />
        {kinds.map((kind) => (
          <Paper withBorder p="sm" key={kind.resource} component="fieldset">
            <Text component="legend" size="sm" fw={600}>
              {kind.label}
            </Text>
            <Group gap="md">
              {kind.actions.map((a) => (
                <Checkbox
                  key={a}
                  size="xs"
                  label={a.replaceAll('_', ' ')}
                  checked={hasPermission(chosen, kind.resource, a)}
                  onChange={(e) => setChosen(togglePermission(chosen, kind.resource, a, e.currentTarget.checked))}
                />
              ))}
            </Group>
          </Paper>
        ))}
        <ErrorAlert error={save.error} />
        <Group>
          <Button type="submit" loading={save.isPending}>
            {role ? 'Save' : 'Create role'}
          </Button>
          <Text size="sm" c="dimmed">
            {formatCount(chosen.length, 'permission')}
          </Text>
        </Group>
      </Stack>
    </Form>
  );
}
