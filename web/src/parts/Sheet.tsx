import { Paper, Table, VisuallyHidden } from '@mantine/core';
import type { ReactNode } from 'react';

interface Props {
  heads: readonly string[];
  /** The width of one more column, for what can be done to a row; none when absent. */
  actions?: number;
  /** Narrower than this, it is scrolled sideways. */
  minWidth: number;
  /** Rows. */
  children: ReactNode;
}

/** A table of things. */
export function Sheet({ heads, actions, minWidth, children }: Props) {
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
