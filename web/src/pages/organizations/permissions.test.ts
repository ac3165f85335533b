import { describe, expect, it } from 'vitest';
import { type Permission, hasPermission, summarizePermissions, togglePermission } from './permissions';

const p = (resource_type: Permission['resource_type'], action: Permission['action'], negate = false): Permission => ({
  resource_type,
  action,
  negate,
});

describe('permissions of a role', () => {
  it('are added once and removed', () => {
    const one = togglePermission([], 'template', 'read', true);
    expect(togglePermission(one, 'template', 'read', true)).toEqual([p('template', 'read')]);
    expect(hasPermission(one, 'template', 'read')).toBe(true);
    expect(togglePermission(one, 'template', 'read', false)).toEqual([]);
  });
  it('that the form does not list are kept', () => {
    const odd = [p('task', 'read'), p('template', 'read', true)];
    expect(togglePermission(odd, 'template', 'read', true)).toEqual([...odd, p('template', 'read')]);
    expect(hasPermission(odd, 'template', 'read')).toBe(false);
  });
  it('have a summary', () => {
    expect(summarizePermissions([])).toBe('No additional permissions');
    expect(summarizePermissions([p('*', 'read')])).toBe('All resources');
    expect(summarizePermissions([p('template', 'read'), p('template', 'update'), p('task', 'read')])).toBe(
      'templates, task',
    );
    expect(summarizePermissions([p('workspace', 'create', true)])).toBe('denied: workspaces');
    expect(summarizePermissions([p('idpsync_settings', 'read'), p('group_member', 'read')])).toBe(
      'IdP sync settings, group members',
    );
  });
});
