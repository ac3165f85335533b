import { Box, Tabs } from '@mantine/core';
import { type ReactNode, Suspense, useLayoutEffect, useRef, useState } from 'react';
import type { PermissionState } from '../api/permissions';
import { CrashAlert } from './CrashAlert';
import { ErrorBoundary } from './ErrorBoundary';
import { Loading } from './Loading';
import { Refusal } from './Refusal';

interface Props<T extends string> {
  /** The tabs that the user has access to. */
  tabs: readonly { tab: T; title: string }[];
  value: T;
  onGo: (tab: T) => void;
  show: (tab: T) => ReactNode;
  /** The permissions that decide which tabs are listed. Absent on a page with the same tabs for all users. */
  permissions?: PermissionState;
  /** What the other tabs need, such as "the role Template Admin". Absent on a page that refuses no tab. */
  needs?: string;
}

/** The tabs of a page. Only the selected one is mounted. */
export function PageTabs<T extends string>({ tabs, value, onGo, show, permissions, needs }: Props<T>) {
  const loading = permissions !== undefined && !permissions.known && !permissions.error;
  const allowed = tabs.some((t) => t.tab === value);
  const list = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const tab = list.current?.querySelector<HTMLElement>('[aria-selected=true]');
    if (list.current && tab)
      list.current.scrollLeft = tab.offsetLeft - (list.current.clientWidth - tab.offsetWidth) / 2;
  }, [value, tabs.length]);
  return (
    <Tabs value={value} onChange={(tab) => tab && onGo(tab as T)} keepMounted={false}>
      <Tabs.List
        ref={list}
        mb="md"
        style={{
          position: 'relative', // the offsets of tabs are in it
          flexWrap: 'nowrap',
          overflowX: 'auto',
          overflowY: 'hidden',
          visibility: loading ? 'hidden' : undefined, // a tab that appears would move those after it
        }}
      >
        {tabs.map((t) => (
          <Tabs.Tab key={t.tab} value={t.tab} style={{ flexShrink: 0 }}>
            {t.title}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {permissions?.error && (
        <Box mb="md">
          <CrashAlert error={permissions.error} onRetry={permissions.retry} />
        </Box>
      )}
      <Tabs.Panel key={value} value={value}>
        <Guard allowed={allowed} permissions={permissions} needs={needs}>
          <ErrorBoundary fallback={(error, retry) => <CrashAlert error={error} onRetry={retry} />}>
            <Suspense fallback={<Loading />}>{show(value)}</Suspense>
          </ErrorBoundary>
        </Guard>
      </Tabs.Panel>
    </Tabs>
  );
}

interface GuardProps {
  allowed: boolean;
  permissions?: PermissionState;
  needs?: string;
  children: ReactNode;
}

/** Shows a tab to users with access. A user who loses it keeps the unsaved input. */
function Guard({ allowed, permissions, needs, children }: GuardProps) {
  const [opened, setOpened] = useState(allowed);
  if (allowed && !opened) setOpened(true);
  if (opened) return children;
  if (permissions?.error) return null; // the alert above explains it
  if (permissions && !permissions.known) return <Loading />;
  return needs === undefined ? children : <Refusal needs={needs} />;
}
