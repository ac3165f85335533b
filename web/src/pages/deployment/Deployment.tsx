import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import type { ComponentType } from 'react';
import { useMay } from '../../api/permissions';
import { buildInfo } from '../../api/queries';
import { Page } from '../../parts/Page';
import { TabPages } from '../../parts/TabPages';
import { Appearance } from './Appearance';
import { Health } from './Health';
import { Overview } from './Overview';
import { Settings } from './Settings';
import { Sync } from './Sync';
import type { DeploymentTab } from './routes';

const tabs: { tab: DeploymentTab; title: string; needs?: 'sync'; Show: ComponentType }[] = [
  { tab: 'overview', title: 'Overview', Show: Overview },
  { tab: 'health', title: 'Health', Show: Health },
  { tab: 'settings', title: 'Settings', Show: Settings },
  { tab: 'sync', title: 'Identity provider', needs: 'sync', Show: Sync },
  { tab: 'appearance', title: 'Appearance', Show: Appearance },
];

/** The deployment as a whole: how much it is used, how it does, how it is set up. */
export default function Deployment() {
  const { tab } = useParams({ from: '/shell/deployment/$tab' });
  const navigate = useNavigate();
  const { data: build } = useQuery(buildInfo);
  const may = useMay({ sync: { on: 'idpsync_settings', action: 'read' } });
  return (
    <Page title="Deployment" hint={build && `Coder ${build.version}`}>
      <TabPages
        tabs={tabs.filter((t) => !t.needs || may[t.needs])}
        value={tab}
        onGo={(to) => void navigate({ to: '/deployment/$tab', params: { tab: to }, search: {} })}
        show={(at) => tabs.map(({ tab: t, Show }) => t === at && <Show key={t} />)}
      />
    </Page>
  );
}
