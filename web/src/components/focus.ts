import { useEffect, useLayoutEffect, useRef } from 'react';

/** Keeps the focus inside a group of buttons when the focused button disappears or is
 * disabled. Returns the ref of the group. */
export function useFocusGroup() {
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
  // A layout effect runs before the next key press can be handled.
  useLayoutEffect(() => {
    if (has.current && (document.activeElement === document.body || document.activeElement?.matches(':disabled'))) {
      place.current?.querySelector<HTMLButtonElement>('button:not(:disabled)')?.focus();
    }
  });
  return place;
}

/** Moves the focus from a menu item to the button that opened the menu, because the
 * item is about to be unmounted. */
export function focusMenuButton(): void {
  const menu = document.activeElement?.closest('[role=menu]');
  const opener = menu && document.getElementById(menu.getAttribute('aria-labelledby') ?? '');
  opener?.focus();
}
