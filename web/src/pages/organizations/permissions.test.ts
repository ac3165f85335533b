import { describe, expect, it } from 'vitest';
import { type Permission, holds, summary, toggled } from './permissions';

const p = (resource_type: Permission['resource_type'], action: Permission['action'], negate = false): Permission => ({ resource_type, action, negate });

describe('permissions of a role', () => {
  it('are put in once and taken out', () => {
    const one = toggled([], 'template', 'read', true);
    expect(toggled(one, 'template', 'read', true)).toEqual([p('template', 'read')]);
    expect(holds(one, 'template', 'read')).toBe(true);
    expect(toggled(one, 'template', 'read', false)).toEqual([]);
  });
  it('that are not shown stay as they are', () => {
    const odd = [p('task', 'read'), p('template', 'read', true)];
    expect(toggled(odd, 'template', 'read', true)).toEqual([...odd, p('template', 'read')]);
    expect(holds(odd, 'template', 'read')).toBe(false);
  });
  it('are said in words', () => {
    expect(summary([])).toBe('nothing more than any member');
    expect(summary([p('*', 'read')])).toBe('everything in the organization');
    expect(summary([p('template', 'read'), p('template', 'update'), p('task', 'read')])).toBe('templates, task');
    expect(summary([p('workspace', 'create', true)])).toBe('takes away rights to: workspaces');
  });
});
