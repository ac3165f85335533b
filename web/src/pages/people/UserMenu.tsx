import { ActionIcon, Button, Checkbox, Menu, PasswordInput, Stack, Text } from '@mantine/core';
import { IconDotsVertical } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { api } from '../../api/client';
import { usePermissions } from '../../api/permissions';
import { me } from '../../api/queries';
import { Loading } from '../../parts/Loading';
import { Refusal, fieldError } from '../../parts/Refusal';
import { complain, confirmByName, praise } from '../../parts/confirm';
import type { User } from './List';
import { modals } from '../../parts/dialogs';

/** What one may do to a user. */
export function UserMenu({ u }: { u: User }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const may = usePermissions();
  const { data: self } = useQuery(me);
  const path = { user: u.id };
  const done = (message: string) => async () => {
    await client.invalidateQueries({ queryKey: ['users'] });
    praise(message);
  };
  const suspend = useMutation({
    mutationFn: () => api.put('/users/{user}/status/suspend', { path }),
    onSuccess: done(`${u.username} is suspended: sessions, connections and tokens have ended`),
    onError: complain,
  });
  const activate = useMutation({ mutationFn: () => api.put('/users/{user}/status/activate', { path }), onSuccess: done(`${u.username} is active`), onError: complain });
  const remove = useMutation({ mutationFn: () => api.delete('/users/{user}', { path }), onSuccess: done(`${u.username} is deleted`), onError: complain });
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={`Actions for ${u.username}`}>
          <IconDotsVertical size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => navigate({ to: '/workspaces', search: { q: `owner:${u.username}` } })}>
          Workspaces
        </Menu.Item>
        {may.readAudit && (
          <Menu.Item onClick={() => navigate({ to: '/audit', search: { q: `username:${u.username}` } })}>
            What they did
          </Menu.Item>
        )}
        {may.createUser && (
          <>
            <Menu.Divider />
            <Menu.Item onClick={() => modals.open({ title: `Roles of ${u.username}`, children: <Roles u={u} /> })}>Roles …</Menu.Item>
            {u.login_type === 'password' && (
              <Menu.Item onClick={() => modals.open({ title: `New password for ${u.username}`, children: <Reset u={u} /> })}>Reset password …</Menu.Item>
            )}
            {u.status !== 'suspended' && u.id !== self?.id && <Menu.Item onClick={() => suspend.mutate()}>Suspend</Menu.Item>}
            {u.status !== 'active' && <Menu.Item onClick={() => activate.mutate()}>Activate</Menu.Item>}
            {u.id !== self?.id && (
              <Menu.Item
                c="var(--mantine-color-red-text)"
                onClick={() =>
                  confirmByName({
                    title: `Delete ${u.username}?`,
                    lost: 'The user, with their sessions, tokens and SSH key. Users who still have workspaces cannot be deleted; delete or hand over those first.',
                    name: u.username,
                    verb: 'Delete',
                    onYes: () => remove.mutate(),
                  })
                }
              >
                Delete …
              </Menu.Item>
            )}
          </>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}

function Roles({ u }: { u: User }) {
  const client = useQueryClient();
  const roles = useQuery({ queryKey: ['site-roles'], queryFn: () => api.get('/users/roles') });
  const [chosen, setChosen] = useState(() => u.roles.map((r) => r.name));
  const save = useMutation({
    mutationFn: () => api.put('/users/{user}/roles', { path: { user: u.id }, body: { roles: chosen } }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['users'] });
      modals.closeAll();
    },
  });
  if (roles.isPending) return <Loading />;
  return (
    <form
      onSubmit={(e: FormEvent) => {
        e.preventDefault();
        save.mutate();
      }}
    >
      <Stack>
        <Refusal error={roles.error ?? save.error} />
        <Text size="sm">Roles of the whole deployment. Those of an organization are given on its page.</Text>
        <Checkbox.Group value={chosen} onChange={setChosen} label="Roles">
          <Stack gap="xs" mt="xs">
            {roles.data?.filter((r) => r.name !== 'member').map((r) => <Checkbox key={r.name} value={r.name} label={r.display_name || r.name} disabled={!r.assignable} />)}
          </Stack>
        </Checkbox.Group>
        <Button type="submit" loading={save.isPending}>
          Save
        </Button>
      </Stack>
    </form>
  );
}

function Reset({ u }: { u: User }) {
  const [password, setPassword] = useState('');
  const save = useMutation({
    mutationFn: () => api.put('/users/{user}/password', { path: { user: u.id }, body: { password, old_password: '' } }),
    onSuccess: () => {
      praise(`${u.username} has a new password; their sessions have ended`);
      modals.closeAll();
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
        <Refusal error={save.error} />
        <PasswordInput
          data-autofocus
          label="New password"
          description="Tell it to them in a safe way."
          required
          autoComplete="new-password"
          value={password}
          onChange={(e) => setPassword(e.currentTarget.value)}
          error={fieldError(save.error, 'password')}
        />
        <Button type="submit" loading={save.isPending}>
          Set password
        </Button>
      </Stack>
    </form>
  );
}
