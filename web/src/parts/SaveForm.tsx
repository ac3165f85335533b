import { Button, Group, Paper, Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { Refusal } from './Refusal';

interface Props {
  error: Error | null;
  pending: boolean;
  onSave: () => void;
  /** Whether there is nothing to save. */
  disabled?: boolean;
  children: ReactNode;
}

/** The settings of something, in a frame, saved by one button. */
export function SaveForm({ error, pending, onSave, disabled, children }: Props) {
  return (
    <Paper withBorder p="md">
      <form
        onSubmit={(e) => {
          e.preventDefault();
          onSave();
        }}
      >
        <Stack>
          <Refusal error={error} />
          {children}
          <Group>
            <Button type="submit" loading={pending} disabled={disabled}>
              Save
            </Button>
          </Group>
        </Stack>
      </form>
    </Paper>
  );
}
