import { UsageReport } from './UsageReport';

/** Usage, costs and versions of an organization. */
export default function OrganizationInsights({ organization }: { organization: { id: string } }) {
  return <UsageReport organization={organization.id} />;
}
