/** The tabs of the page of a template, as they appear in its URL. */
export const templateTabs = [
  'overview',
  'versions',
  'files',
  'variables',
  'permissions',
  'schedule',
  'settings',
  'embed',
  'insights',
] as const;
export type TemplateTab = (typeof templateTabs)[number];

/** The tabs of the page of a version, as they appear in its URL. */
export const versionTabs = ['changes', 'files', 'log'] as const;
export type VersionTab = (typeof versionTabs)[number];
