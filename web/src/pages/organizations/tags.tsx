import { Badge, Group } from '@mantine/core';

/** Returns the tags as sorted name=value pairs. */
export function formatTags(tags: Record<string, string> | null): string[] {
  return Object.entries(tags ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([k, v]) => `${k}=${v}`);
}

/** Parses name=value pairs; undefined when one is malformed. */
export function parseTags(list: readonly string[]): Record<string, string> | undefined {
  const out: Record<string, string> = {};
  for (const text of list) {
    const at = text.indexOf('=');
    const name = text.slice(0, at).trim();
    if (at < 1 || name === '') return undefined;
    out[name] = text.slice(at + 1).trim();
  }
  return out;
}

const whole = { label: { overflow: 'visible', whiteSpace: 'normal', overflowWrap: 'break-word' } } as const;

/** The tags of a job or a provisioner. */
export function TagBadges({ tags }: { tags: Record<string, string> | null }) {
  return (
    <Group gap={4}>
      {formatTags(tags).map((t) => (
        <Badge key={t} variant="default" fw={400} miw={0} maw={260} h="auto" mih={20} styles={whole}>
          {t}
        </Badge>
      ))}
    </Group>
  );
}
