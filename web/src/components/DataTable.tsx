import { Paper, Table, VisuallyHidden } from '@mantine/core';
import type { ReactNode } from 'react';

interface Props {
  headers: readonly string[];
  /** The width of the actions column in pixels; no such column when absent. */
  actions?: number;
  /** The minimum width in pixels. Below it, the table scrolls horizontally. */
  minWidth: number;
  /** Rows. */
  children: ReactNode;
}

/** A table with a header row. */
export function DataTable({ headers: heads, actions, minWidth, children }: Props) {
  return (
    <Paper withBorder>
      <Table.ScrollContainer minWidth={minWidth}>
        <Table>
          <Table.Thead>
            <Table.Tr>
              {heads.map((head) => (
                <Table.Th key={head}>{head}</Table.Th>
              ))}
              {actions !== undefined && (
                <Table.Th w={actions}>
                  <VisuallyHidden>Actions</VisuallyHidden>
                </Table.Th>
              )}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>{children}</Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Paper>
  );
}
