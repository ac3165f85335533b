import { Group, Table, Text, UnstyledButton, VisuallyHidden } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Fragment, type ReactNode, type Ref } from 'react';
import classes from './chart.module.css';
import { chartSize } from './chart';
import { formatNumber } from '../lib/text';

const { height, left, right } = chartSize;

interface FrameProps {
  /** Of useChartWidth. */
  ref: Ref<HTMLDivElement>;
  width: number;
  title: string;
  /** What the chart shows, for screen readers. */
  label: string;
  /** The same values as a table. */
  headers: string[];
  rows: string[][];
  /** A legend below the chart. */
  note?: ReactNode;
  /** The content of the chart. */
  children: ReactNode;
}

/** A chart whose values can also be read as a table. */
export function ChartFrame({ ref, width, title, label, headers, rows, note, children }: FrameProps) {
  const [table, { toggle }] = useDisclosure();
  return (
    <div ref={ref}>
      {table ? (
        <Table.ScrollContainer minWidth={96 * headers.length} mah={300}>
          <Table>
            <Table.Thead>
              <Table.Tr>
                {headers.map((header) => (
                  <Table.Th key={header}>{header}</Table.Th>
                ))}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {rows.map((row, i) => (
                <Table.Tr key={i}>
                  {row.map((cell, column) => (
                    <Table.Td key={column}>{cell}</Table.Td>
                  ))}
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      ) : (
        <svg className={classes.chart} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
          {children}
        </svg>
      )}
      <Group justify="space-between">
        <Text size="xs" c="dimmed">
          {note}
        </Text>
        <UnstyledButton onClick={toggle}>
          <Text size="xs" c="dimmed" td="underline">
            {table ? 'Show as chart' : 'Show as table'}
            <VisuallyHidden> {title}</VisuallyHidden>
          </Text>
        </UnstyledButton>
      </Group>
    </div>
  );
}

interface AxisProps {
  /** What is measured, with its unit. */
  measure: string;
  ticks: number[];
  width: number;
  /** Returns the height of a value in the chart. */
  y: (value: number) => number;
}

/** The axis of the values, with a line across the chart at each tick. */
export function ValueAxis({ measure, ticks, width, y }: AxisProps) {
  return (
    <>
      <text className={classes.label} x={0} y={18}>
        {measure}
      </text>
      {ticks.map((tick) => (
        <Fragment key={tick}>
          <line className={classes.grid} x1={left} x2={width - right} y1={y(tick)} y2={y(tick)} />
          <text className={classes.label} x={left - 8} y={y(tick) + 4} textAnchor="end">
            {formatNumber(tick)}
          </text>
        </Fragment>
      ))}
    </>
  );
}
