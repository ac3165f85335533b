// Saving what a template is set to.

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useNavigate } from '@tanstack/react-router';
import { type Schema, api } from '../../api/client';
import { praise } from '../../parts/confirm';
import type { Template } from './data';
import type { TemplateTab } from './routes';

export const hour = 3_600_000;
export const day = 24 * hour;

/** Saves some of a template's settings; what is not named stays. */
export function useSave(t: Template, tab: TemplateTab, onSaved: (saved: Template) => void) {
  const client = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: (body: Schema<'UpdateTemplateMeta'>) => api.patch('/templates/{template}', { path: { template: t.id }, body: { ...body, if_updated_at: t.updated_at } }),
    onSuccess: async (saved, { name }) => {
      onSaved(saved);
      if (name && name !== t.name) {
        await navigate({ to: '/templates/$organization/$template', params: { organization: t.organization_name, template: name }, search: { tab }, replace: true });
      }
      await client.invalidateQueries({ queryKey: ['template'] });
      praise('Saved');
    },
  });
}

/** The fields of a form about a template that others may change meanwhile: what
 * is typed stays; what is not, follows them. */
export function useFields<F extends object>(t: Template, read: (t: Template) => F) {
  const [base, setBase] = useState(t);
  const [f, setF] = useState(() => read(t));
  const same = (a: F, b: F) => JSON.stringify(a) === JSON.stringify(b);
  const theirs = t.updated_at !== base.updated_at && !same(read(t), read(base));
  const touched = !same(f, read(base));
  if (t.updated_at !== base.updated_at && (!theirs || !touched)) {
    setBase(t);
    if (!touched) setF(read(t));
  }
  /** Begins again with the template as it is; keep stays with what was typed. */
  const begin = (from: Template, keep = false) => {
    setBase(from);
    if (!keep) setF(read(from));
  };
  return { f, setF, base, conflict: theirs && touched, begin };
}

/** What a number field holds, times a unit; 0 when it is empty. */
export const times = (value: string | number, unit: number): number => Math.round((Number(value) || 0) * unit);
