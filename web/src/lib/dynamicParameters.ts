// Dynamic parameters: the server evaluates which parameters exist and which values they
// accept, depending on the other values and on the owner.

import { queryOptions } from '@tanstack/react-query';
import { type Schema, api } from '../api/client';
import { type Parameter, validateMonotonic, validateParameter } from './parameter';

type Preview = Schema<'PreviewParameter'>;
type Diagnostic = Schema<'FriendlyDiagnostic'>;

/** A parameter of a form: how it looks, and its evaluated value. */
export interface FormParameter extends Parameter {
  /** The value that the server evaluated; the default value without one. */
  evaluated: string;
  placeholder: string;
  /** The label of a checkbox or switch; empty for the display name. */
  label: string;
  /** The input hides what is typed. */
  masked: boolean;
  /** The template does not let the user change the value. */
  locked: boolean;
  /** Why the evaluated value is invalid. */
  error?: string;
  warning?: string;
}

/** Converts an evaluated parameter to the shape of a form. */
export function parameterFromPreview(preview: Preview): FormParameter {
  const v = preview.validations[0];
  const default_value = preview.default_value.valid ? preview.default_value.value : '';
  return {
    name: preview.name,
    display_name: preview.display_name,
    description: preview.description,
    description_plaintext: preview.description,
    type: preview.type,
    form_type: preview.form_type,
    icon: preview.icon,
    mutable: preview.mutable,
    ephemeral: preview.ephemeral,
    required: preview.required,
    default_value,
    options: preview.options.map((o) => ({
      name: o.name,
      description: o.description,
      icon: o.icon,
      value: o.value.value,
    })),
    validation_error: v?.validation_error ?? '',
    validation_min: v?.validation_min,
    validation_max: v?.validation_max,
    validation_monotonic: v?.validation_monotonic ?? ('' as never),
    validation_regex: v?.validation_regex ?? '',
    evaluated: preview.value.valid ? preview.value.value : default_value,
    placeholder: preview.styling.placeholder ?? '',
    label: preview.styling.label ?? '',
    masked: preview.styling.mask_input ?? false,
    locked: preview.styling.disabled ?? false,
    error: formatDiagnostics(preview.diagnostics, 'error'),
    warning: formatDiagnostics(preview.diagnostics, 'warning'),
  };
}

/** Converts a static parameter, for a form that the server has not evaluated yet. */
export const parameterFromStatic = (parameter: Parameter): FormParameter => ({
  ...parameter,
  evaluated: parameter.default_value,
  placeholder: '',
  label: '',
  masked: false,
  locked: false,
});

/** Returns the messages of all diagnostics of a severity, or undefined. */
export function formatDiagnostics(diagnostics: Diagnostic[], severity: 'error' | 'warning'): string | undefined {
  const found = diagnostics
    .filter((d) => d.severity === severity)
    .map((d) => (d.detail ? `${d.summary}: ${d.detail}` : d.summary));
  return found.length > 0 ? found.join('; ') : undefined;
}

/** The form of a version for an owner and these values, as the server evaluates it. */
export const formQuery = (version: string, owner: string | undefined, inputs: Record<string, string>) =>
  queryOptions({
    queryKey: ['form', version, owner, inputs],
    queryFn: ({ signal }) =>
      api.post('/templateversions/{templateversion}/dynamic-parameters/evaluate', {
        path: { templateversion: version },
        body: { id: 0, inputs, owner_id: owner ?? '' },
        signal,
      }),
    enabled: version !== '' && owner !== undefined,
    retry: false,
    gcTime: 60_000,
  });

/**
 * Returns why the value of a parameter is invalid, or undefined. The server decides when it has
 * evaluated this value; until then the rules of the parameter are checked here.
 */
export function findError(
  parameter: FormParameter,
  value: string,
  previous: string | undefined,
  evaluated: boolean,
): string | undefined {
  if (!evaluated) return validateParameter(parameter, value, previous);
  if (value === '' && parameter.required) return validateParameter(parameter, value);
  return parameter.error ?? validateMonotonic(parameter, value, previous);
}
