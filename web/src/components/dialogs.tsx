// Dialogs and notifications. The code that renders them is loaded on first use.

import { CloseButton, Group, Paper } from '@mantine/core';
import { Suspense, useSyncExternalStore } from 'react';
import { CrashAlert } from './CrashAlert';
import { ErrorBoundary } from './ErrorBoundary';
import { focusMenuButton } from './focus';
import { earlyComponent } from './lazyComponent';
import type { OverlayActions } from './Overlays';

const Overlays = earlyComponent(() => import('./Overlays'));

let requested = false;
let mounted: OverlayActions | undefined;
let waiting: ((actions: OverlayActions) => void)[] = [];
const watchers = new Set<() => void>();

function setRequested(to: boolean): void {
  if (requested === to) return;
  requested = to;
  for (const w of watchers) w();
}

/** Runs what was requested before the overlays were mounted. The returned function makes new requests wait again. */
function markMounted(actions: OverlayActions): () => void {
  mounted = actions;
  const all = waiting;
  waiting = [];
  for (const act of all) act(actions);
  return () => {
    mounted = undefined;
  };
}

/** Runs act once the overlays are mounted. */
function withOverlays(act: (actions: OverlayActions) => void): void {
  if (mounted) return act(mounted);
  waiting.push(act);
  setRequested(true);
}

/** Opens a dialog. Closing it returns the focus to the element that opened it. */
function openDialog(act: (actions: OverlayActions) => void): void {
  focusMenuButton();
  withOverlays(act);
}

type Modals = OverlayActions['modals'];
type Notifications = OverlayActions['notifications'];

/** Opens and closes dialogs. Stands in for Mantine's modals until they are loaded. Closing does not load them. */
export const modals = {
  open: (p: Parameters<Modals['open']>[0]): void => openDialog((o) => o.modals.open(p)),
  openConfirmModal: (p: Parameters<Modals['openConfirmModal']>[0]): void =>
    openDialog((o) => o.modals.openConfirmModal(p)),
  closeAll: (): void => {
    if (requested) withOverlays((o) => o.modals.closeAll());
  },
};

/** Shows notifications. Stands in for Mantine's notifications until they are loaded. */
export const notifications = {
  show: (p: Parameters<Notifications['show']>[0]): void => withOverlays((o) => o.notifications.show(p)),
  hide: (id: string): void => withOverlays((o) => o.notifications.hide(id)),
};

const subscribe = (each: () => void) => {
  watchers.add(each);
  return () => watchers.delete(each);
};

/** Mounts dialogs and notifications once one is requested. */
export function Dialogs() {
  const on = useSyncExternalStore(subscribe, () => requested);
  if (!on) return null;
  return (
    <ErrorBoundary fallback={(error, retry) => <DialogsFailed error={error} onRetry={retry} />}>
      <Suspense>
        <Overlays onMount={markMounted} />
      </Suspense>
    </ErrorBoundary>
  );
}

/** Takes the place of a dialog or notification whose code could not be loaded. */
function DialogsFailed({ error, onRetry }: { error: Error; onRetry: () => void }) {
  const dismiss = () => {
    waiting = [];
    setRequested(false);
  };
  return (
    <Paper
      pos="fixed"
      bottom={16}
      right={16}
      left={{ base: 16, sm: 'auto' }}
      maw={480}
      shadow="lg"
      withBorder
      style={{ zIndex: 400 }}
    >
      <Group gap={0} wrap="nowrap" align="flex-start">
        <CrashAlert error={error} onRetry={onRetry} />
        <CloseButton m={8} aria-label="Close" onClick={dismiss} />
      </Group>
    </Paper>
  );
}
