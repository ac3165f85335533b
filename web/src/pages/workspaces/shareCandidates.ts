import type { Schema } from '../../api/client';

/** A user or a group that a workspace can be shared with. */
export interface Candidate {
  kind: 'user' | 'group';
  id: string;
  label: string;
}

type Member = Pick<Schema<'OrganizationMemberWithUserData'>, 'user_id' | 'username' | 'name'>;
type Team = Pick<Schema<'Group'>, 'id' | 'name' | 'display_name'>;

/** Returns the members, then the groups, that are not in without. */
export function listCandidates(members: Member[], groups: Team[], without: string[]): Candidate[] {
  return [
    ...members.map((m): Candidate => ({
      kind: 'user',
      id: m.user_id,
      label: m.name ? `${m.username} (${m.name})` : m.username,
    })),
    ...groups.map((g): Candidate => ({ kind: 'group', id: g.id, label: `${g.display_name || g.name} (group)` })),
  ].filter((candidate) => !without.includes(candidate.id));
}
