import { Tooltip } from '@mantine/core';
import type { ReactElement } from 'react';

/** Explains an element in a tooltip of several lines, also to users of the keyboard. */
export default function Why({ label, children }: { label: string; children: ReactElement }) {
  return (
    <Tooltip label={label} multiline maw={320}>
      {children}
    </Tooltip>
  );
}
