import { Button } from '@mantine/core';
import { IconRefresh } from '@tabler/icons-react';
import { useDismiss, useRunChecks } from './queries';
import type { Section, sections } from './sections';

/** Runs the checks of all sections. */
export function CheckButton() {
  const run = useRunChecks();
  return (
    <Button
      variant="default"
      leftSection={<IconRefresh size={16} />}
      loading={run.isPending}
      onClick={() => run.mutate()}
    >
      Run checks
    </Button>
  );
}

interface Props {
  definition: (typeof sections)[number];
  section: Section;
}

/** Dismisses the findings of a section, or restores them. Nothing for a healthy section. */
export function DismissButton({ definition, section }: Props) {
  const dismiss = useDismiss();
  if (!section.dismissed && section.severity === 'ok') return null;
  const action = section.dismissed ? 'Restore' : 'Dismiss';
  return (
    <Button
      variant="default"
      aria-label={`${action} ${definition.title}`}
      loading={dismiss.isPending}
      onClick={() => dismiss.mutate({ section: definition.name, dismissed: !section.dismissed })}
    >
      {action}
    </Button>
  );
}
