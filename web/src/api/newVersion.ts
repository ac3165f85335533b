// Detects that the server serves a newer version of the dashboard than this page runs.

import { queryOptions } from '@tanstack/react-query';
import { sendRequest } from './client';

/** Returns the path of the main script of this page; undefined in development and in the demo. */
function mainScript(): string | undefined {
  const script = document.querySelector<HTMLScriptElement>('script[type=module][src^="/assets/"]');
  return script?.getAttribute('src') ?? undefined;
}

/** Reports whether the server serves another version of the dashboard. Fails while the server is down. */
export const newVersionQuery = queryOptions({
  queryKey: ['new-version'],
  queryFn: async ({ signal }) => {
    const script = mainScript();
    if (!script) return false;
    const page = await sendRequest('GET', '/', { cache: 'no-store', signal });
    return !(await page.text()).includes(`"${script}"`);
  },
  enabled: false,
  retry: false,
  staleTime: 0,
});
