import { Tabs } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { buildInfo } from '../../api/queries';
import { Page } from '../../parts/Page';
import { Appearance } from './Appearance';
import { Health } from './Health';
import { Overview } from './Overview';
import { Settings } from './Settings';
import type { DeploymentTab } from './routes';

const titles: Record<DeploymentTab, string> = { overview: 'Overview', health: 'Health', settings: 'Settings', appearance: 'Appearance' };

/** The deployment as a whole: how much it is used, how it does, how it is set up. */
export default function Deployment() {
  const { tab } = useParams({ from: '/shell/deployment/$tab' });
  const navigate = useNavigate();
  const { data: build } = useQuery(buildInfo);
  return (
    <Page title="Deployment" hint={build && `Coder ${build.version}`}>
      <Tabs value={tab} onChange={(t) => navigate({ to: '/deployment/$tab', params: { tab: t as DeploymentTab }, search: {} })} keepMounted={false}>
        <Tabs.List mb="lg">
          {Object.entries(titles).map(([t, title]) => (
            <Tabs.Tab key={t} value={t}>
              {title}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="overview">
          <Overview />
        </Tabs.Panel>
        <Tabs.Panel value="health">
          <Health />
        </Tabs.Panel>
        <Tabs.Panel value="settings">
          <Settings />
        </Tabs.Panel>
        <Tabs.Panel value="appearance">
          <Appearance />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}
