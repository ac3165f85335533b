import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client';
import { plural } from '../../parts/plural';

/** What a workspace of a version costs a day, and what is left of its owner's budget; nothing for one that costs nothing. */
export function Cost({ version, organization, owner }: { version: string; organization: string; owner: string }) {
  const resources = useQuery({
    queryKey: ['version', version, 'resources'],
    queryFn: () => api.get('/templateversions/{templateversion}/resources', { path: { templateversion: version } }),
  });
  const quota = useQuery({
    queryKey: ['quota', organization, owner],
    queryFn: () => api.get('/organizations/{organization}/members/{user}/workspace-quota', { path: { organization, user: owner } }),
    retry: false,
  });
  const cost = resources.data?.filter((r) => r.workspace_transition === 'start').reduce((sum, r) => sum + r.daily_cost, 0) ?? 0;
  const budget = quota.data?.budget ?? -1;
  if (cost === 0) return null;
  const left = budget < 0 ? undefined : budget - (quota.data?.credits_consumed ?? 0);
  return (
    <Text size="sm" c={left !== undefined && cost > left ? 'red' : 'dimmed'}>
      It costs {plural(cost, 'credit')} a day while it runs.
      {left !== undefined && (cost > left ? ` ${left} are left of ${budget}: stop or delete another workspace first.` : ` ${left} are left of ${budget}.`)}
    </Text>
  );
}
