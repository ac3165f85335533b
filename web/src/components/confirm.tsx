import { Button, Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Confirmation } from './ConfirmByName';
import { modals, notifications } from './dialogs';
import { earlyComponent } from './lazyComponent';

const ConfirmByName = earlyComponent(() => import('./ConfirmByName'));
const Secret = earlyComponent(() => import('./Secret'));

/** Shows an error notification until the user closes it. */
export const notifyError = (error: Error) =>
  notifications.show({ color: 'red', title: 'Request failed', message: error.message, autoClose: false });

/** Shows a success notification. */
export const notifySuccess = (message: string) => notifications.show({ message });

/** Shows a success notification with a button that reverts the action. */
export function notifyUndo(message: string, undo: () => void): void {
  undone += 1;
  const id = `undo-${undone}`;
  const click = () => {
    notifications.hide(id);
    undo();
  };
  notifications.show({
    id,
    autoClose: 10_000,
    message: (
      <Group justify="space-between" gap="xs" wrap="nowrap">
        <span>{message}</span>
        <Button size="compact-sm" variant="light" onClick={click}>
          Undo
        </Button>
      </Group>
    ),
  });
}

let undone = 0;

interface Question {
  title: string;
  /** What the action does. */
  warning: ReactNode;
  /** The label of the confirm button. */
  action: string;
  destructive?: boolean;
  onConfirm: () => void;
}

/** Asks the user to confirm an action that can be undone or repeated. */
export function confirm({ title, warning, action, destructive, onConfirm }: Question): void {
  modals.openConfirmModal({
    title,
    children: typeof warning === 'string' ? <Text size="sm">{warning}</Text> : warning,
    labels: { confirm: action, cancel: 'Cancel' },
    confirmProps: destructive ? { color: 'red' } : undefined,
    onConfirm,
  });
}

/** Asks the user to type a name to confirm a destructive action. */
export function confirmByName(confirmation: Confirmation): void {
  modals.open({ title: confirmation.title, children: <ConfirmByName {...confirmation} /> });
}

/** Displays a secret once. */
export function showSecret(title: string, secret: string, hint: ReactNode): void {
  modals.open({ title, size: 'lg', closeOnClickOutside: false, children: <Secret secret={secret} hint={hint} /> });
}
