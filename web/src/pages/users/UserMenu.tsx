import { ActionIcon, Button, Checkbox, Menu, PasswordInput, Stack, Text } from '@mantine/core';
import { IconDotsVertical } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { type Schema, api } from '../../api/client';
import { usePermissions } from '../../api/permissions';
import { me } from '../../api/queries';
import { Form } from '../../components/Form';
import { Loading } from '../../components/Loading';
import { ErrorAlert, getFieldError } from '../../components/ErrorAlert';
import { confirm, confirmByName, notifyError, notifySuccess, notifyUndo } from '../../components/confirm';
import { modals } from '../../components/dialogs';
import { Tokens } from '../account/Tokens';
import { ServiceAccountLimits } from './ServiceAccountLimits';

type User = Schema<'User'>;

/** The actions on a user. */
export function UserMenu({ user }: { user: User }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const may = usePermissions();
  const { data: self } = useQuery(me);
  const path = { user: user.id };
  const done = (message: string) => async () => {
    await client.invalidateQueries({ queryKey: ['users'] });
    notifySuccess(message);
  };
  const suspend = useMutation({
    mutationFn: () => api.put('/users/{user}/status/suspend', { path }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['users'] });
      notifyUndo(`User ${user.username} suspended`, () => activate.mutate());
    },
    onError: notifyError,
  });
  const activate = useMutation({
    mutationFn: () => api.put('/users/{user}/status/activate', { path }),
    onSuccess: done(`User ${user.username} activated`),
    onError: notifyError,
  });
  const remove = useMutation({
    mutationFn: () => api.delete('/users/{user}', { path }),
    onSuccess: done(`User ${user.username} deleted`),
    onError: notifyError,
  });
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={`Actions for ${user.username}`}>
          <IconDotsVertical size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => navigate({ to: '/workspaces', search: { q: `owner:${user.username}` } })}>
          Workspaces
        </Menu.Item>
        {may.readAudit && (
          <Menu.Item onClick={() => navigate({ to: '/audit', search: { q: `username:${user.username}` } })}>
            Audit log
          </Menu.Item>
        )}
        {may.createUser && (
          <>
            <Menu.Divider />
            <Menu.Item
              onClick={() =>
                modals.open({ title: `Edit roles of ${user.username}`, children: <EditRoles user={user} /> })
              }
            >
              Edit roles…
            </Menu.Item>
            {user.is_service_account && (
              <>
                <Menu.Item
                  onClick={() =>
                    modals.open({
                      title: `Tokens of ${user.username}`,
                      size: 'xl',
                      children: <Tokens user={user.username} />,
                    })
                  }
                >
                  Tokens…
                </Menu.Item>
                <Menu.Item
                  onClick={() =>
                    modals.open({
                      title: `Limits of ${user.username}`,
                      children: <ServiceAccountLimits username={user.username} />,
                    })
                  }
                >
                  Limits…
                </Menu.Item>
              </>
            )}
            {user.login_type === 'password' && (
              <Menu.Item
                onClick={() =>
                  modals.open({ title: `Reset password of ${user.username}`, children: <ResetPassword user={user} /> })
                }
              >
                Reset password…
              </Menu.Item>
            )}
            {user.status !== 'suspended' && user.id !== self?.id && (
              <Menu.Item
                onClick={() =>
                  confirm({
                    title: `Suspend ${user.username}?`,
                    warning: 'The user is signed out and cannot sign in until activated. Workspaces keep running.',
                    action: 'Suspend',
                    onConfirm: () => suspend.mutate(),
                  })
                }
              >
                Suspend…
              </Menu.Item>
            )}
            {user.status !== 'active' && <Menu.Item onClick={() => activate.mutate()}>Activate</Menu.Item>}
            {user.id !== self?.id && (
              <Menu.Item
                c="var(--mantine-color-red-text)"
                onClick={() =>
                  confirmByName({
                    title: `Delete ${user.username}?`,
                    warning:
                      'Deletes the user with all sessions, tokens and the SSH key. A user who owns workspaces cannot be deleted: delete the workspaces first.',
                    name: user.username,
                    action: 'Delete user',
                    onConfirm: () => remove.mutate(),
                  })
                }
              >
                Delete…
              </Menu.Item>
            )}
          </>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}

function EditRoles({ user }: { user: User }) {
  const client = useQueryClient();
  const roles = useQuery({ queryKey: ['site-roles'], queryFn: () => api.get('/users/roles') });
  const [chosen, setChosen] = useState(() => user.roles.map((role) => role.name));
  const save = useMutation({
    mutationFn: () => api.put('/users/{user}/roles', { path: { user: user.id }, body: { roles: chosen } }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['users'] });
      modals.closeAll();
    },
  });
  if (roles.isPending) return <Loading />;
  return (
    <Form
      error={roles.error ?? save.error}
      onSubmit={() => {
        save.mutate();
      }}
    >
      <Stack>
        <ErrorAlert error={roles.error ?? save.error} />
        <Text size="sm">
          These roles apply to the whole deployment. Assign organization roles on the members page of the organization.
        </Text>
        <Checkbox.Group value={chosen} onChange={setChosen} label="Roles">
          <Stack gap="xs" mt="xs">
            {roles.data
              ?.filter((role) => role.name !== 'member')
              .map((role) => (
                <Checkbox
                  key={role.name}
                  value={role.name}
                  label={role.display_name || role.name}
                  disabled={!role.assignable}
                />
              ))}
          </Stack>
        </Checkbox.Group>
        <Button type="submit" loading={save.isPending}>
          Save
        </Button>
      </Stack>
    </Form>
  );
}

function ResetPassword({ user }: { user: User }) {
  const [password, setPassword] = useState('');
  const save = useMutation({
    mutationFn: () =>
      api.put('/users/{user}/password', { path: { user: user.id }, body: { password, old_password: '' } }),
    onSuccess: () => {
      notifySuccess(`Password of ${user.username} reset. All sessions were signed out.`);
      modals.closeAll();
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
        <ErrorAlert error={save.error} />
        <PasswordInput
          data-autofocus
          label="New password"
          description="Share it with the user over a secure channel."
          required
          autoComplete="new-password"
          value={password}
          onChange={(e) => setPassword(e.currentTarget.value)}
          error={getFieldError(save.error, 'password')}
        />
        <Button type="submit" loading={save.isPending}>
          Reset password
        </Button>
      </Stack>
    </Form>
  );
}
