import {
  Alert,
  AppShell,
  Avatar,
  Burger,
  Button,
  Group,
  Menu,
  Text,
  UnstyledButton,
  VisuallyHidden,
  isLightColor,
  useComputedColorScheme,
  useMantineColorScheme,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconChevronDown, IconLogout, IconMoon, IconSettings, IconSun, IconWifiOff } from '@tabler/icons-react';
import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import { Suspense, useEffect, useRef } from 'react';
import { api } from '../api/client';
import { newVersionQuery } from '../api/newVersion';
import { useConnectionLost } from '../api/live';
import { usePermissions } from '../api/permissions';
import { appearance, buildInfo, refreshSession, me } from '../api/queries';
import { onTabMessage, notifyTabs, useSessionEnded } from '../api/session';
import { CrashAlert, NewVersionAlert } from '../components/CrashAlert';
import { ErrorBoundary } from '../components/ErrorBoundary';
import { Loading } from '../components/Loading';
import { lazyComponent } from '../components/lazyComponent';
import { useDocumentDensity } from '../lib/density';
import { PaletteButton } from '../palette/PaletteButton';
import { NotificationBell } from '../notifications/NotificationBell';
import { Logo } from './Logo';
import { RegionMenu } from './RegionMenu';
import { navigationItems } from './navigation';

const Ended = lazyComponent(() => import('./SessionEnded'));

function NavigationLinks({ onGo }: { onGo?: () => void }) {
  const may = usePermissions();
  const path = useRouterState({ select: (s) => s.location.pathname });
  return navigationItems
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

function UserMenu() {
  const { data } = useSuspenseQuery(me);
  const { setColorScheme } = useMantineColorScheme();
  const dark = useComputedColorScheme() === 'dark';
  const signOut = async () => {
    // The next user of this browser may be another.
    await import('../notifications/browser').then((browser) => browser.unsubscribe()).catch(() => undefined);
    await api.post('/users/logout');
    notifyTabs();
    location.assign('/login'); // a full page load clears everything in memory
  };
  if (!data) return null;
  return (
    <Menu position="bottom-end" width={230}>
      <Menu.Target>
        <UnstyledButton>
          <VisuallyHidden>{`Account menu of ${data.username}`}</VisuallyHidden>
          <Group gap={6} wrap="nowrap" aria-hidden>
            <Avatar
              size={30}
              radius="xl"
              src={data.avatar_url || null}
              name={data.name || data.username}
              color="brand"
            />
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
          {dark ? 'Light' : 'Dark'} mode
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item leftSection={<IconLogout size={16} />} onClick={signOut}>
          Sign out
        </Menu.Item>
        <Menu.Divider />
        <Version />
      </Menu.Dropdown>
    </Menu>
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

/** Warns that the page may be stale while the connection to the server is lost, and after an upgrade. */
function ConnectionAlert() {
  const lost = useConnectionLost();
  const { data: outdated, refetch: checkVersion } = useQuery(newVersionQuery);
  useEffect(() => {
    if (!lost) return;
    refreshSession(); // the session may have ended
    return () => void checkVersion(); // the server may have been upgraded
  }, [lost, checkVersion]);
  if (outdated) return <NewVersionAlert />;
  if (!lost) return null;
  return (
    <Alert color="yellow" variant="light" radius={0} py={6} icon={<IconWifiOff size={16} />} role="status">
      Connection to the server lost. This page may be out of date and refreshes when the connection is back.
    </Alert>
  );
}

function AnnouncementBanners() {
  const { data } = useQuery(appearance);
  return data?.announcement_banners
    ?.filter((banner) => banner.enabled && banner.message)
    .map((banner) => (
      <Text
        key={banner.message}
        ta="center"
        size="sm"
        py={4}
        px="md"
        c={banner.background_color ? (isLightColor(banner.background_color) ? 'black' : 'white') : undefined}
        bg={banner.background_color || undefined}
      >
        {banner.message}
      </Text>
    ));
}

/** Moves the focus to the content after a navigation, unless the page moved it already. */
function useFocusAfterNavigation() {
  const path = useRouterState({ select: (s) => s.resolvedLocation?.pathname });
  const seen = useRef<string>(undefined);
  useEffect(() => {
    const first = seen.current === undefined;
    seen.current = path;
    if (!first && document.activeElement === document.body)
      document.getElementById('main')?.focus({ preventScroll: true });
  }, [path]);
}

/** The layout of every page that needs a session. */
export default function AppLayout() {
  const [open, { toggle, close }] = useDisclosure();
  const { data: user } = useQuery(me);
  const ended = useSessionEnded();
  const theme = user?.theme_preference;
  const { setColorScheme } = useMantineColorScheme();
  useEffect(() => {
    if (theme === 'light' || theme === 'dark' || theme === 'auto') setColorScheme(theme);
  }, [theme, setColorScheme]);
  useEffect(() => onTabMessage(refreshSession), []);
  useFocusAfterNavigation();
  useDocumentDensity();
  if (!user) return <Loading />;
  return (
    <AppShell
      header={{ height: 52 }}
      navbar={{ width: 240, breakpoint: 'sm', collapsed: { desktop: true, mobile: !open } }}
      padding={0}
    >
      <a className="skip" href="#main">
        Skip to content
      </a>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="md" wrap="nowrap">
            <Burger opened={open} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Menu" />
            <Link to="/workspaces" aria-label="Coder, go to workspaces">
              <Logo />
            </Link>
            <Group component="nav" aria-label="Main" gap={4} visibleFrom="sm" wrap="nowrap">
              <NavigationLinks />
            </Group>
          </Group>
          <Group gap="xs" wrap="nowrap">
            <PaletteButton />
            <RegionMenu />
            <NotificationBell />
            <UserMenu />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="sm" component="nav" aria-label="Menu">
        {open && <NavigationLinks onGo={close} />}
      </AppShell.Navbar>
      {ended && (
        <ErrorBoundary fallback={(error, retry) => <CrashAlert error={error} onRetry={retry} />}>
          <Suspense>
            <Ended />
          </Suspense>
        </ErrorBoundary>
      )}
      <AppShell.Main id="main" tabIndex={-1}>
        <AnnouncementBanners />
        <ConnectionAlert />
        <Suspense fallback={<Loading />}>
          <Outlet />
        </Suspense>
      </AppShell.Main>
    </AppShell>
  );
}
