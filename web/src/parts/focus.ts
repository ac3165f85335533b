import { useEffect, useRef } from 'react';

/** For a group of buttons that come and go, by what was done with one: the
 * keyboard stays in the group when the button that had it is gone. */
export function useKeptFocus() {
  const place = useRef<HTMLDivElement>(null);
  const has = useRef(false);
  useEffect(() => {
    const group = place.current;
    const look = (e: Event) => {
      has.current = group?.contains(e.target as Node) ?? false;
    };
    document.addEventListener('focusin', look);
    document.addEventListener('pointerdown', look);
    return () => {
      document.removeEventListener('focusin', look);
      document.removeEventListener('pointerdown', look);
    };
  }, []);
  useEffect(() => {
    if (has.current && (document.activeElement === document.body || document.activeElement?.matches(':disabled'))) {
      place.current?.querySelector<HTMLButtonElement>('button:not(:disabled)')?.focus();
    }
  });
  return place;
}
