import '@mantine/core/styles/Kbd.css';
import { Group, Kbd, Table, Title } from '@mantine/core';

const groups: { title: string; rows: [string[], string][] }[] = [
  {
    title: 'Everywhere',
    rows: [
      [['Ctrl', 'K'], 'Search for an object or an action'],
      [['/'], 'Search the list of this page'],
      [['?'], 'Show this list'],
    ],
  },
  {
    title: 'List of workspaces',
    rows: [
      [['↓'], 'Next workspace'],
      [['↑'], 'Previous workspace'],
      [['Home'], 'First workspace'],
      [['End'], 'Last workspace'],
      [['Enter'], 'Open workspace'],
      [['S'], 'Start or stop workspace'],
      [['X'], 'Select workspace'],
    ],
  },
  { title: 'Terminal', rows: [[['Ctrl', 'Shift', 'L'], 'Leave the terminal']] },
];

/** The keyboard shortcuts of the dashboard. */
export default function Shortcuts() {
  return groups.map(({ title, rows }) => (
    <section key={title}>
      <Title order={3} mt="md" mb={4}>
        {title}
      </Title>
      <Table verticalSpacing={6}>
        <Table.Tbody>
          {rows.map(([keys, effect]) => (
            <Table.Tr key={effect}>
              <Table.Td>{effect}</Table.Td>
              <Table.Td>
                <Group gap={4} justify="flex-end">
                  {keys.map((key) => (
                    <Kbd key={key}>{key}</Kbd>
                  ))}
                </Group>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </section>
  ));
}
