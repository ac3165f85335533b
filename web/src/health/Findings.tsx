import { Badge, Stack, Text } from '@mantine/core';
import { IconAlertTriangle, IconCircleCheck, IconCircleX } from '@tabler/icons-react';
import type { Section } from './sections';

/** The icon of a severity. */
export const severityIcons = {
  ok: <IconCircleCheck style={{ flexShrink: 0 }} color="var(--mantine-color-green-text)" aria-label="healthy" />,
  warning: (
    <IconAlertTriangle style={{ flexShrink: 0 }} color="var(--mantine-color-yellow-text)" aria-label="warning" />
  ),
  error: <IconCircleX style={{ flexShrink: 0 }} color="var(--mantine-color-red-text)" aria-label="error" />,
};

/** The error and the warnings of a section. */
export function Findings({ section }: { section: Section }) {
  if (!section.error && section.warnings.length === 0) return null;
  return (
    <Stack gap={4} mt="xs" style={{ overflowWrap: 'anywhere' }}>
      {section.error && (
        <Text size="sm" c={section.dismissed ? 'dimmed' : 'red'}>
          {section.error}
        </Text>
      )}
      {section.warnings.map((w) => (
        <Text component="div" size="sm" key={w.code + w.message} c={section.dismissed ? 'dimmed' : undefined}>
          <Badge color={section.dismissed ? 'gray' : 'yellow'} mr="xs">
            {w.code}
          </Badge>
          {w.message}
        </Text>
      ))}
    </Stack>
  );
}
