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
export function DeleteSection({ kind, name, title, description, warning, error, pending, onConfirm }: Props) {
  return (
    <Paper withBorder p="md">
      <Stack gap="xs" align="flex-start">
        <Title order={2} size="h3">
          Delete {kind}
        </Title>
        <Text size="sm">{description}</Text>
        <ErrorAlert error={error} />
        <Button
          color="red"
          variant="light"
          loading={pending}
          onClick={() =>
            confirmByName({
              title: `Delete ${title}?`,
              warning,
              name,
              action: `Delete ${kind}`,
              onConfirm,
            })
          }
        >
          {`Delete ${kind}…`}
        </Button>
      </Stack>
    </Paper>
  );
}
