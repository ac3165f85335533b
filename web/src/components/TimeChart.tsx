import { Fragment } from 'react';
import classes from './chart.module.css';
import { ChartFrame, ValueAxis } from './ChartFrame';
import { axisTicks, chartSize, useChartWidth } from './chart';
import { formatNumber } from '../lib/text';

/** A measurement. */
export interface Point {
  time: string;
  /** The measured value; nothing was measured when absent. */
  value?: number;
  state: 'ok' | 'warning' | 'error';
  /** The name of the line that the point belongs to, such as a host. */
  series: string;
  note?: string;
}

interface Props {
  /** What is measured, such as "Latency". */
  title: string;
  unit: string;
  since: string;
  until: string;
  points: Point[];
}

const { height, left, right, bottom, top } = chartSize;
const hour = 3_600_000;
const clock = new Intl.DateTimeFormat(undefined, { hour: 'numeric' });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: 'short', timeStyle: 'medium' });

/** Returns the full hours of local time that a time axis of 24 hours names: every fourth by default. */
export function timeTicks(since: number, until: number, every = 4): number[] {
  const first = new Date(since);
  first.setMinutes(60, 0, 0);
  const ticks = [];
  for (let at = first.getTime(); at < until; at += hour) if (new Date(at).getHours() % every === 0) ticks.push(at);
  return ticks;
}

/** Returns the lines through the points of a series. A line ends where nothing was measured. */
export function linesOf(points: Point[]): (Point & { value: number })[][] {
  const lines: (Point & { value: number })[][] = [[]];
  for (const p of points) {
    if (p.value === undefined) lines.push([]);
    else lines.at(-1)?.push({ ...p, value: p.value });
  }
  return lines.filter((line) => line.length > 1);
}

const describe = (p: Point, unit: string) =>
  [
    full.format(new Date(p.time)),
    p.series,
    p.value === undefined ? 'no value' : `${formatNumber(p.value)} ${unit}`,
    p.state === 'ok' ? '' : p.state,
    p.note,
  ]
    .filter(Boolean)
    .join(', ');

/** A line chart of measurements over time, with axes. Its values can also be read as a table. */
export function TimeChart({ title, unit, since, until, points }: Props) {
  const { ref, width } = useChartWidth();
  const narrow = width < 480;
  const label = title.toLowerCase().includes(unit) ? title : `${title} (${unit})`;
  const [from, to] = [new Date(since).getTime(), new Date(until).getTime()];
  const series = [...new Set(points.map((p) => p.series))];
  const values = points.flatMap((p) => (p.value === undefined ? [] : [p.value]));
  const ticks = axisTicks(Math.max(0, ...values), unit !== 'ms');
  const most = ticks.at(-1) ?? 1;
  const x = (time: string | number) =>
    left + ((width - left - right) * (new Date(time).getTime() - from)) / Math.max(1, to - from);
  const y = (value = 0) => top + (height - top - bottom) * (1 - value / most);
  return (
    <ChartFrame
      ref={ref}
      width={width}
      title={title}
      label={`${label}, last 24 hours`}
      headers={['Time', 'Server', label, 'Result', 'Finding']}
      rows={points
        .toReversed()
        .map((p) => [
          full.format(new Date(p.time)),
          p.series,
          p.value === undefined ? '–' : formatNumber(p.value),
          p.state,
          p.note ?? '',
        ])}
      note={
        <>
          {series.length > 1 && `Lines: ${series.join(', ')}. `}
          {points.some((p) => p.state !== 'ok') && '▲ warning, ✕ error'}
        </>
      }
    >
      <ValueAxis measure={label} ticks={ticks} width={width} y={y} />
      {timeTicks(from, to, narrow ? 6 : 4).map((at) => (
        <Fragment key={at}>
          <line className={classes.grid} x1={x(at)} x2={x(at)} y1={y(0)} y2={y(0) + 4} />
          <text className={classes.label} x={x(at)} y={height - 6} textAnchor="middle">
            {clock.format(at)}
          </text>
        </Fragment>
      ))}
      {series.map((name, i) =>
        linesOf(points.filter((p) => p.series === name)).map((line) => (
          <polyline
            key={`${name} ${line[0]?.time}`}
            className={classes.line}
            strokeDasharray={['', '6 3', '2 3', '8 3 2 3'][i % 4]}
            points={line.map((p) => `${x(p.time).toFixed(1)},${y(p.value).toFixed(1)}`).join(' ')}
          />
        )),
      )}
      {points.map((p) => (
        <Mark
          key={p.time + p.series}
          state={p.state}
          x={x(p.time)}
          y={y(p.value)}
          r={narrow ? 1.5 : 2.5}
          title={describe(p, unit)}
        />
      ))}
    </ChartFrame>
  );
}

interface MarkProps {
  state: Point['state'];
  x: number;
  y: number;
  /** The radius of a point without findings. */
  r: number;
  title: string;
}

/** The mark of a measurement, whose form shows its state. */
function Mark({ state, x, y, r, title }: MarkProps) {
  return (
    <g className={classes[state]}>
      {state === 'ok' && <circle cx={x} cy={y} r={r} />}
      {state === 'warning' && <path d={`M${x - 5} ${y + 4}h10l-5 -9z`} />}
      {state === 'error' && <path d={`M${x - 4} ${y - 4}l8 8m0 -8l-8 8`} />}
      <circle className={classes.hover} cx={x} cy={y} r={8} />
      <title>{title}</title>
    </g>
  );
}
