import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client';
import { formatCount } from '../../lib/text';

/** The daily cost of a workspace and the remaining quota of its owner. Hidden for workspaces without cost. */
export function WorkspaceCost({
  version,
  organization,
  owner,
}: {
  version: string;
  organization: string;
  owner: string;
}) {
  const resources = useQuery({
    queryKey: ['version', version, 'resources'],
    queryFn: () => api.get('/templateversions/{templateversion}/resources', { path: { templateversion: version } }),
  });
  const quota = useQuery({
    queryKey: ['quota', organization, owner],
    queryFn: () =>
      api.get('/organizations/{organization}/members/{user}/workspace-quota', { path: { organization, user: owner } }),
    retry: false,
  });
  const cost =
    resources.data
      ?.filter((resource) => resource.workspace_transition === 'start')
      .reduce((sum, resource) => sum + resource.daily_cost, 0) ?? 0;
  const budget = quota.data?.budget ?? -1;
  if (cost === 0) return null;
  const left = budget < 0 ? undefined : budget - (quota.data?.credits_consumed ?? 0);
  return (
    <Text size="sm" c={left !== undefined && cost > left ? 'red' : 'dimmed'}>
      Cost: {formatCount(cost, 'credit')} per day while running.
      {left !== undefined &&
        (cost > left
          ? ` Only ${left} of ${budget} credits are left: stop or delete another workspace first.`
          : ` ${left} of ${budget} credits are left.`)}
    </Text>
  );
}
