/** The tabs of the page, as they appear in its URL. */
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
