// How many workspaces the list would have with another value of a filter.

import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type Schema, api } from '../../api/client';
import { getTerm, setTerm } from '../../lib/filterQuery';
import { useFirstPageShown } from '../../lib/firstPage';

type Count = Schema<'WorkspaceCount'>;

const counted = ['status', 'template', 'outdated', 'dormant', 'healthy'];

/** Returns the number of workspaces that match the counted filters of a search. */
export function countMatches(counts: readonly Count[], q: string): number {
  const has = (key: string, value: string | boolean) => {
    const wanted = getTerm(q, key)?.toLowerCase();
    return wanted === undefined || wanted === String(value).toLowerCase();
  };
  const unhealthy = getTerm(q, 'status') === 'unhealthy';
  return counts
    .filter((c) => (unhealthy ? c.unhealthy : has('status', c.status)))
    .filter((c) => has('template', c.template_name) && has('outdated', c.outdated) && has('dormant', c.dormant))
    .reduce((sum, c) => sum + c.count, 0);
}

/** Returns a function that counts the workspaces of a search that differs from q only in counted filters.
 * It returns undefined while the counts load. */
export function useWorkspaceCounts(q: string): (other: string) => number | undefined {
  const base = counted.reduce((rest, key) => setTerm(rest, key, undefined), q);
  const { data } = useQuery({
    queryKey: ['workspaces', 'counts', base],
    queryFn: ({ signal }) => api.get('/workspaces', { query: { q: base, limit: 1, counts: true }, signal }),
    placeholderData: keepPreviousData,
    staleTime: 15_000,
    enabled: useFirstPageShown(),
    retry: false,
  });
  return (other) => data && countMatches(data.counts ?? [], other);
}
