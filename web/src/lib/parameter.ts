// Validates parameter values while the user types. The server validates them again.

import { queryOptions } from '@tanstack/react-query';
import { type Schema, api } from '../api/client';

export type Parameter = Schema<'TemplateVersionParameter'>;

/** The static parameters of a template version. They never change. */
export const parametersQuery = (version: string) =>
  queryOptions({
    queryKey: ['version', version, 'parameters'],
    queryFn: () =>
      api.get('/templateversions/{templateversion}/rich-parameters', { path: { templateversion: version } }),
    enabled: version !== '',
    staleTime: Number.POSITIVE_INFINITY,
  });

/** Returns why a value is invalid, or undefined. previous is the value of the last build, for monotonic validation. */
export function validateParameter(parameter: Parameter, value: string, previous?: string): string | undefined {
  if (value === '') return parameter.required ? 'Enter a value.' : undefined;
  const says = (fallback: string) => customMessage(parameter, value) ?? fallback;
  if (
    parameter.options.length > 0 &&
    parameter.type !== 'list(string)' &&
    !parameter.options.some((o) => o.value === value)
  )
    return 'Select one of the options.';
  if (parameter.type === 'number') {
    const n = Number(value);
    if (!Number.isFinite(n)) return 'Enter a number.';
    if (parameter.validation_min !== undefined && parameter.validation_min !== null && n < parameter.validation_min)
      return says(`The minimum is ${parameter.validation_min}.`);
    if (parameter.validation_max !== undefined && parameter.validation_max !== null && n > parameter.validation_max)
      return says(`The maximum is ${parameter.validation_max}.`);
    const wrong = validateMonotonic(parameter, value, previous);
    if (wrong) return wrong;
  }
  if (parameter.type === 'list(string)' && parseList(value) === undefined) return 'Enter a list.';
  if (parameter.type === 'string' && parameter.validation_regex) {
    let rule: RegExp | undefined;
    try {
      rule = new RegExp(parameter.validation_regex, 'u');
    } catch {
      // Go's regular expression syntax differs; the server validates this one.
    }
    if (rule && !rule.test(value)) return says(`The value must match ${parameter.validation_regex}.`);
  }
  return undefined;
}

/** Returns the error message of the template with its placeholders filled in, or undefined. */
function customMessage(parameter: Parameter, value: string): string | undefined {
  if (!parameter.validation_error) return undefined;
  return parameter.validation_error
    .replaceAll('{value}', value)
    .replaceAll('{min}', String(parameter.validation_min))
    .replaceAll('{max}', String(parameter.validation_max));
}

/** Returns why a number may not follow the value of the last build, or undefined. */
export function validateMonotonic(parameter: Parameter, value: string, previous?: string): string | undefined {
  if (parameter.type !== 'number' || previous === undefined || previous === '') return undefined;
  const change = Number(value) - Number(previous);
  const message = (verb: string) =>
    customMessage(parameter, value) ?? `The value can only ${verb}. It is ${previous} now.`;
  if (parameter.validation_monotonic === 'increasing' && change < 0) return message('increase');
  if (parameter.validation_monotonic === 'decreasing' && change > 0) return message('decrease');
  return undefined;
}

/** Returns the items of a list(string) value, or undefined when it is not a list. */
export function parseList(value: string): string[] | undefined {
  try {
    const list: unknown = JSON.parse(value);
    if (Array.isArray(list) && list.every((x) => typeof x === 'string')) return list;
  } catch {
    // reported by the result
  }
  return undefined;
}
