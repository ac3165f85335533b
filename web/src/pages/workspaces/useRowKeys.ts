import { useWindowEvent } from '@mantine/hooks';
import { useRef } from 'react';

/** What the keys of a list need of it. */
interface KeyedRows {
  count: number;
  /** The rendered rows. */
  visible: readonly { index: number }[];
  scrollTo: (index: number) => void;
}

const rowOf = (list: HTMLElement, index: number) => list.querySelector<HTMLElement>(`[data-index="${index}"]`);

/** Focuses the link of a row as soon as it is rendered, or gives up after some frames. */
function focusRow(list: HTMLElement, index: number, frames = 30): void {
  const link = rowOf(list, index)?.querySelector<HTMLElement>('[data-row-link]');
  if (link) link.focus();
  else if (frames > 0) requestAnimationFrame(() => focusRow(list, index, frames - 1));
}

/** Moves through the rows of a list with the arrow keys, Home and End; "s" starts or stops the
 * focused row and "x" selects it. Returns the ref of the list. */
export function useRowKeys({ count, visible, scrollTo }: KeyedRows) {
  const list = useRef<HTMLDivElement>(null);
  useWindowEvent('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !list.current || count === 0) return;
    const focused = document.activeElement;
    const row = focused?.matches('[data-row-link]') ? focused.closest<HTMLElement>('[data-index]') : null;
    const at = row ? Number(row.dataset.index) : undefined;
    const press = { s: '[data-row-toggle]', x: 'input[type=checkbox]' }[event.key];
    if (press) return row?.querySelector<HTMLElement>(press)?.click();
    if (at === undefined && focused !== document.body && focused?.id !== 'main') return;
    const to =
      event.key === 'ArrowDown' || event.key === 'ArrowUp'
        ? at === undefined
          ? (visible.find(({ index }) => (rowOf(list.current!, index)?.getBoundingClientRect().top ?? -1) >= 0)
              ?.index ?? 0)
          : at + (event.key === 'ArrowDown' ? 1 : -1)
        : at !== undefined && event.key === 'Home'
          ? 0
          : at !== undefined && event.key === 'End'
            ? count - 1
            : undefined;
    if (to === undefined) return;
    event.preventDefault();
    const next = Math.min(Math.max(to, 0), count - 1);
    if (!rowOf(list.current, next)) scrollTo(next);
    focusRow(list.current, next);
  });
  return list;
}
