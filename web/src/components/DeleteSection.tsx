import { Button, Paper, Stack, Text, Title } from '@mantine/core';
import { ErrorAlert } from './ErrorAlert';
import { confirmByName } from './confirm';

interface Props {
  /** The kind of resource, such as template. */
  kind: string;
  /** The name that must be typed to confirm, and the name that is displayed. */
  name: string;
  title: string;
  /** What is deleted with it, and when it cannot be deleted. */
  description: string;
  warning: string;
  error: Error | null;
  pending: boolean;
  onConfirm: () => void;
}

/** The section at the end of a settings page that deletes the resource. */
export function DeleteSection({
  kind: what,
  name,
  title,
  description: about,
  warning: lost,
  error,
  pending,
  onConfirm: onYes,
}: Props) {
  return (
    <Paper withBorder p="md">
      <Stack gap="xs" align="flex-start">
        <Title order={2} size="h3">
          Delete {what}
        </Title>
        <Text size="sm">{about}</Text>
        <ErrorAlert error={error} />
        <Button
          color="red"
          variant="light"
          loading={pending}
          onClick={() =>
            confirmByName({
              title: `Delete ${title}?`,
              warning: lost,
              name,
              action: `Delete ${what}`,
              onConfirm: onYes,
            })
          }
        >
          {`Delete ${what}…`}
        </Button>
      </Stack>
    </Paper>
  );
}
