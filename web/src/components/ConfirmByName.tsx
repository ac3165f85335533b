import { Button, Checkbox, Stack, Text, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { Form } from './Form';
import { modals } from './dialogs';

/** A question that the user answers by typing a name. */
export interface Confirmation {
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

/** The content of the dialog that asks it. */
export default function ConfirmByName({ warning, name, action, option, onConfirm }: Confirmation) {
  const [typed, setTyped] = useState('');
  const [chosen, setChosen] = useState(false);
  return (
    <Form
      error={null}
      onSubmit={() => {
        if (typed !== name) return;
        modals.closeAll();
        onConfirm(chosen);
      }}
    >
      <Stack>
        <Text size="sm" component="div">
          {warning}
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
          {action}
        </Button>
      </Stack>
    </Form>
  );
}
