// Links that fill in the form of a new workspace:
//   /templates/<organization>/<template>/workspace?name=dev&param.size=4&disable_params=size&mode=auto

export interface CreateLink {
  /** The name of the workspace. */
  name?: string;
  /** auto: with what the link says, without the form. */
  mode?: 'auto';
  /** Parameters that cannot be changed in the form, with commas. */
  disable_params?: string;
  /** The id of a workspace to make another like. */
  from?: string;
  [parameter: `param.${string}`]: string | undefined;
}

/** What an address says, as it was written: the router reads what looks like JSON. */
const written = (v: unknown): string | undefined => (v === undefined || v === null ? undefined : typeof v === 'string' ? v : JSON.stringify(v));

/** Reads a link. */
export function readLink(s: Record<string, unknown>): CreateLink {
  const link: CreateLink = { name: written(s.name) || undefined, mode: s.mode === 'auto' ? 'auto' : undefined, disable_params: written(s.disable_params) || undefined, from: written(s.from) || undefined };
  for (const [key, v] of Object.entries(s)) if (key.startsWith('param.') && key.length > 6) link[key as `param.${string}`] = written(v);
  return link;
}

/** The parameters that a link gives values. */
export const valuesOf = (link: CreateLink): Record<string, string> =>
  Object.fromEntries(Object.entries(link).flatMap(([key, v]) => (key.startsWith('param.') && typeof v === 'string' ? [[key.slice(6), v]] : [])));

/** The parameters that the form of a link shows and does not let be changed. */
export const fixedBy = (link: CreateLink): Set<string> => new Set(link.disable_params?.split(',').map((p) => p.trim()).filter(Boolean));

/** Writes a link, to be put on other sites. */
export function writeLink(to: { organization: string; template: string; auto: boolean; name: string; values: Record<string, string> }): string {
  const q = new URLSearchParams();
  if (to.auto) q.set('mode', 'auto');
  if (to.name) q.set('name', to.name);
  for (const [name, value] of Object.entries(to.values)) q.set(`param.${name}`, value);
  const tail = q.size > 0 ? `?${q}` : '';
  return `${location.origin}/templates/${encodeURIComponent(to.organization)}/${encodeURIComponent(to.template)}/workspace${tail}`;
}

/** The longest that a workspace's name may be. */
const longest = 32;

/** The name of a workspace that is like another. */
export const copyName = (name: string): string => `${name.slice(0, longest - 5).replace(/-+$/, '')}-copy`;

/** A name for a workspace of a template that nobody chose. */
export function anyName(template: string): string {
  const random = [...crypto.getRandomValues(new Uint8Array(4))].map((b) => (b % 36).toString(36)).join('');
  return `${template.replace(/[^a-zA-Z0-9-]/g, '-').slice(0, longest - 5).replace(/-+$/, '')}-${random}`;
}
