import { Button, Group, Paper, Title } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { saveFile } from '../lib/saveFile';

/** Aligns the heads and cells of a column of numbers. */
export const numeric = { ta: 'right', style: { fontVariantNumeric: 'tabular-nums' } } as const;

interface ExportProps {
  csv: () => string;
  /** The name of the file, without its extension. */
  name: string;
  /** What is exported, for screen readers. */
  what: string;
}

/** Downloads values as CSV. */
export function ExportButton({ csv, name, what }: ExportProps) {
  return (
    <Button
      size="compact-xs"
      variant="subtle"
      leftSection={<IconDownload size={14} />}
      aria-label={`Export CSV: ${what}`}
      onClick={() => saveFile(`${name}.csv`, new Blob([csv()], { type: 'text/csv;charset=utf-8' }))}
    >
      Export CSV
    </Button>
  );
}

interface CardProps {
  title: string;
  action?: ReactNode;
  children: ReactNode;
}

/** A part of a report. */
export function Card({ title, action, children }: CardProps) {
  return (
    <Paper withBorder p="md">
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h3">
          {title}
        </Title>
        {action}
      </Group>
      {children}
    </Paper>
  );
}
