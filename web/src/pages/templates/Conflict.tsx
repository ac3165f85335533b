import { Alert, Button, Group, Text } from '@mantine/core';
import type { Template } from './data';

interface Props {
  t: Template;
  begin: (from: Template, keep?: boolean) => void;
}

/** Says that somebody else saved what one edits, and asks whose counts. */
export function Conflict({ t, begin }: Props) {
  return (
    <Alert color="yellow" title="Somebody else saved these settings while you edited" role="alert">
      <Text size="sm">What you typed is still here, and not saved.</Text>
      <Group mt="xs" gap="xs">
        <Button size="xs" variant="default" onClick={() => begin(t)}>
          Show theirs
        </Button>
        <Button size="xs" variant="default" onClick={() => begin(t, true)}>
          Keep mine, to save it over theirs
        </Button>
      </Group>
    </Alert>
  );
}
