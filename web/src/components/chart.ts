import { useElementSize } from '@mantine/hooks';

/** The height of charts and their margins in pixels. */
export const chartSize = { height: 220, left: 56, right: 8, bottom: 28, top: 44 };

/** Returns the ref of the element that a chart fills, and its width in pixels. */
export function useChartWidth() {
  const { ref, width } = useElementSize();
  return { ref, width: Math.round(width) || 720 };
}

/** Returns ticks of an axis from 0 to at least the maximum, in round steps; of whole numbers by default. */
export function axisTicks(max: number, whole = true): number[] {
  const most = max > 0 && !whole ? max : Math.max(1, max);
  const rough = most / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const round = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough * 0.999_999) ?? rough;
  const step = whole ? Math.max(1, round) : round;
  return Array.from({ length: Math.ceil(most / step - 1e-6) + 1 }, (_, i) => Number((i * step).toPrecision(12)));
}
