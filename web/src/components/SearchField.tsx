import { useDebouncedCallback, useWindowEvent } from '@mantine/hooks';
import { IconSearch, IconX } from '@tabler/icons-react';
import { useRef, useState } from 'react';
import plain from './plain.module.css';

interface Props {
  value: string;
  onChange: (q: string) => void;
  placeholder: string;
  label?: string;
}

/** Reports whether an element accepts text. */
const isEditable = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.matches('input, textarea, select, [role=textbox]'));

/** A search field that filters while the user types. "/" focuses it. */
export function SearchField({ value, onChange, placeholder, label = 'Search' }: Props) {
  const [typed, setTyped] = useState(value);
  const [sent, setSent] = useState(value);
  const [previous, setPrevious] = useState(value);
  const input = useRef<HTMLInputElement>(null);
  const send = useDebouncedCallback((q: string) => {
    setSent(q);
    onChange(q);
  }, 250);
  // A value that this field did not send comes from a link or the browser history.
  if (value !== previous) {
    setPrevious(value);
    if (value !== sent) setTyped(value);
    setSent(value);
  }
  // Layouts that need Shift for a slash count too.
  useWindowEvent('keydown', (event) => {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isEditable(event.target)) return;
    event.preventDefault();
    input.current?.focus();
    input.current?.select();
  });
  const change = (q: string) => {
    setTyped(q);
    send(q);
  };
  return (
    <div className={plain.search}>
      <IconSearch size={16} />
      <input
        ref={input}
        type="search"
        aria-label={label}
        placeholder={placeholder}
        value={typed}
        onChange={(e) => change(e.currentTarget.value)}
      />
      {typed !== '' && (
        <button
          type="button"
          className={`${plain.icon} ${plain.tiny} ${plain.subtle}`}
          aria-label="Clear search"
          onClick={() => change('')}
        >
          <IconX size={16} />
        </button>
      )}
    </div>
  );
}
