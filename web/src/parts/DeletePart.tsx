import { Button, Paper, Stack, Text, Title } from '@mantine/core';
import { Refusal } from './Refusal';
import { confirmByName } from './confirm';

interface Props {
  /** What it is, such as template. */
  what: string;
  /** Its name, which has to be typed, and what people call it. */
  name: string;
  title: string;
  /** What goes with it, and when it cannot be. */
  about: string;
  lost: string;
  error: Error | null;
  pending: boolean;
  onYes: () => void;
}

/** The end of something, at the end of its settings. */
export function DeletePart({ what, name, title, about, lost, error, pending, onYes }: Props) {
  return (
    <Paper withBorder p="md">
      <Stack gap="xs" align="flex-start">
        <Title order={2} size="h3">
          Delete
        </Title>
        <Text size="sm">{about}</Text>
        <Refusal error={error} />
        <Button color="red" variant="light" loading={pending} onClick={() => confirmByName({ title: `Delete ${title}?`, lost, name, verb: `Delete the ${what}`, onYes })}>
          Delete …
        </Button>
      </Stack>
    </Paper>
  );
}
