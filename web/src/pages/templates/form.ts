// Saving what a template is set to.

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type Schema, api } from '../../api/client';
import { praise } from '../../parts/confirm';
import type { Template } from './data';
import type { TemplateTab } from './routes';

export const hour = 3_600_000;
export const day = 24 * hour;

/** Saves some of a template's settings; what is not named stays. */
export function useSave(t: Template, tab: TemplateTab) {
  const client = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: (body: Schema<'UpdateTemplateMeta'>) => api.patch('/templates/{template}', { path: { template: t.id }, body }),
    onSuccess: async (_, { name }) => {
      if (name && name !== t.name) {
        await navigate({ to: '/templates/$organization/$template', params: { organization: t.organization_name, template: name }, search: { tab }, replace: true });
      }
      await client.invalidateQueries({ queryKey: ['template'] });
      praise('Saved');
    },
  });
}

/** What a number field holds, times a unit; 0 when it is empty. */
export const times = (value: string | number, unit: number): number => Math.round((Number(value) || 0) * unit);
