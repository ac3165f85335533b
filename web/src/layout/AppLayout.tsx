import { Alert, Text, VisuallyHidden, isLightColor, useMantineColorScheme } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconChevronDown, IconMenu2, IconWifiOff, IconX } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import { Suspense, useEffect, useRef } from 'react';
import { newVersionQuery } from '../api/newVersion';
import { useConnectionLost } from '../api/live';
import { usePermissions } from '../api/permissions';
import { appearance, refreshSession, me } from '../api/queries';
import { onTabMessage, useSessionEnded } from '../api/session';
import { CrashAlert, NewVersionAlert } from '../components/CrashAlert';
import { ErrorBoundary } from '../components/ErrorBoundary';
import { Loading } from '../components/Loading';
import { Picture } from '../components/Picture';
import { PopupButton } from '../components/PopupButton';
import { earlyComponent, lazyComponent } from '../components/lazyComponent';
import plain from '../components/plain.module.css';
import { useDocumentDensity } from '../lib/density';
import { PaletteButton } from '../palette/PaletteButton';
import { NotificationBell } from '../notifications/NotificationBell';
import { Logo } from './Logo';
import { RegionMenu } from './RegionMenu';
import layout from './layout.module.css';
import { navigationItems } from './navigation';

const Ended = lazyComponent(() => import('./SessionEnded'));

const UserMenu = earlyComponent(() => import('./UserMenu'));

function NavigationLinks({ onGo }: { onGo?: () => void }) {
  const may = usePermissions();
  const path = useRouterState({ select: (s) => s.location.pathname });
  return navigationItems
    .filter((p) => !p.needs || may[p.needs])
    .map((p) => {
      const here = path.startsWith(p.to);
      return (
        <Link
          key={p.to}
          to={p.to}
          onClick={onGo}
          className={`${plain.button} ${here ? plain.light : plain.subtle}`}
          aria-current={here ? 'page' : undefined}
        >
          <span className={plain.label}>{p.label}</span>
        </Link>
      );
    });
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
function FocusAfterNavigation() {
  const path = useRouterState({ select: (s) => s.resolvedLocation?.pathname });
  const seen = useRef<string>(undefined);
  useEffect(() => {
    const first = seen.current === undefined;
    seen.current = path;
    if (!first && document.activeElement === document.body)
      document.getElementById('main')?.focus({ preventScroll: true });
  }, [path]);
  return null;
}

/** Applies what the user has chosen to the document. */
function Preferences({ theme }: { theme: string }) {
  const { setColorScheme } = useMantineColorScheme();
  useEffect(() => {
    if (theme === 'light' || theme === 'dark' || theme === 'auto') setColorScheme(theme);
  }, [theme, setColorScheme]);
  useDocumentDensity();
  return null;
}

/** The layout of every page that needs a session. */
export default function AppLayout() {
  const [open, { toggle, close }] = useDisclosure();
  const { data: user } = useQuery(me);
  const ended = useSessionEnded();
  useEffect(() => onTabMessage(refreshSession), []);
  if (!user) return <Loading />;
  return (
    <>
      <Preferences theme={user.theme_preference} />
      <FocusAfterNavigation />
      <a className="skip" href="#main">
        Skip to content
      </a>
      <header className={`${layout.header} right-scroll-bar-position`}>
        <div className={layout.start}>
          <button
            type="button"
            className={`${plain.icon} ${plain.subtle} mantine-hidden-from-sm`}
            onClick={toggle}
            aria-label="Menu"
            aria-expanded={open}
          >
            {open ? <IconX size={20} /> : <IconMenu2 size={20} />}
          </button>
          <Link to="/workspaces" aria-label="Coder, go to workspaces">
            <Logo />
          </Link>
          <nav className={`${layout.navigation} mantine-visible-from-sm`} aria-label="Main">
            <NavigationLinks />
          </nav>
        </div>
        <div className={layout.end}>
          <PaletteButton />
          <RegionMenu />
          <NotificationBell />
          <PopupButton popup={UserMenu} popupProps={{ user }} className={`${plain.bare} ${layout.user}`}>
            <VisuallyHidden>{`Account menu of ${user.username}`}</VisuallyHidden>
            <Picture
              hidden
              size={30}
              src={user.avatar_url}
              name={user.name || user.username}
              className={`${plain.round} ${plain.brand}`}
            />
            <IconChevronDown size={14} />
          </PopupButton>
        </div>
      </header>
      {open && (
        <nav className={`${layout.menu} mantine-hidden-from-sm`} aria-label="Menu">
          <NavigationLinks onGo={close} />
        </nav>
      )}
      {ended && (
        <ErrorBoundary fallback={(error, retry) => <CrashAlert error={error} onRetry={retry} />}>
          <Suspense>
            <Ended />
          </Suspense>
        </ErrorBoundary>
      )}
      <main id="main" className={layout.main} tabIndex={-1}>
        <AnnouncementBanners />
        <ConnectionAlert />
        <Suspense fallback={<Loading />}>
          <Outlet />
        </Suspense>
      </main>
    </>
  );
}
