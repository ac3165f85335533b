import { Anchor, Box, Group, SegmentedControl, SimpleGrid, Table, Text } from '@mantine/core';
import { useState } from 'react';
import { BarChart } from '../src/components/BarChart';
import { DataTable } from '../src/components/DataTable';
import { Sparkline } from '../src/components/Sparkline';
import { TimeChart } from '../src/components/TimeChart';
import { WorkspaceStatusBadge } from '../src/components/WorkspaceStatus';
import { RelativeTime } from '../src/components/time';
import { cpu, dailyUsers, latencies, period, rows } from './examples';
import { Example } from './Section';

/** A table at the chosen density. */
export function Tables() {
  const [density, setDensity] = useState('comfortable');
  return (
    <Example title="Table" hint="The density changes the height of the rows and nothing else.">
      <Group>
        <SegmentedControl
          aria-label="Density"
          value={density}
          onChange={setDensity}
          data={[
            { value: 'comfortable', label: 'Comfortable' },
            { value: 'compact', label: 'Compact' },
          ]}
        />
      </Group>
      <Box data-density={density}>
        <DataTable headers={['Name', 'Template', 'Last used', 'Status']} minWidth={560}>
          {rows.map(({ name, template, used, workspace }) => (
            <Table.Tr key={name}>
              <Table.Td>
                <Anchor href="#tables" fw={600} size="sm">
                  {name}
                </Anchor>
              </Table.Td>
              <Table.Td>{template}</Table.Td>
              <Table.Td>
                <Text size="sm" c="dimmed">
                  <RelativeTime at={used} />
                </Text>
              </Table.Td>
              <Table.Td>
                <WorkspaceStatusBadge workspace={workspace} />
              </Table.Td>
            </Table.Tr>
          ))}
        </DataTable>
      </Box>
    </Example>
  );
}

/** The charts with example data. */
export function Charts() {
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Example title="Bars">
        <BarChart title="Active users" unit="Date" measure="Users" bars={dailyUsers} />
      </Example>
      <Example title="Lines">
        <TimeChart title="Latency" unit="ms" {...period} points={latencies} />
      </Example>
      <Example title="Sparkline">
        <Sparkline values={cpu} label="CPU usage in percent" />
      </Example>
      <Example title="No values">
        <BarChart title="Builds" unit="Date" bars={[{ label: 'Mar 1', value: 0 }]} />
      </Example>
    </SimpleGrid>
  );
}
