// The URLs and sharing levels of workspace ports.

import type { Schema } from '../../api/client';

export type Level = Schema<'WorkspaceAgentPortShareLevel'>;
export type Protocol = Schema<'WorkspaceAgentPortShareProtocol'>;

const levels: { value: Level; label: string }[] = [
  { value: 'owner', label: 'Owner' },
  { value: 'organization', label: 'Organization members' },
  { value: 'authenticated', label: 'Authenticated users' },
  { value: 'public', label: 'Public' },
];

const rank = (l: Level): number => levels.findIndex((x) => x.value === l);

/** Returns the sharing levels up to a maximum. */
export const listLevels = (most: Level) => levels.slice(0, rank(most) + 1);

/** Returns the label of a sharing level. */
export const getLevelLabel = (l: Level): string => levels[rank(l)]?.label ?? l;

/** Returns the more restrictive of two sharing levels. */
export const limitLevel = (l: Level, most: Level): Level => (rank(l) > rank(most) ? most : l);

/** The maximum length of a DNS label. */
const maxLabelLength = 63;

interface Place {
  owner: string;
  workspace: string;
  agent: string;
  /** Whether the workspace has one agent, so that its name can be omitted. */
  only: boolean;
}

/** Returns the URL of a port; undefined when there is none. host is the wildcard host name
 * of apps, "" for none, and scheme its protocol. */
export function getPortURL(
  host: string,
  port: number,
  protocol: Protocol,
  at: Place,
  scheme = location.protocol,
): string | undefined {
  if (host === '') return undefined;
  const slug = `${port}${protocol === 'https' ? 's' : ''}`;
  const whole = `${slug}--${at.agent}--${at.workspace}--${at.owner}`;
  const label = whole.length > maxLabelLength && at.only ? `${slug}--${at.workspace}--${at.owner}` : whole;
  return label.length > maxLabelLength ? undefined : `${scheme}//${host.replace('*', label.toLowerCase())}/`;
}

/** Parses a port number; undefined when it cannot be shared. */
export function parsePort(typed: string): number | undefined {
  const n = /^\d{1,5}$/.test(typed.trim()) ? Number(typed) : 0;
  return n >= 9 && n <= 65535 ? n : undefined;
}
