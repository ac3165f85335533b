import { Tooltip } from '@mantine/core';
import classes from './Sparkline.module.css';
import { formatNumber } from '../lib/text';

const [width, height] = [120, 24];

/** A small chart of the last values, oldest first, from the lowest to the highest of them. */
export function Sparkline({ values, label }: { values: number[]; label: string }) {
  if (values.length < 2) return null;
  const low = Math.min(...values);
  const high = Math.max(...values);
  const y = (value: number) => (high === low ? height / 2 : 1 + (height - 2) * (1 - (value - low) / (high - low)));
  const points = values.map((value, i) => `${(i / (values.length - 1)) * width},${y(value).toFixed(1)}`).join(' ');
  const range = low === high ? formatNumber(low) : `${formatNumber(low)} to ${formatNumber(high)}`;
  const title = `${label}, last ${values.length} values: ${range}`;
  return (
    <Tooltip label={title}>
      <svg
        className={classes.chart}
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={title}
      >
        <polyline points={points} />
      </svg>
    </Tooltip>
  );
}
