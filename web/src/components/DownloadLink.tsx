import { Button } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';

/** A link that downloads a file. */
export function DownloadLink({ href, name, label }: { href: string; name: string; label: string }) {
  return (
    <Button
      component="a"
      size="compact-xs"
      variant="subtle"
      leftSection={<IconDownload size={14} />}
      href={href}
      download={name}
    >
      {label}
    </Button>
  );
}
