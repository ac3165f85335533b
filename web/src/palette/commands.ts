// The commands of the palette that need no search on the server: pages and account actions.

import type { Permission } from '../api/permissions';
import { navigationItems } from '../layout/navigation';
import { capitalize } from '../lib/text';
import { accountTabs } from '../pages/account/tabs';
import { deploymentTabs } from '../pages/deployment/tabs';

/** A page that the palette opens. */
export interface PageCommand {
  label: string;
  to: string;
  needs?: Permission;
}

const words = (tab: string) => capitalize(tab.replaceAll('-', ' ')).replace('Ssh', 'SSH');

export const pageCommands: readonly PageCommand[] = [
  { label: 'Create workspace', to: '/templates' },
  { label: 'Create template', to: '/templates/new', needs: 'createTemplate' },
  ...navigationItems.map((page) => ({ ...page, label: `Go to ${page.label}` })),
  { label: 'Go to All workspaces', to: '/workspaces?q=all' },
  { label: 'Go to Connection log', to: '/audit/connections', needs: 'readConnections' },
  { label: 'Go to Inbox', to: '/notifications' },
  ...accountTabs.map((tab) => ({ label: `Settings: ${words(tab)}`, to: `/settings/${tab}` })),
  ...deploymentTabs.map((tab) => ({
    label: `Deployment: ${words(tab)}`,
    to: `/deployment/${tab}`,
    needs: 'readDeployment' as const,
  })),
];

/** Reports whether each word of a search is part of a label. */
export const matchesWords = (label: string, search: string): boolean =>
  search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => label.toLowerCase().includes(word));
