import { Button, Group, Paper, Stack, Table, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Schema } from '../../api/client';

interface Props {
  name: string;
  template: Schema<'Template'>;
  /** The parameter values of the link, by display name. */
  values: [string, string][];
  cost: ReactNode;
  pending: boolean;
  onConfirm: () => void;
  onEdit: () => void;
}

/** Asks for confirmation before a link creates a workspace. Links are untrusted: a parameter value can run code. */
export function ConfirmCreate({ name, template, values, cost, pending, onConfirm, onEdit }: Props) {
  return (
    <Paper withBorder p="md">
      <Stack>
        <Text>
          The link you followed creates the workspace <b>{name}</b> from the template{' '}
          {template.display_name || template.name}
          {values.length > 0 ? ' with the values below. Continue only if you trust the link.' : '.'}
        </Text>
        {values.length > 0 && (
          <Table withRowBorders={false} highlightOnHover={false} verticalSpacing={4}>
            <Table.Tbody>
              {values.map(([parameter, value]) => (
                <Table.Tr key={parameter}>
                  <Table.Th scope="row" w="35%" style={{ overflowWrap: 'anywhere' }}>
                    {parameter}
                  </Table.Th>
                  <Table.Td style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>{value}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        )}
        {cost}
        <Group>
          <Button autoFocus loading={pending} onClick={onConfirm}>
            Create workspace
          </Button>
          <Button variant="default" disabled={pending} onClick={onEdit}>
            Edit parameters
          </Button>
        </Group>
      </Stack>
    </Paper>
  );
}
