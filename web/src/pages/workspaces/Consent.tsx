import { Button, Group, Paper, Stack, Table, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Schema } from '../../api/client';

interface Props {
  name: string;
  template: Schema<'Template'>;
  /** What the link says, by the names of parameters. */
  values: [string, string][];
  cost: ReactNode;
  pending: boolean;
  onYes: () => void;
  onForm: () => void;
}

/** Asks whether to make what a link wants: anybody can write one, and what it says may run as a program. */
export function Consent({ name, template, values, cost, pending, onYes, onForm }: Props) {
  return (
    <Paper withBorder p="md">
      <Stack>
        <Text>
          The link that you followed wants to make the workspace <b>{name}</b> of {template.display_name || template.name}
          {values.length > 0 ? ', with these values. Go on if you know who wrote the link.' : '.'}
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
          <Button autoFocus loading={pending} onClick={onYes}>
            Create workspace
          </Button>
          <Button variant="default" disabled={pending} onClick={onForm}>
            Change something first
          </Button>
        </Group>
      </Stack>
    </Paper>
  );
}
