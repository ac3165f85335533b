import { Anchor, TextInput, type TextInputProps } from '@mantine/core';
import { useState } from 'react';
import { validateName } from '../lib/resourceName';

interface Props extends Omit<TextInputProps, 'onChange' | 'value'> {
  value: string;
  onChange: (name: string) => void;
  /** A submit failed: an empty name is an error too. */
  tried?: boolean;
  /** The error of the server, or another error of this name. */
  error?: string;
  /** A name that a click fills in. */
  suggestion?: string;
}

/** The name of a resource. It is checked while the user types. */
export function NameField({ value, onChange, tried, error, suggestion, description, ...props }: Props) {
  const [left, setLeft] = useState(false);
  // The next character can follow a hyphen.
  const complete = left || tried ? value : value.replace(/-$/, '');
  const wrong = value === '' && !tried ? undefined : validateName(complete);
  return (
    <TextInput
      label="Name"
      required
      autoComplete="off"
      spellCheck={false}
      {...props}
      value={value}
      onChange={(e) => onChange(e.currentTarget.value)}
      onBlur={() => setLeft(true)}
      onFocus={() => setLeft(false)}
      error={wrong ?? error}
      description={
        suggestion !== undefined && suggestion !== value && !props.disabled ? (
          <>
            {description} Suggestion:{' '}
            <Anchor
              component="button"
              type="button"
              inherit
              underline="always"
              onClick={() => onChange(suggestion)}
              aria-label={`Use the name ${suggestion}`}
            >
              {suggestion}
            </Anchor>
          </>
        ) : (
          description
        )
      }
    />
  );
}
