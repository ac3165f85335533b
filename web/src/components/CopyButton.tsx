import { ActionIcon, Code, CopyButton, Group, Text, Tooltip } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';

/** A button that copies a text. */
export function CopyIcon({ text, label }: { text: string; label: string }) {
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? 'Copied' : label}>
          <ActionIcon variant="subtle" onClick={copy} aria-label={label}>
            {copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  );
}

/** A command or another text with a copy button. */
export function CopySnippet({ label, text }: { label: string; text: string }) {
  return (
    <div>
      <Text size="sm" mb={4}>
        {label}
      </Text>
      <Group gap={4} wrap="nowrap" align="flex-start">
        <Code block flex={1} miw={0} style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
          {text}
        </Code>
        <CopyIcon text={text} label={`Copy: ${text.length > 80 ? label : text}`} />
      </Group>
    </div>
  );
}
