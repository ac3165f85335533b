import classes from './chart.module.css';
import { ChartFrame, ValueAxis } from './ChartFrame';
import { axisTicks, chartSize, useChartWidth } from './chart';
import { formatNumber } from '../lib/text';

interface Bar {
  /** The label on the axis, such as a date. */
  label: string;
  value: number;
}

interface Props {
  /** What the bars show, such as "Active users". */
  title: string;
  /** What a bar stands for, such as "Date". */
  unit: string;
  bars: Bar[];
  /** The unit of the values, such as "Users", at the axis. */
  measure?: string;
  /** The values have fractions. */
  fractions?: boolean;
}

const { height, left, right, bottom, top } = chartSize;

/** A bar chart with axes. Its values can also be read as a table. */
export function BarChart({ title, unit, bars, measure = title, fractions = false }: Props) {
  const { ref, width } = useChartWidth();
  const ticks = axisTicks(Math.max(0, ...bars.map((bar) => bar.value)), !fractions);
  const most = ticks.at(-1) ?? 1;
  const y = (value: number) => top + (height - top - bottom) * (1 - value / most);
  const slot = (width - left - right) / bars.length;
  const every = Math.ceil(bars.length / Math.max(1, Math.floor((width - left - right) / 60))); // labels that fit
  return (
    <ChartFrame
      ref={ref}
      width={width}
      title={title}
      label={`${title} by ${unit}`}
      headers={[unit, title]}
      rows={bars.map((bar) => [bar.label, formatNumber(bar.value)])}
    >
      <ValueAxis measure={measure} ticks={ticks} width={width} y={y} />
      {bars.map((bar, i) => (
        <g key={bar.label} className={classes.slot}>
          <rect className={classes.hover} x={left + i * slot} y={top} width={slot} height={height - top - bottom} />
          <rect
            className={classes.bar}
            x={left + i * slot + slot * 0.15}
            width={slot * 0.7}
            y={y(bar.value)}
            height={y(0) - y(bar.value)}
            rx={2}
          />
          {i % every === 0 && (
            <text className={classes.label} x={left + (i + 0.5) * slot} y={height - 6} textAnchor="middle">
              {bar.label}
            </text>
          )}
          <title>{`${bar.label}: ${formatNumber(bar.value)}`}</title>
        </g>
      ))}
    </ChartFrame>
  );
}
