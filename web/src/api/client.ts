// The REST API, typed by the paths and bodies of schema.gen.ts.

import type { components, paths } from './schema.gen';
import { goesOn } from './session';

/** Schemas of the API by name: `Schema<'Workspace'>`. */
export type Schema<K extends keyof components['schemas']> = components['schemas'][K];

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';
type API = '/api/v2';
type Tail<M extends Method> = {
  [P in keyof paths]: P extends `${API}${infer T}` ? (paths[P][M] extends { responses: unknown } ? T : never) : never;
}[keyof paths];
type Op<M extends Method, T extends string> = `${API}${T}` extends keyof paths ? paths[`${API}${T}`][M] : never;
type JSONOf<R> = R extends { content: { 'application/json': infer B } } ? B : never;
/** What a path answers to a method. */
export type Answer<M extends Method, T extends string> =
  Op<M, T> extends { responses: infer R } ? JSONOf<R[keyof R]> : never;
type Body<M extends Method, T extends string> =
  Op<M, T> extends { requestBody: { content: { 'application/json': infer B } } } ? B : undefined;
type Variables<T extends string> = T extends `${string}{${infer V}}${infer Rest}` ? V | Variables<Rest> : never;

export type Query = Record<string, string | number | boolean | undefined>;

export interface Options<M extends Method, T extends string> {
  path?: { [V in Variables<T>]: string };
  query?: Query;
  body?: Body<M, T>;
  signal?: AbortSignal;
}

/** A request that the server refused, or that did not reach it (status 0). */
export class ApiError extends Error {
  readonly status: number;
  readonly detail: string;
  /** What is wrong with which field of the request. */
  readonly fields: Record<string, string>;

  constructor(status: number, message: string, detail = '', fields: Record<string, string> = {}) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.detail = detail;
    this.fields = fields;
  }
}

/** Gives the URL of a path, its variables filled in. */
export function urlOf(template: string, variables: Record<string, string> = {}, query: Query = {}): string {
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = variables[name];
    if (value === undefined) throw new Error(`${template} lacks ${name}`);
    return encodeURIComponent(value);
  });
  const search = new URLSearchParams();
  for (const [k, v] of Object.entries(query)) if (v !== undefined && v !== '') search.set(k, String(v));
  const tail = search.size > 0 ? `?${search}` : '';
  return `/api/v2${path}${tail}`;
}

async function refusal(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => ({}))) as Partial<Schema<'Response'>>;
  const fields: Record<string, string> = {};
  for (const v of body.validations ?? []) fields[v.field] = v.detail;
  return new ApiError(response.status, body.message || `The server answered ${response.status}.`, body.detail, fields);
}

/** Sends one request. It fails with an ApiError. */
export async function send(method: string, url: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, { ...init, method, credentials: 'same-origin' });
  } catch (cause) {
    if (init.signal?.aborted) throw cause;
    throw new ApiError(0, 'The server cannot be reached. Check your connection; this page goes on by itself when it is back.');
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

const whoAmI = '/api/v2/users/me'; // it is how one finds out whether a session goes on

async function call(method: string, template: string, o: Loose): Promise<never> {
  const init: RequestInit = { signal: o.signal };
  if (o.body !== undefined) {
    init.body = JSON.stringify(o.body);
    init.headers = { 'Content-Type': 'application/json' };
  }
  const url = urlOf(template, o.path, o.query);
  let response: Response;
  try {
    response = await send(method, url, init);
  } catch (error) {
    const over = error instanceof ApiError && error.status === 401 && method === 'GET' && url !== whoAmI;
    if (over && (await goesOn(o.signal))) return call(method, template, o);
    throw error;
  }
  const text = await response.text();
  return (text === '' ? undefined : JSON.parse(text)) as never;
}

interface Loose {
  path?: Record<string, string>;
  query?: Query;
  body?: unknown;
  signal?: AbortSignal;
}

type Call<M extends Method> = <T extends Tail<M>>(template: T, o?: Options<M, T>) => Promise<Answer<M, T>>;

const caller =
  <M extends Method>(method: M): Call<M> =>
  (template, o) =>
    call(method.toUpperCase(), template, (o ?? {}) as Loose);

/** One function a method: `api.get('/workspaces/{workspace}', { path: { workspace: id } })`. */
export const api = {
  get: caller('get'),
  post: caller('post'),
  put: caller('put'),
  patch: caller('patch'),
  delete: caller('delete'),
};
