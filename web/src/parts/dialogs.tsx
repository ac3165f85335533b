// Dialogs and notices. What shows them is loaded when the first is asked for.

import { Suspense, lazy, useSyncExternalStore } from 'react';
import { leaveMenu } from './focus';

const load = () => import('./Overlays');
const Overlays = lazy(load);

let wanted = false;
let shown: () => void = () => undefined;
const there = new Promise<void>((resolve) => {
  shown = resolve;
});
const watchers = new Set<() => void>();

/** Does something with the dialogs and notices once they are there. */
function withOverlays(act: (o: Awaited<ReturnType<typeof load>>) => void): void {
  if (!wanted) {
    wanted = true;
    for (const w of watchers) w();
  }
  void Promise.all([load(), there]).then(([o]) => act(o));
}

type Modals = Awaited<ReturnType<typeof load>>['modals'];
type Notifications = Awaited<ReturnType<typeof load>>['notifications'];

/** Opens a dialog; the keyboard is back at where it was opened from when it closes. */
function openDialog(act: (o: Awaited<ReturnType<typeof load>>) => void): void {
  leaveMenu();
  withOverlays(act);
}

/** Opens and closes dialogs. */
export const modals = {
  open: (p: Parameters<Modals['open']>[0]): void => openDialog((o) => o.modals.open(p)),
  openConfirmModal: (p: Parameters<Modals['openConfirmModal']>[0]): void => openDialog((o) => o.modals.openConfirmModal(p)),
  closeAll: (): void => withOverlays((o) => o.modals.closeAll()),
};

/** Shows notices. */
export const notifications = {
  show: (p: Parameters<Notifications['show']>[0]): void => withOverlays((o) => o.notifications.show(p)),
};

const watch = (each: () => void) => {
  watchers.add(each);
  return () => watchers.delete(each);
};

/** Where dialogs and notices are shown. */
export function Dialogs() {
  const on = useSyncExternalStore(watch, () => wanted);
  if (!on) return null;
  return (
    <Suspense>
      <Overlays onShown={shown} />
    </Suspense>
  );
}
