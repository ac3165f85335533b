import { Badge, Group } from '@mantine/core';

/** Tags as name=value, sorted. */
export function tagList(tags: Record<string, string> | null): string[] {
  return Object.entries(tags ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([k, v]) => `${k}=${v}`);
}

/** What is typed as name=value, as tags; undefined when one is no such pair. */
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

/** Tags of a job or a provisioner. */
export function Tags({ tags }: { tags: Record<string, string> | null }) {
  return (
    <Group gap={4}>
      {tagList(tags).map((t) => (
        <Badge key={t} variant="default" fw={400} miw={0} maw={260} h="auto" mih={20} styles={whole}>
          {t}
        </Badge>
      ))}
    </Group>
  );
}
