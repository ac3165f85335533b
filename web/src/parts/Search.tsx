import { CloseButton, TextInput } from '@mantine/core';
import { useDebouncedCallback, useHotkeys } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { useEffect, useRef, useState } from 'react';

interface Props {
  value: string;
  onChange: (q: string) => void;
  placeholder: string;
  label?: string;
}

/** A filter that is applied while one types; "/" goes to it. */
export function Search({ value, onChange, placeholder, label = 'Search' }: Props) {
  const [typed, setTyped] = useState(value);
  const sent = useRef(value);
  const input = useRef<HTMLInputElement>(null);
  const send = useDebouncedCallback((q: string) => {
    sent.current = q;
    onChange(q);
  }, 250);
  useEffect(() => {
    if (value !== sent.current) {
      sent.current = value;
      setTyped(value);
    }
  }, [value]);
  useHotkeys([['/', () => input.current?.focus()]]);
  const change = (q: string) => {
    setTyped(q);
    send(q);
  };
  return (
    <TextInput
      ref={input}
      flex={1}
      miw={200}
      type="search"
      aria-label={label}
      placeholder={placeholder}
      leftSection={<IconSearch size={16} />}
      rightSection={typed !== '' && <CloseButton size="sm" aria-label="Clear the search" onClick={() => change('')} />}
      value={typed}
      onChange={(e) => change(e.currentTarget.value)}
    />
  );
}
