import type { Schema } from '../api/client';

type Preset = Schema<'Preset'>;

/** Returns the maximum number of prebuilt workspaces of a preset. */
export const maxPrebuilds = (preset: Preset): number =>
  Math.max(preset.DesiredPrebuildInstances, ...(preset.prebuilds?.schedules ?? []).map((s) => s.instances));

/** Describes how many prebuilt workspaces of a preset are kept. */
export const describePrebuilds = (preset: Preset): string =>
  maxPrebuilds(preset) > preset.DesiredPrebuildInstances
    ? `${preset.DesiredPrebuildInstances} to ${maxPrebuilds(preset)} prebuilt`
    : `${maxPrebuilds(preset)} prebuilt`;
