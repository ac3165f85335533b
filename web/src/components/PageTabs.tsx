import { Tabs } from '@mantine/core';
import { type ReactNode, Suspense, useLayoutEffect, useRef, useState } from 'react';
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
  /** The permissions are known, so that a tab that is not listed is refused. True by default. */
  known?: boolean;
  /** What the other tabs need, such as "the role Template Admin". Absent on a page that refuses no tab. */
  needs?: string;
}

/** The tabs of a page. Only the selected one is mounted. */
export function PageTabs<T extends string>({ tabs, value, onGo, show, known = true, needs }: Props<T>) {
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
          visibility: known ? undefined : 'hidden', // a tab that appears would move those after it
        }}
      >
        {tabs.map((t) => (
          <Tabs.Tab key={t.tab} value={t.tab} style={{ flexShrink: 0 }}>
            {t.title}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Tabs.Panel key={value} value={value}>
        <Guard allowed={allowed} known={known} needs={needs}>
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
  known: boolean;
  needs?: string;
  children: ReactNode;
}

/** Shows a tab to users with access. A user who loses it keeps the unsaved input. */
function Guard({ allowed, known, needs, children }: GuardProps) {
  const [opened, setOpened] = useState(allowed);
  if (allowed && !opened) setOpened(true);
  if (opened) return children;
  if (!known) return <Loading />;
  return needs === undefined ? children : <Refusal needs={needs} />;
}
