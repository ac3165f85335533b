import { Tabs } from '@mantine/core';
import { useSuspenseQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { me } from '../../api/queries';
import { Page } from '../../parts/Page';
import { Appearance } from './Appearance';
import { Profile } from './Profile';
import { QuietHours } from './QuietHours';
import { SSHKey } from './SSHKey';
import { Security } from './Security';
import { Tokens } from './Tokens';
import type { AccountTab } from './routes';

const titles: Record<AccountTab, string> = { account: 'Profile', security: 'Security', 'ssh-key': 'SSH key', tokens: 'Tokens', schedule: 'Quiet hours', appearance: 'Appearance' };

/** One's own account. */
export default function Settings() {
  const { tab } = useParams({ from: '/shell/settings/$tab' });
  const navigate = useNavigate();
  const { data: self } = useSuspenseQuery(me);
  if (!self) return null;
  return (
    <Page title="Your account" hint={`${self.username} · ${self.email}`} wide={false}>
      <Tabs value={tab} onChange={(t) => navigate({ to: '/settings/$tab', params: { tab: t as AccountTab } })} keepMounted={false}>
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
        <Tabs.Panel value="schedule">
          <QuietHours />
        </Tabs.Panel>
        <Tabs.Panel value="appearance">
          <Appearance />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}
