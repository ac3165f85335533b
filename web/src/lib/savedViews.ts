/** A filter and an order of a list under a name. */
export interface SavedView {
  name: string;
  q: string;
  sort?: string;
}

const isView = (v: unknown): v is SavedView => {
  const view = v as Partial<SavedView> | null;
  return (
    typeof view === 'object' &&
    typeof view?.name === 'string' &&
    typeof view.q === 'string' &&
    (view.sort === undefined || typeof view.sort === 'string')
  );
};

/** Reads stored views. Values of an unknown form are ignored. */
export function parseViews(text: string | undefined): SavedView[] {
  try {
    const all: unknown = JSON.parse(text ?? '[]');
    return Array.isArray(all) ? all.filter(isView) : [];
  } catch {
    return [];
  }
}

/** Returns the views with one more, which replaces a view of the same name. */
export const addView = (views: readonly SavedView[], view: SavedView): SavedView[] =>
  [...views.filter((v) => v.name !== view.name), view].sort((a, b) => a.name.localeCompare(b.name));
