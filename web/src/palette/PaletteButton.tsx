import { useWindowEvent } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { Suspense, useState } from 'react';
import { ErrorBoundary } from '../components/ErrorBoundary';
import { notifyError } from '../components/confirm';
import { lazyComponent } from '../components/lazyComponent';
import plain from '../components/plain.module.css';
import { showShortcuts } from './shortcuts';

const load = () => import('./Palette');
const Palette = lazyComponent(load);

const isTerminal = (target: EventTarget | null) => target instanceof Element && target.closest('.xterm') !== null;
const isField = (target: EventTarget | null) =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.matches('input, textarea, select, [role=textbox]'));

/** The button of the palette, whose code is loaded on first use. Ctrl+K opens it too, except in a terminal,
 * where the shell gets the key; "?" shows the keyboard shortcuts. */
export function PaletteButton() {
  const [wanted, setWanted] = useState(false);
  const open = () => {
    setWanted(true);
    load().then((palette) => palette.openPalette(), notifyError);
  };
  useWindowEvent('keydown', (event) => {
    const { key, target } = event;
    if (key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) {
      if (isTerminal(target)) return;
      event.preventDefault();
      open();
    } else if (key === '?' && !event.ctrlKey && !event.metaKey && !event.altKey && !isField(target)) {
      showShortcuts();
    }
  });
  return (
    <>
      <button
        type="button"
        className={`${plain.icon} ${plain.large} ${plain.subtle}`}
        title="Search (Ctrl+K)"
        aria-label="Search"
        aria-keyshortcuts="Control+K"
        onClick={open}
      >
        <IconSearch size={20} />
      </button>
      {wanted && (
        <ErrorBoundary fallback={() => null}>
          <Suspense>
            <Palette />
          </Suspense>
        </ErrorBoundary>
      )}
    </>
  );
}
