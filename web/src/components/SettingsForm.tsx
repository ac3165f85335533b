import { Button, Group, Paper, Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { ErrorAlert } from './ErrorAlert';
import { Form } from './Form';

interface Props {
  error: Error | null;
  pending: boolean;
  onSave: () => void;
  /** Disables the save button. */
  disabled?: boolean;
  children: ReactNode;
}

/** A settings form with one save button. */
export function SettingsForm({ error, pending, onSave, disabled, children }: Props) {
  return (
    <Paper withBorder p="md">
      <Form error={error} onSubmit={onSave}>
        <Stack>
          <ErrorAlert error={error} />
          {children}
          <Group>
            <Button type="submit" loading={pending} disabled={disabled}>
              Save
            </Button>
          </Group>
        </Stack>
      </Form>
    </Paper>
  );
}
