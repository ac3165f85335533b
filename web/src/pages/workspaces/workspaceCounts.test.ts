import { expect, test } from 'vitest';
import { countMatches } from './workspaceCounts';

const rest = { outdated: false, dormant: false, unhealthy: false };
const counts = [
  { ...rest, status: 'running' as const, template_name: 'docker', count: 4 },
  { ...rest, status: 'running' as const, template_name: 'docker', unhealthy: true, count: 1 },
  { ...rest, status: 'stopped' as const, template_name: 'gpu', dormant: true, outdated: true, count: 2 },
];

test('counts follow the filters of the search', () => {
  expect(countMatches(counts, 'owner:me dev')).toBe(7);
  expect(countMatches(counts, 'status:running')).toBe(5);
  expect(countMatches(counts, 'status:unhealthy')).toBe(1);
  expect(countMatches(counts, 'template:GPU outdated:true')).toBe(2);
  expect(countMatches(counts, 'dormant:true status:running')).toBe(0);
});
