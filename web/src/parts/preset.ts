import type { Schema } from '../api/client';

type Preset = Schema<'Preset'>;

/** How many workspaces of a preset are kept ready at the best of times. */
export const mostReady = (p: Preset): number => Math.max(p.desiredPrebuildInstances, ...(p.prebuilds?.schedules ?? []).map((s) => s.instances));

/** How many are kept ready, in words. */
export const readyWords = (p: Preset): string =>
  mostReady(p) > p.desiredPrebuildInstances ? `${p.desiredPrebuildInstances} to ${mostReady(p)} kept ready` : `${mostReady(p)} kept ready`;
