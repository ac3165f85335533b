import { Button, Checkbox, Stack, Text, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { modals, notifications } from './dialogs';

/** Says that something did not work, until it is closed. */
export const complain = (error: Error) => notifications.show({ color: 'red', title: 'That did not work', message: error.message, autoClose: false });

/** Says that something worked. */
export const praise = (message: string) => notifications.show({ message });

interface Destruction {
  title: string;
  /** What is lost. */
  lost: ReactNode;
  /** What has to be typed. */
  name: string;
  /** The word on the button. */
  verb: string;
  /** Something that may be asked for with it. */
  option?: { label: string; description: string };
  onYes: (option: boolean) => void;
}

/** Asks for the name of what is about to be destroyed. */
export function confirmByName(d: Destruction): void {
  modals.open({ title: d.title, children: <ByName {...d} /> });
}

function ByName({ lost, name, verb, option, onYes }: Destruction) {
  const [typed, setTyped] = useState('');
  const [chosen, setChosen] = useState(false);
  return (
    <form
      onSubmit={(e) => {
        e.preventDefault();
        if (typed !== name) return;
        modals.closeAll();
        onYes(chosen);
      }}
    >
      <Stack>
        <Text size="sm">{lost}</Text>
        <TextInput data-autofocus autoComplete="off" label={`Type ${name} to go on`} value={typed} onChange={(e) => setTyped(e.currentTarget.value)} />
        {option && <Checkbox {...option} checked={chosen} onChange={(e) => setChosen(e.currentTarget.checked)} />}
        <Button type="submit" color="red" disabled={typed !== name}>
          {verb}
        </Button>
      </Stack>
    </form>
  );
}

/** Shows a secret that is shown this once. */
export function showSecret(title: string, secret: string, hint: ReactNode): void {
  modals.open({ title, size: 'lg', closeOnClickOutside: false, children: <Secret secret={secret} hint={hint} /> });
}

function Secret({ secret, hint }: { secret: string; hint: ReactNode }) {
  const [copied, setCopied] = useState(false);
  return (
    <Stack>
      <Text size="sm">{hint} It is shown this once; nobody can read it later.</Text>
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
