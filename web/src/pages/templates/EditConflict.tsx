import { Alert, Button, Group, Text } from '@mantine/core';
import type { Template } from './queries';

interface Props {
  template: Template;
  begin: (from: Template, keep?: boolean) => void;
}

/** Reports that another user saved the same settings, and asks which values to keep. */
export function EditConflict({ template, begin }: Props) {
  return (
    <Alert color="yellow" title="Another user changed these settings" role="alert">
      <Text size="sm">Your changes are not saved yet.</Text>
      <Group mt="xs" gap="xs">
        <Button size="xs" variant="default" onClick={() => begin(template)}>
          Discard my changes
        </Button>
        <Button size="xs" variant="default" onClick={() => begin(template, true)}>
          Keep my changes
        </Button>
      </Group>
    </Alert>
  );
}
