import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import type { ComponentType } from 'react';
import { usePermissionChecks } from '../../api/permissions';
import { buildInfo } from '../../api/queries';
import { Page } from '../../components/Page';
import { Restricted } from '../../components/Refusal';
import { PageTabs } from '../../components/PageTabs';
import { lazyComponent } from '../../components/lazyComponent';
import { Administration } from '../../notifications/Administration';
import { AppList } from '../../oauth2/AppList';
import { SupportPage } from '../../support/SupportPage';
import { DeploymentAppearance } from './Appearance';
import { DeploymentHealth } from './Health';
import { DeploymentOverview } from './Overview';
import { DeploymentOptions } from './DeploymentOptions';
import { OrganizationSync } from './OrganizationSync';
import type { DeploymentTab } from './tabs';

const Insights = lazyComponent(() => import('../../insights/DeploymentInsights'));

const tabs: {
  tab: DeploymentTab;
  title: string;
  needs?: 'sync' | 'notifications' | 'oauth2' | 'insights';
  Show: ComponentType;
}[] = [
  { tab: 'overview', title: 'Overview', Show: DeploymentOverview },
  { tab: 'health', title: 'Health', Show: DeploymentHealth },
  { tab: 'insights', title: 'Insights', needs: 'insights', Show: Insights },
  { tab: 'settings', title: 'Settings', Show: DeploymentOptions },
  { tab: 'sync', title: 'IdP sync', needs: 'sync', Show: OrganizationSync },
  { tab: 'notifications', title: 'Notifications', needs: 'notifications', Show: Administration },
  { tab: 'oauth2', title: 'OAuth2 applications', needs: 'oauth2', Show: AppList },
  { tab: 'support', title: 'Support', Show: SupportPage },
  { tab: 'appearance', title: 'Appearance', Show: DeploymentAppearance },
];

/** The deployment: usage, health, options and appearance. */
export default function DeploymentPage() {
  return (
    <Restricted permission="readDeployment" title="Deployment" needs="the role Owner or Auditor">
      <Deployment />
    </Restricted>
  );
}

function Deployment() {
  const { tab } = useParams({ from: '/shell/deployment/$tab' });
  const navigate = useNavigate();
  const { data: build } = useQuery(buildInfo);
  const may = usePermissionChecks({
    sync: { on: 'idpsync_settings', action: 'read' },
    oauth2: { on: 'oauth2_app', action: 'update' },
    notifications: { on: 'notification_message', action: 'read' },
    insights: { on: 'template', action: 'view_insights' },
  });
  return (
    <Page title="Deployment" hint={`Coder ${build?.version ?? ''}`}>
      <PageTabs
        tabs={tabs.filter((t) => !t.needs || may[t.needs])}
        value={tab}
        permissions={may}
        needs="the role Owner"
        onGo={(to) => void navigate({ to: '/deployment/$tab', params: { tab: to }, search: {} })}
        show={(at) => tabs.map(({ tab: t, Show }) => t === at && <Show key={t} />)}
      />
    </Page>
  );
}
