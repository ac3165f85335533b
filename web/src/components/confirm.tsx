import { Button, Checkbox, Group, Stack, Text, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { modals, notifications } from './dialogs';
import { Form } from './Form';

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

interface Confirmation {
  title: string;
  /** What the action deletes. */
  warning: ReactNode;
  /** The name that must be typed to confirm. */
  name: string;
  /** The label of the confirm button. */
  action: string;
  /** An optional checkbox. */
  option?: { label: string; description: string };
  onConfirm: (option: boolean) => void;
}

/** Asks the user to type a name to confirm a destructive action. */
export function confirmByName(confirmation: Confirmation): void {
  modals.open({ title: confirmation.title, children: <ConfirmByName {...confirmation} /> });
}

function ConfirmByName({ warning: lost, name, action: verb, option, onConfirm: onYes }: Confirmation) {
  const [typed, setTyped] = useState('');
  const [chosen, setChosen] = useState(false);
  return (
    <Form
      error={null}
      onSubmit={() => {
        if (typed !== name) return;
        modals.closeAll();
        onYes(chosen);
      }}
    >
      <Stack>
        <Text size="sm" component="div">
          {lost}
        </Text>
        <TextInput
          data-autofocus
          autoComplete="off"
          label={`Type ${name} to confirm`}
          value={typed}
          onChange={(e) => setTyped(e.currentTarget.value)}
        />
        {option && <Checkbox {...option} checked={chosen} onChange={(e) => setChosen(e.currentTarget.checked)} />}
        <Button type="submit" color="red" disabled={typed !== name}>
          {verb}
        </Button>
      </Stack>
    </Form>
  );
}

/** Displays a secret once. */
export function showSecret(title: string, secret: string, hint: ReactNode): void {
  modals.open({ title, size: 'lg', closeOnClickOutside: false, children: <Secret secret={secret} hint={hint} /> });
}

function Secret({ secret, hint }: { secret: string; hint: ReactNode }) {
  const [copied, setCopied] = useState(false);
  return (
    <Stack>
      <Text size="sm">{hint} Copy it now: it is not shown again.</Text>
      <TextInput
        readOnly
        data-autofocus
        label="Secret"
        value={secret}
        onFocus={(e) => e.currentTarget.select()}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
      />
      <Button
        onClick={async () => {
          await navigator.clipboard.writeText(secret);
          setCopied(true);
        }}
      >
        {copied ? 'Copied' : 'Copy'}
      </Button>
    </Stack>
  );
}
