import { useEffect, useLayoutEffect, useRef } from 'react';

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
  // Before the browser shows that the button is gone: no key is pressed in between.
  useLayoutEffect(() => {
    if (has.current && (document.activeElement === document.body || document.activeElement?.matches(':disabled'))) {
      place.current?.querySelector<HTMLButtonElement>('button:not(:disabled)')?.focus();
    }
  });
  return place;
}

/** Goes from an item of a menu to the button that opened the menu, where the
 * keyboard belongs once what the item does is done; the item itself is about to go. */
export function leaveMenu(): void {
  const menu = document.activeElement?.closest('[role=menu]');
  const opener = menu && document.getElementById(menu.getAttribute('aria-labelledby') ?? '');
  opener?.focus();
}
