import { Button, Stack, Text, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';

/** The content of the dialog that displays a secret. */
export default function Secret({ secret, hint }: { secret: string; hint: ReactNode }) {
  const [copied, setCopied] = useState(false);
  return (
    <Stack>
      <Text size="sm">{hint} Copy it now: it is not shown again.</Text>
      <TextInput
        readOnly
        data-autofocus
        label="Secret"
        value={secret}
        onFocus={(e) => e.currentTarget.select()}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
      />
      <Button
        onClick={async () => {
          await navigator.clipboard.writeText(secret);
          setCopied(true);
        }}
      >
        {copied ? 'Copied' : 'Copy'}
      </Button>
    </Stack>
  );
}
