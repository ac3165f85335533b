// Shared parts of the template settings forms.

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useNavigate } from '@tanstack/react-router';
import { type Schema, api } from '../../api/client';
import { notifySuccess } from '../../components/confirm';
import type { Template } from './queries';
import type { TemplateTab } from './tabs';

export const hour = 3_600_000;
export const day = 24 * hour;

/** Saves the given settings of a template and keeps the others. onSaved gets the values that
 * the fields had when the save began. */
export function useSaveTemplate<F>(
  template: Template,
  tab: TemplateTab,
  fields: F,
  onSaved: (saved: Template, sent: F) => void,
) {
  const client = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: (body: Schema<'UpdateTemplateMeta'>) =>
      api.patch('/templates/{template}', {
        path: { template: template.id },
        body: { ...body, if_updated_at: template.updated_at },
      }),
    onMutate: () => fields,
    onSuccess: async (saved, { name }, sent) => {
      onSaved(saved, sent);
      if (name && name !== template.name) {
        await navigate({
          to: '/templates/$organization/$template',
          params: { organization: template.organization_name, template: name },
          search: { tab },
          replace: true,
        });
      }
      await client.invalidateQueries({ queryKey: ['template'] });
      notifySuccess('Template saved');
    },
  });
}

/** Reports whether a template has changed since another copy of it was loaded. */
const isNewer = (template: Template, other: Template) =>
  template.updated_at !== other.updated_at && Date.parse(template.updated_at) >= Date.parse(other.updated_at);

/** The fields of a template form. Unedited fields follow changes by other users; edited
 * ones are kept and reported as a conflict. */
export function useTemplateFields<F extends object>(template: Template, read: (item: Template) => F) {
  const [base, setBase] = useState(template);
  const [f, setF] = useState(() => read(template));
  const same = (a: F, b: F) => JSON.stringify(a) === JSON.stringify(b);
  // After a save, the template is older than what was saved until it is loaded again.
  const newer = isNewer(template, base);
  const theirs = newer && !same(read(template), read(base));
  const touched = !same(f, read(base));
  if (newer && (!theirs || !touched)) {
    setBase(template);
    if (!touched) setF(read(template));
  }
  /** Restarts from the current template; keep preserves the edited fields. */
  const begin = (from: Template, keep = false) => {
    setBase(from);
    if (!keep) setF(read(from));
  };
  /** Continues from the saved template. Fields that were edited while it was saved are kept. */
  const saved = (to: Template, sent: F) => {
    setBase(to);
    setF((now) => (same(now, sent) ? read(to) : now));
  };
  return { f, setF, base, conflict: theirs && touched, begin, saved };
}

/** Returns the value of a number field times a unit; 0 when it is empty. */
export const toUnit = (value: string | number, unit: number): number => Math.round((Number(value) || 0) * unit);
