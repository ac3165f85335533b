/** The tabs of the page, as they appear in its URL. */
export const accountTabs = [
  'account',
  'security',
  'ssh-key',
  'tokens',
  'secrets',
  'external-auth',
  'applications',
  'schedule',
  'appearance',
  'notifications',
] as const;
export type AccountTab = (typeof accountTabs)[number];
