// Ports of workspaces: where they are opened, and to whom they may be.

import type { Schema } from '../../api/client';

export type Level = Schema<'WorkspaceAgentPortShareLevel'>;
export type Protocol = Schema<'WorkspaceAgentPortShareProtocol'>;

const levels: { value: Level; label: string }[] = [
  { value: 'owner', label: 'Nobody else' },
  { value: 'organization', label: 'Members of the organization' },
  { value: 'authenticated', label: 'Everybody who is logged in' },
  { value: 'public', label: 'Everybody' },
];

const rank = (l: Level): number => levels.findIndex((x) => x.value === l);

/** The levels that a template lets ports have. */
export const levelsUpTo = (most: Level) => levels.slice(0, rank(most) + 1);

/** What a level lets in, in words. */
export const levelName = (l: Level): string => levels[rank(l)]?.label ?? l;

/** The lesser of two levels. */
export const atMost = (l: Level, most: Level): Level => (rank(l) > rank(most) ? most : l);

/** The longest that a label of a host name may be. */
const longest = 63;

interface Place {
  owner: string;
  workspace: string;
  agent: string;
  /** Whether the workspace has no other agent, so that its name may be left out. */
  only: boolean;
}

/** The address of a port in a browser; undefined where there is none. host is
 * the wildcard host name of apps, "" for a deployment without, and scheme what is
 * spoken there. */
export function portHref(host: string, port: number, protocol: Protocol, at: Place, scheme = location.protocol): string | undefined {
  if (host === '') return undefined;
  const slug = `${port}${protocol === 'https' ? 's' : ''}`;
  const whole = `${slug}--${at.agent}--${at.workspace}--${at.owner}`;
  const label = whole.length > longest && at.only ? `${slug}--${at.workspace}--${at.owner}` : whole;
  return label.length > longest ? undefined : `${scheme}//${host.replace('*', label.toLowerCase())}/`;
}

/** A port that was typed, or undefined for what is none that can be shared. */
export function readPort(typed: string): number | undefined {
  const n = /^\d{1,5}$/.test(typed.trim()) ? Number(typed) : 0;
  return n >= 9 && n <= 65535 ? n : undefined;
}
