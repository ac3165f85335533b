// Reads the OpenAPI document of the server: matches requests to operations, and creates
// values that conform to its schemas.

import document from '../../api/openapi.json';
import type { Schema } from '../src/api/client';
import type { components } from '../src/api/schema.gen';

interface JSONSchema {
  $ref?: string;
  anyOf?: JSONSchema[];
  enum?: unknown[];
  type?: string | string[];
  format?: string;
  items?: JSONSchema;
  properties?: Record<string, JSONSchema>;
  required?: string[];
}

interface Operation {
  responses: Record<string, { content?: Record<string, { schema?: JSONSchema }> }>;
}

const schemas = document.components.schemas as Record<string, JSONSchema>;
const paths = document.paths as unknown as Record<string, Record<string, Operation>>;

/** The time that sampled values use. */
export const sampleTime = '2026-03-02T09:00:00Z';

/** Returns the smallest value that conforms to a schema: no optional properties, no items. */
function sampleValue(schema: JSONSchema): unknown {
  if (schema.$ref) return sampleValue(schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {});
  if (schema.anyOf) return schema.anyOf.some((s) => s.type === 'null') ? null : sampleValue(schema.anyOf[0] ?? {});
  if (schema.enum) return schema.enum[0];
  if (Array.isArray(schema.type)) return null;
  switch (schema.type) {
    case 'object':
      return Object.fromEntries((schema.required ?? []).map((k) => [k, sampleValue(schema.properties?.[k] ?? {})]));
    case 'array':
      return [];
    case 'string':
      if (schema.format === 'date-time') return sampleTime;
      return schema.format === 'uuid' ? '00000000-0000-4000-8000-000000000000' : '';
    case 'integer':
    case 'number':
      return 0;
    case 'boolean':
      return false;
    default:
      return null;
  }
}

/** Returns a value of a named schema with the given properties. */
export function create<K extends keyof components['schemas']>(name: K, properties: Partial<Schema<K>> = {}): Schema<K> {
  return { ...(sampleValue({ $ref: `#/components/schemas/${name}` }) as object), ...properties } as Schema<K>;
}

/** An operation of the API and the variables in the path of a request. */
export interface Match {
  path: string;
  variables: Record<string, string>;
  status: number;
  /** The sampled response body; undefined for none. */
  sample: unknown;
}

const patterns = Object.keys(paths)
  .map((path) => ({ path, parts: path.split('/') }))
  .sort((a, b) => countVariables(a.path) - countVariables(b.path)); // literal paths first

function countVariables(path: string): number {
  return path.split('{').length;
}

/** Finds the operation of a request; undefined for a path or a method that the API does not have. */
export function matchOperation(method: string, pathname: string): Match | undefined {
  const parts = pathname.split('/');
  for (const { path, parts: pattern } of patterns) {
    if (pattern.length !== parts.length || !pattern.every((p, i) => p.startsWith('{') || p === parts[i])) continue;
    const operation = paths[path]?.[method.toLowerCase()];
    if (!operation) continue;
    const [status = '200', response] = Object.entries(operation.responses).find(([code]) => code.startsWith('2')) ?? [];
    const schema = response?.content?.['application/json']?.schema;
    const names = pattern.flatMap((p, i) =>
      p.startsWith('{') ? [[p.slice(1, -1), decodeURIComponent(parts[i] ?? '')]] : [],
    );
    return {
      path,
      variables: Object.fromEntries(names) as Record<string, string>,
      status: Number(status),
      sample: schema && sampleValue(schema),
    };
  }
  return undefined;
}
