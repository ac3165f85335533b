import '@mantine/notifications/styles.css';
import { ModalsProvider } from '@mantine/modals';
import { Notifications } from '@mantine/notifications';
import { useEffect } from 'react';

export { modals } from '@mantine/modals';
export { notifications } from '@mantine/notifications';

/** Shows dialogs and notices. */
export default function Overlays({ onShown }: { onShown: () => void }) {
  useEffect(onShown, [onShown]);
  return (
    <ModalsProvider>
      <Notifications position="bottom-right" />
    </ModalsProvider>
  );
}
