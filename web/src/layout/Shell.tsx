import { Alert, Anchor, AppShell, Avatar, Burger, Button, Group, Menu, Text, UnstyledButton, VisuallyHidden, isLightColor, useMantineColorScheme } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconChevronDown, IconLogout, IconMoon, IconSettings, IconSun, IconWifiOff } from '@tabler/icons-react';
import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import { Suspense, lazy, useEffect, useRef } from 'react';
import { api } from '../api/client';
import { useLost } from '../api/live';
import { type Permission, usePermissions } from '../api/permissions';
import { appearance, buildInfo, lookAgain, me } from '../api/queries';
import { hearTabs, tellTabs, useEnded } from '../api/session';
import { Loading } from '../parts/Loading';
import { Mark } from './Mark';
import { Regions } from './Regions';

const Ended = lazy(() => import('./Ended'));

const places: { label: string; to: string; needs?: Permission }[] = [
  { label: 'Workspaces', to: '/workspaces' },
  { label: 'Templates', to: '/templates' },
  { label: 'Organizations', to: '/organizations' },
  { label: 'Users', to: '/users', needs: 'readUsers' },
  { label: 'Audit', to: '/audit', needs: 'readAudit' },
  { label: 'Deployment', to: '/deployment', needs: 'readDeployment' },
];

function Places({ onGo }: { onGo?: () => void }) {
  const may = usePermissions();
  const path = useRouterState({ select: (s) => s.location.pathname });
  return places
    .filter((p) => !p.needs || may[p.needs])
    .map((p) => {
      const here = path.startsWith(p.to);
      return (
        <Button
          key={p.to}
          component={Link}
          to={p.to}
          onClick={onGo}
          variant={here ? 'light' : 'subtle'}
          color={here ? undefined : 'gray'}
          justify="flex-start"
          size="sm"
          aria-current={here ? 'page' : undefined}
        >
          {p.label}
        </Button>
      );
    });
}

function Person() {
  const { data } = useSuspenseQuery(me);
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const logOut = async () => {
    await api.post('/users/logout');
    tellTabs();
    location.assign('/login'); // a new page: nothing that was read stays in memory
  };
  if (!data) return null;
  const dark = colorScheme === 'dark';
  return (
    <Menu position="bottom-end" width={230}>
      <Menu.Target>
        <UnstyledButton>
          <VisuallyHidden>{`Account of ${data.username}`}</VisuallyHidden>
          <Group gap={6} wrap="nowrap" aria-hidden>
            <Avatar size={30} radius="xl" src={data.avatar_url || null} name={data.name || data.username} color="brand" />
            <IconChevronDown size={14} />
          </Group>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {data.username} · {data.email}
        </Menu.Label>
        <Menu.Item leftSection={<IconSettings size={16} />} component={Link} to="/settings/account">
          Account
        </Menu.Item>
        <Menu.Item
          leftSection={dark ? <IconSun size={16} /> : <IconMoon size={16} />}
          closeMenuOnClick={false}
          onClick={() => setColorScheme(dark ? 'light' : 'dark')}
        >
          {dark ? 'Light' : 'Dark'} colours
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item leftSection={<IconLogout size={16} />} onClick={logOut}>
          Log out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

/** Says that the page is behind while the connection to the server is lost. */
function Connection() {
  const lost = useLost();
  useEffect(() => {
    if (lost) lookAgain(); // the session may be what ended it
  }, [lost]);
  if (!lost) return null;
  return (
    <Alert color="yellow" variant="light" radius={0} py={6} icon={<IconWifiOff size={16} />} role="status">
      The connection to the server is lost. What you see may be old; the page goes on by itself when the server is back.
    </Alert>
  );
}

function Announcement() {
  const { data } = useQuery(appearance);
  return data?.announcement_banners
    ?.filter((b) => b.enabled && b.message)
    .map((b) => (
      <Text key={b.message} ta="center" size="sm" py={4} px="md" c={b.background_color ? (isLightColor(b.background_color) ? 'black' : 'white') : undefined} bg={b.background_color || undefined}>
        {b.message}
      </Text>
    ));
}

/** Puts the keyboard at the content of a page that somebody goes to, unless the page put it elsewhere. */
function useFocusOnPages() {
  const path = useRouterState({ select: (s) => s.resolvedLocation?.pathname });
  const seen = useRef<string>(undefined);
  useEffect(() => {
    const first = seen.current === undefined;
    seen.current = path;
    if (!first && document.activeElement === document.body) document.getElementById('main')?.focus({ preventScroll: true });
  }, [path]);
}

/** The frame of every page of somebody who is logged in. */
export default function Shell() {
  const [open, { toggle, close }] = useDisclosure();
  const { data: person } = useQuery(me);
  const { data: build } = useQuery(buildInfo);
  const ended = useEnded();
  const theme = person?.theme_preference;
  const { setColorScheme } = useMantineColorScheme();
  useEffect(() => {
    if (theme === 'light' || theme === 'dark' || theme === 'auto') setColorScheme(theme);
  }, [theme, setColorScheme]);
  useEffect(() => hearTabs(lookAgain), []);
  useFocusOnPages();
  if (!person) return <Loading />;
  return (
    <AppShell header={{ height: 52 }} navbar={{ width: 240, breakpoint: 'sm', collapsed: { desktop: true, mobile: !open } }} padding={0}>
      <a className="skip" href="#main">
        Skip to the content
      </a>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="md" wrap="nowrap">
            <Burger opened={open} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Menu" />
            <Link to="/workspaces" aria-label="Coder, to your workspaces">
              <Mark />
            </Link>
            <Group component="nav" aria-label="Main" gap={4} visibleFrom="sm" wrap="nowrap">
              <Places />
            </Group>
          </Group>
          <Group gap="xs" wrap="nowrap">
            <Regions />
            <Person />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="sm" component="nav" aria-label="Menu">
        <Places onGo={close} />
      </AppShell.Navbar>
      {ended && (
        <Suspense>
          <Ended />
        </Suspense>
      )}
      <AppShell.Main id="main" tabIndex={-1}>
        <Announcement />
        <Connection />
        <Suspense fallback={<Loading />}>
          <Outlet />
        </Suspense>
        <Text component="footer" size="xs" c="dimmed" ta="center" py="lg">
          <Anchor size="xs" c="dimmed" href={build?.external_url || undefined}>
            Coder {build?.version}
          </Anchor>
        </Text>
      </AppShell.Main>
    </AppShell>
  );
}
