// The REST API, typed by the paths and bodies of schema.gen.ts.

import type { components, paths } from './schema.gen';
import { waitForSession } from './session';

/** Schemas of the API by name: `Schema<'Workspace'>`. */
export type Schema<K extends keyof components['schemas']> = components['schemas'][K];

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';
type API = '/api/v2';
type PathOf<M extends Method> = {
  [P in keyof paths]: P extends `${API}${infer T}` ? (paths[P][M] extends { responses: unknown } ? T : never) : never;
}[keyof paths];
type Operation<M extends Method, T extends string> = `${API}${T}` extends keyof paths ? paths[`${API}${T}`][M] : never;
type JSONOf<R> = R extends { content: { 'application/json': infer B } } ? B : never;
/** The response body of a method on a path. */
export type ResponseBody<M extends Method, T extends string> =
  Operation<M, T> extends { responses: infer R } ? JSONOf<R[keyof R]> : never;
type Body<M extends Method, T extends string> =
  Operation<M, T> extends { requestBody: { content: { 'application/json': infer B } } } ? B : undefined;
type Variables<T extends string> = T extends `${string}{${infer V}}${infer Rest}` ? V | Variables<Rest> : never;

export type Query = Record<string, string | number | boolean | undefined>;

export interface Options<M extends Method, T extends string> {
  path?: { [V in Variables<T>]: string };
  query?: Query;
  body?: Body<M, T>;
  signal?: AbortSignal;
}

/** A failed request. The status is 0 when the server could not be reached. */
export class ApiError extends Error {
  readonly status: number;
  readonly detail: string;
  /** Validation messages by field name. */
  readonly fields: Record<string, string>;

  constructor(status: number, message: string, detail = '', fields: Record<string, string> = {}) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.detail = detail;
    this.fields = fields;
  }
}

/** Returns the URL of a path template with its variables filled in. */
export function buildURL(template: string, variables: Record<string, string> = {}, query: Query = {}): string {
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

async function readError(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => ({}))) as Partial<Schema<'Response'>>;
  const fields: Record<string, string> = {};
  for (const v of body.validations ?? []) fields[v.field] = v.detail;
  return new ApiError(
    response.status,
    body.message || `The server returned status ${response.status}.`,
    body.detail,
    fields,
  );
}

/** Sends one request. Throws an ApiError when it fails. */
export async function sendRequest(method: string, url: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, { ...init, method, credentials: 'same-origin' });
  } catch (cause) {
    if (init.signal?.aborted) throw cause;
    throw new ApiError(0, 'The server cannot be reached. Check your connection, then retry.');
  }
  if (!response.ok) throw await readError(response);
  return response;
}

const sessionURL = '/api/v2/users/me'; // this request checks the session itself, so it must not wait for it

async function callAPI(method: string, template: string, o: LooseOptions): Promise<never> {
  const init: RequestInit = { signal: o.signal };
  if (o.body !== undefined) {
    init.body = JSON.stringify(o.body);
    init.headers = { 'Content-Type': 'application/json' };
  }
  const url = buildURL(template, o.path, o.query);
  let response: Response;
  try {
    response = await sendRequest(method, url, init);
  } catch (error) {
    const over = error instanceof ApiError && error.status === 401 && method === 'GET' && url !== sessionURL;
    if (over && (await waitForSession(o.signal))) return callAPI(method, template, o);
    throw error;
  }
  const text = await response.text();
  return (text === '' ? undefined : JSON.parse(text)) as never;
}

interface LooseOptions {
  path?: Record<string, string>;
  query?: Query;
  body?: unknown;
  signal?: AbortSignal;
}

type Call<M extends Method> = <T extends PathOf<M>>(template: T, o?: Options<M, T>) => Promise<ResponseBody<M, T>>;

const createCaller =
  <M extends Method>(method: M): Call<M> =>
  (template, o) =>
    callAPI(method.toUpperCase(), template, (o ?? {}) as LooseOptions);

/** One function per method: `api.get('/workspaces/{workspace}', { path: { workspace: id } })`. */
export const api = {
  get: createCaller('get'),
  post: createCaller('post'),
  put: createCaller('put'),
  patch: createCaller('patch'),
  delete: createCaller('delete'),
};
