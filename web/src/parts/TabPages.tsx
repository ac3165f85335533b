import { Tabs } from '@mantine/core';
import { type ReactNode, Suspense } from 'react';
import { Loading } from './Loading';

interface Props<T extends string> {
  /** Those that one may see. */
  tabs: readonly { tab: T; title: string }[];
  value: T;
  onGo: (tab: T) => void;
  show: (tab: T) => ReactNode;
}

/** The parts of a page, one of which is shown. */
export function TabPages<T extends string>({ tabs, value, onGo, show }: Props<T>) {
  return (
    <Tabs value={value} onChange={(tab) => tab && onGo(tab as T)} keepMounted={false}>
      <Tabs.List mb="md">
        {tabs.map((t) => (
          <Tabs.Tab key={t.tab} value={t.tab}>
            {t.title}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {/* Shown before it is known which one may see: who may not is told so by the server. */}
      <Tabs.Panel key={value} value={value}>
        <Suspense fallback={<Loading />}>{show(value)}</Suspense>
      </Tabs.Panel>
    </Tabs>
  );
}
