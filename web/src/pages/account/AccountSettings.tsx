import { Tabs } from '@mantine/core';
import { useSuspenseQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { me } from '../../api/queries';
import { Page } from '../../components/Page';
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

/** The settings of the signed-in user's account. */
export default function AccountSettings() {
  const { tab } = useParams({ from: '/shell/settings/$tab' });
  const navigate = useNavigate();
  const { data: self } = useSuspenseQuery(me);
  if (!self) return null;
  return (
    <Page title="Account settings" hint={`${self.username} · ${self.email}`}>
      <Tabs
        value={tab}
        onChange={(t) => navigate({ to: '/settings/$tab', params: { tab: t as AccountTab } })}
        keepMounted={false}
      >
        <Tabs.List mb="lg">
          {Object.entries(titles).map(([t, title]) => (
            <Tabs.Tab key={t} value={t}>
              {title}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="account">
          <Profile self={self} />
        </Tabs.Panel>
        <Tabs.Panel value="security">
          <Security self={self} />
        </Tabs.Panel>
        <Tabs.Panel value="ssh-key">
          <SSHKey />
        </Tabs.Panel>
        <Tabs.Panel value="tokens">
          <Tokens />
        </Tabs.Panel>
        <Tabs.Panel value="secrets">
          <Secrets />
        </Tabs.Panel>
        <Tabs.Panel value="external-auth">
          <LinkedAccounts />
        </Tabs.Panel>
        <Tabs.Panel value="applications">
          <AuthorizedApps />
        </Tabs.Panel>
        <Tabs.Panel value="schedule">
          <QuietHours />
        </Tabs.Panel>
        <Tabs.Panel value="appearance">
          <Appearance />
        </Tabs.Panel>
        <Tabs.Panel value="notifications">
          <Preferences />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}
