import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { type Schema, api } from '../api/client';
import { notifyError } from '../components/confirm';

export type Report = Schema<'HealthcheckReport'>;
export type SectionName = Schema<'HealthSection'>;

/** The last health report of the server that answers. */
export const healthReport = queryOptions({ queryKey: ['health'], queryFn: () => api.get('/debug/health') });

/** The checks of the last 24 hours of all servers. */
export const healthHistory = queryOptions({
  queryKey: ['health', 'history'],
  queryFn: () => api.get('/debug/health/history'),
});

/** Runs the checks again. */
export function useRunChecks() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => api.get('/debug/health', { query: { force: true } }),
    onSuccess: async (fresh) => {
      client.setQueryData(healthReport.queryKey, fresh);
      await client.invalidateQueries({ queryKey: healthHistory.queryKey });
    },
    onError: notifyError,
  });
}

/** Dismisses the findings of a section, or restores them. */
export function useDismiss() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async ({ section, dismissed }: { section: SectionName; dismissed: boolean }) => {
      const now = await api.get('/debug/health/settings');
      const others = now.dismissed_healthchecks.filter((s) => s !== section);
      return api.put('/debug/health/settings', {
        body: { dismissed_healthchecks: dismissed ? [...others, section] : others },
      });
    },
    onSuccess: () => client.invalidateQueries({ queryKey: healthReport.queryKey, exact: true }),
    onError: notifyError,
  });
}
