import type { Permission } from '../api/permissions';

/** The pages of the main navigation. */
export const navigationItems: { label: string; to: string; needs?: Permission }[] = [
  { label: 'Workspaces', to: '/workspaces' },
  { label: 'Templates', to: '/templates' },
  { label: 'Organizations', to: '/organizations' },
  { label: 'Users', to: '/users', needs: 'readUsers' },
  { label: 'Audit', to: '/audit', needs: 'readAudit' },
  { label: 'Deployment', to: '/deployment', needs: 'readDeployment' },
];
