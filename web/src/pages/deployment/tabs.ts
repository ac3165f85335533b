/** The tabs of the page, as they appear in its URL. */
export const deploymentTabs = [
  'overview',
  'health',
  'insights',
  'settings',
  'sync',
  'notifications',
  'oauth2',
  'support',
  'appearance',
] as const;
export type DeploymentTab = (typeof deploymentTabs)[number];
