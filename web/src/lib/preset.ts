import type { Schema } from '../api/client';
import { formatCount, formatNumber } from './text';

type Preset = Schema<'Preset'>;

/** Returns the maximum number of prebuilt workspaces of a preset. */
export const maxPrebuilds = (preset: Preset): number =>
  Math.max(preset.DesiredPrebuildInstances, ...(preset.prebuilds?.schedules ?? []).map((s) => s.instances));

/** Describes how many prebuilt workspaces of a preset are kept. */
export const describePrebuilds = (preset: Preset): string =>
  maxPrebuilds(preset) > preset.DesiredPrebuildInstances
    ? `${preset.DesiredPrebuildInstances} to ${maxPrebuilds(preset)} prebuilt`
    : `${maxPrebuilds(preset)} prebuilt`;

type PrebuildStatus = Schema<'PresetPrebuildStatus'>;

/** Explains how many prebuilt workspaces a preset has now. */
export function explainPrebuilds(preset: Preset, status: PrebuildStatus): string {
  const { defined_instances: defined, demand_instances: demand, desired_instances: desired } = status;
  const failures = formatCount(status.failures_in_a_row, 'failed build');
  if (status.suspended) {
    return `Suspended after ${failures} in a row: publish a fixed version, or replace the prebuilt workspaces to retry`;
  }
  if (status.failures_in_a_row > 0) return `Waiting before the next attempt after ${failures} in a row`;
  if (demand <= defined) return describePrebuilds(preset);
  const limit = desired < demand ? ', limited by the budget' : '';
  return `${formatNumber(defined)} by the preset, ${formatNumber(demand)} by the demand of past weeks${limit}`;
}
