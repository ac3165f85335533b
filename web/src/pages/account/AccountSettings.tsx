import type { ReactNode } from 'react';
import { useSuspenseQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { me } from '../../api/queries';
import { Page } from '../../components/Page';
import { PageTabs } from '../../components/PageTabs';
import { LinkedAccounts } from '../../externalauth/LinkedAccounts';
import { Preferences } from '../../notifications/Preferences';
import { AuthorizedApps } from '../../oauth2/AuthorizedApps';
import { Secrets } from '../../usersecrets/Secrets';
import { Appearance } from './Appearance';
import { Profile } from './Profile';
import { QuietHours } from './QuietHours';
import { SSHKey } from './SSHKey';
import { Security } from './Security';
import { Tokens } from './Tokens';
import type { AccountTab } from './tabs';

const titles: Record<AccountTab, string> = {
  account: 'Profile',
  security: 'Security',
  'ssh-key': 'SSH key',
  tokens: 'Tokens',
  secrets: 'Secrets',
  'external-auth': 'Linked accounts',
  applications: 'Applications',
  schedule: 'Quiet hours',
  appearance: 'Appearance',
  notifications: 'Notifications',
};

const tabs = Object.entries(titles).map(([tab, title]) => ({ tab: tab as AccountTab, title }));

/** The settings of the signed-in user's account. */
export default function AccountSettings() {
  const { tab }: { tab: AccountTab } = useParams({ from: '/shell/settings/$tab' });
  const navigate = useNavigate();
  const { data: self } = useSuspenseQuery(me);
  if (!self) return null;
  const panels: Record<AccountTab, () => ReactNode> = {
    account: () => <Profile self={self} />,
    security: () => <Security self={self} />,
    'ssh-key': () => <SSHKey />,
    tokens: () => <Tokens />,
    secrets: () => <Secrets />,
    'external-auth': () => <LinkedAccounts />,
    applications: () => <AuthorizedApps />,
    schedule: () => <QuietHours />,
    appearance: () => <Appearance />,
    notifications: () => <Preferences />,
  };
  return (
    <Page title="Account settings" hint={`${self.username} · ${self.email}`}>
      <PageTabs
        tabs={tabs}
        value={tab}
        onGo={(to) => navigate({ to: '/settings/$tab', params: { tab: to } })}
        show={(shown) => panels[shown]()}
      />
    </Page>
  );
}
