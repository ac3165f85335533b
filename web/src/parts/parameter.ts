// What a value of a template's parameter may be. The server decides in the end
// (coder.ResolveParameters); this says so while one types.

import { queryOptions } from '@tanstack/react-query';
import { type Schema, api } from '../api/client';

export type Parameter = Schema<'TemplateVersionParameter'>;

/** The parameters of a version, those that depend on nothing as they are. They never change. */
export const parametersQuery = (version: string) =>
  queryOptions({
    queryKey: ['version', version, 'parameters'],
    queryFn: () => api.get('/templateversions/{templateversion}/rich-parameters', { path: { templateversion: version } }),
    enabled: version !== '',
    staleTime: Number.POSITIVE_INFINITY,
  });

/** What is wrong with a value, or undefined. previous is the value of the last build, for rules of order. */
export function problem(p: Parameter, value: string, previous?: string): string | undefined {
  if (value === '') return p.required ? 'This needs a value.' : undefined;
  const says = (fallback: string) => (p.validation_error ? p.validation_error.replaceAll('{value}', value).replaceAll('{min}', String(p.validation_min)).replaceAll('{max}', String(p.validation_max)) : fallback);
  if (p.options.length > 0 && p.type !== 'list(string)' && !p.options.some((o) => o.value === value)) return 'This is none of the options.';
  if (p.type === 'number') {
    const n = Number(value);
    if (!Number.isFinite(n)) return 'This is not a number.';
    if (p.validation_min !== undefined && p.validation_min !== null && n < p.validation_min) return says(`The least is ${p.validation_min}.`);
    if (p.validation_max !== undefined && p.validation_max !== null && n > p.validation_max) return says(`The most is ${p.validation_max}.`);
    if (previous !== undefined && previous !== '') {
      if (p.validation_monotonic === 'increasing' && n < Number(previous)) return says(`It may only grow: it was ${previous}.`);
      if (p.validation_monotonic === 'decreasing' && n > Number(previous)) return says(`It may only shrink: it was ${previous}.`);
    }
  }
  if (p.type === 'list(string)' && parseList(value) === undefined) return 'This is not a list.';
  if (p.type === 'string' && p.validation_regex) {
    let rule: RegExp | undefined;
    try {
      rule = new RegExp(p.validation_regex, 'u');
    } catch {
      // A rule of the server's dialect that browsers do not know: the server looks.
    }
    if (rule && !rule.test(value)) return says(`This does not match ${p.validation_regex}.`);
  }
  return undefined;
}

/** The items of a list(string) value, or undefined for what is none. */
export function parseList(value: string): string[] | undefined {
  try {
    const list: unknown = JSON.parse(value);
    if (Array.isArray(list) && list.every((x) => typeof x === 'string')) return list;
  } catch {
    // said by the result
  }
  return undefined;
}
