// The form of a template's parameters as the server works it out: which there
// are, and what they may be, can depend on the values of others and on the owner.

import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type Schema, api } from '../api/client';
import type { Parameter } from './parameter';

type Preview = Schema<'PreviewParameter'>;
type Diagnostic = Schema<'FriendlyDiagnostic'>;

/** A worked-out parameter in the shape of those that depend on nothing. */
export function fromPreview(p: Preview): Parameter {
  const v = p.validations[0];
  return {
    name: p.name,
    display_name: p.display_name,
    description: p.description,
    description_plaintext: p.description,
    type: p.type,
    form_type: p.form_type,
    icon: p.icon,
    mutable: p.mutable,
    ephemeral: p.ephemeral,
    required: p.required,
    default_value: p.default_value.valid ? p.default_value.value : '',
    options: p.options.map((o) => ({ name: o.name, description: o.description, icon: o.icon, value: o.value.value })),
    validation_error: v?.validation_error ?? '',
    validation_min: v?.validation_min,
    validation_max: v?.validation_max,
    validation_monotonic: v?.validation_monotonic ?? ('' as never),
    validation_regex: v?.validation_regex ?? '',
  };
}

/** What is wrong, in words; nothing for warnings. */
export function complaint(diagnostics: Diagnostic[]): string | undefined {
  const wrong = diagnostics.filter((d) => d.severity === 'error').map((d) => (d.detail ? `${d.summary}: ${d.detail}` : d.summary));
  return wrong.length > 0 ? wrong.join('; ') : undefined;
}

/** The form for these values; what it was before, while it is worked out anew. */
export function useForm(version: string, owner: string | undefined, inputs: Record<string, string>) {
  const [settled] = useDebouncedValue(inputs, 250);
  return useQuery({
    queryKey: ['form', version, owner, settled],
    queryFn: ({ signal }) =>
      api.post('/templateversions/{templateversion}/dynamic-parameters/evaluate', {
        path: { templateversion: version },
        body: { id: 0, inputs: settled, owner_id: owner ?? '' },
        signal,
      }),
    placeholderData: keepPreviousData,
    enabled: version !== '' && owner !== undefined,
    retry: false,
    gcTime: 60_000,
  });
}
