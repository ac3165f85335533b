/** The tabs of the page, as they appear in its URL. */
export const organizationTabs = [
  'members',
  'groups',
  'roles',
  'provisioners',
  'queue',
  'jobs',
  'keys',
  'insights',
  'sync',
  'rules',
  'settings',
] as const;
export type OrganizationTab = (typeof organizationTabs)[number];
