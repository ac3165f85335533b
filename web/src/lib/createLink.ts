// Links that prefill the form for a new workspace:
//   /templates/<organization>/<template>/workspace?name=dev&param.size=4&disable_params=size&mode=auto

export interface CreateLink {
  /** The name of the workspace. */
  name?: string;
  /** auto: ask for confirmation instead of showing the form. */
  mode?: 'auto';
  /** Comma-separated names of parameters that are read-only in the form. */
  disable_params?: string;
  /** The id of a workspace to duplicate. */
  from?: string;
  [parameter: `param.${string}`]: string | undefined;
}

/** Returns a search parameter as it was written. The router parses values that look like JSON. */
const rawValue = (v: unknown): string | undefined =>
  v === undefined || v === null ? undefined : typeof v === 'string' ? v : JSON.stringify(v);

/** Parses the search parameters of a link. */
export function parseCreateLink(s: Record<string, unknown>): CreateLink {
  const link: CreateLink = {
    name: rawValue(s.name) || undefined,
    mode: s.mode === 'auto' ? 'auto' : undefined,
    disable_params: rawValue(s.disable_params) || undefined,
    from: rawValue(s.from) || undefined,
  };
  for (const [key, v] of Object.entries(s))
    if (key.startsWith('param.') && key.length > 6) link[key as `param.${string}`] = rawValue(v);
  return link;
}

/** Returns the parameter values of a link by name. */
export const getLinkValues = (link: CreateLink): Record<string, string> =>
  Object.fromEntries(
    Object.entries(link).flatMap(([key, v]) =>
      key.startsWith('param.') && typeof v === 'string' ? [[key.slice(6), v]] : [],
    ),
  );

/** Returns the names of the read-only parameters of a link. */
export const getFixedParameters = (link: CreateLink): Set<string> =>
  new Set(
    link.disable_params
      ?.split(',')
      .map((p) => p.trim())
      .filter(Boolean),
  );

/** Returns a link for use on other sites. */
export function buildCreateLink(to: {
  organization: string;
  template: string;
  auto: boolean;
  name: string;
  values: Record<string, string>;
}): string {
  const q = new URLSearchParams();
  if (to.auto) q.set('mode', 'auto');
  if (to.name) q.set('name', to.name);
  for (const [name, value] of Object.entries(to.values)) q.set(`param.${name}`, value);
  const tail = q.size > 0 ? `?${q}` : '';
  return `${location.origin}/templates/${encodeURIComponent(to.organization)}/${encodeURIComponent(to.template)}/workspace${tail}`;
}

/** The maximum length of a workspace name. */
const maxNameLength = 32;

/** Returns the suggested name for a copy of a workspace. */
export const copyName = (name: string): string => `${name.slice(0, maxNameLength - 5).replace(/-+$/, '')}-copy`;

/** Returns a random workspace name that starts with the template name. */
export function randomName(template: string): string {
  const random = [...crypto.getRandomValues(new Uint8Array(4))].map((b) => (b % 36).toString(36)).join('');
  return `${template
    .replace(/[^a-zA-Z0-9-]/g, '-')
    .slice(0, maxNameLength - 5)
    .replace(/-+$/, '')}-${random}`;
}
