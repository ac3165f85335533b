import '@mantine/notifications/styles.css';
import { ModalsProvider, modals } from '@mantine/modals';
import { Notifications, notifications } from '@mantine/notifications';
import { useEffect } from 'react';

const actions = { modals, notifications };

/** Opens and closes dialogs and notifications while they are mounted. */
export type OverlayActions = typeof actions;

/** Renders dialogs and notifications. */
export default function Overlays({ onMount }: { onMount: (actions: OverlayActions) => () => void }) {
  useEffect(() => onMount(actions), [onMount]);
  return (
    <ModalsProvider>
      <Notifications position="bottom-right" />
    </ModalsProvider>
  );
}
