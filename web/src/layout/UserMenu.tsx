import { Menu, useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { IconLogout, IconMoon, IconSettings, IconSun } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type Schema, api } from '../api/client';
import { buildInfo } from '../api/queries';
import { notifyTabs } from '../api/session';
import type { PopupState } from '../components/PopupButton';
import { ButtonMenu } from '../components/popups';

/** The menu of the signed-in user. */
export default function UserMenu({ user, state }: { user: Schema<'User'>; state: PopupState }) {
  const { setColorScheme } = useMantineColorScheme();
  const dark = useComputedColorScheme() === 'dark';
  const signOut = async () => {
    // The next user of this browser may be another.
    await import('../notifications/browser').then((browser) => browser.unsubscribe()).catch(() => undefined);
    await api.post('/users/logout');
    notifyTabs();
    location.assign('/login'); // a full page load clears everything in memory
  };
  return (
    <ButtonMenu state={state} position="bottom-end" width={230}>
      <Menu.Dropdown>
        <Menu.Label>
          {user.username} · {user.email}
        </Menu.Label>
        <Menu.Item leftSection={<IconSettings size={16} />} component={Link} to="/settings/account">
          Account
        </Menu.Item>
        <Menu.Item
          leftSection={dark ? <IconSun size={16} /> : <IconMoon size={16} />}
          closeMenuOnClick={false}
          onClick={() => setColorScheme(dark ? 'light' : 'dark')}
        >
          {dark ? 'Light' : 'Dark'} mode
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item leftSection={<IconLogout size={16} />} onClick={signOut}>
          Sign out
        </Menu.Item>
        <Menu.Divider />
        <Version />
      </Menu.Dropdown>
    </ButtonMenu>
  );
}

/** The version of the server, as a link to its source. */
function Version() {
  const { data: build } = useQuery(buildInfo);
  const label = `Coder ${build?.version ?? ''}`;
  if (!build?.external_url) return <Menu.Label>{label}</Menu.Label>;
  return (
    <Menu.Item component="a" href={build.external_url} fz="xs" c="dimmed">
      {label}
    </Menu.Item>
  );
}
