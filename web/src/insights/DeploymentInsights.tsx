import { UsageReport } from './UsageReport';

/** Usage, costs and versions of the deployment. */
export default function DeploymentInsights() {
  return <UsageReport />;
}
