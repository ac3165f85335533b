// The phases and steps of a build, on one time scale.

import type { Schema } from '../../api/client';

export interface Step {
  name: string;
  /** Milliseconds since the epoch. */
  from: number;
  to: number;
}

export interface Phase extends Step {
  stage: string;
  steps: Step[];
}

const titles: Record<string, string> = {
  init: 'Initialize',
  plan: 'Plan',
  graph: 'Graph',
  apply: 'Apply',
  connect: 'Connect agents',
  start: 'Startup scripts',
  stop: 'Shutdown scripts',
  cron: 'Scheduled scripts',
};

/** Groups the timings of a build by phase. Phases and steps are in order of their beginning. */
export function getPhases(timings: Schema<'WorkspaceBuildTimings'>): Phase[] {
  const phases = new Map<string, Phase>();
  const add = (stage: string, name: string, started: string, ended: string) => {
    const step = { name, from: Date.parse(started), to: Date.parse(ended) };
    const phase = phases.get(stage) ?? { ...step, stage, name: titles[stage] ?? stage, steps: [] };
    phase.from = Math.min(phase.from, step.from);
    phase.to = Math.max(phase.to, step.to);
    phase.steps.push(step);
    phases.set(stage, phase);
  };
  for (const t of timings.provisioner_timings) add(t.stage, t.resource || t.action, t.started_at, t.ended_at);
  for (const t of timings.agent_connection_timings) add(t.stage, t.workspace_agent_name, t.started_at, t.ended_at);
  for (const t of timings.agent_script_timings) add(t.stage, t.display_name, t.started_at, t.ended_at);
  const byBegin = (a: Step, b: Step) => a.from - b.from || a.to - b.to;
  return [...phases.values()].map((p) => ({ ...p, steps: p.steps.sort(byBegin) })).sort(byBegin);
}

/** Steps of an axis in seconds. */
const steps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600];

/** Returns the ticks of an axis that is length milliseconds long: at most seven round times from its beginning. */
export function durationTicks(length: number): number[] {
  const step = (steps.find((seconds) => seconds * 6_000 >= length) ?? 3600) * 1000;
  return Array.from({ length: Math.min(7, Math.floor(length / step) + 1) }, (_, i) => i * step);
}
