import { expect, test } from 'vitest';
import { isServerPath, safeRedirect } from './SignIn';

test('The dashboard opens its own pages after sign-in, and the server those of the server', () => {
  for (const path of ['/oauth2/authorize?client_id=x', '/external-auth/github', '/api/v2/debug/health']) {
    expect(isServerPath(path), path).toBe(true);
  }
  for (const path of ['/workspaces', '/oauth2', '/settings/external-auth', '/@api/v2', '/apis/x']) {
    expect(isServerPath(path), path).toBe(false);
  }
});

test('A redirect cannot leave the origin', () => {
  for (const to of [undefined, '', 'https://example.com/', '//example.com', '/\\example.com']) {
    expect(safeRedirect(to)).toBe('/workspaces');
  }
  expect(safeRedirect('/templates?filter=x')).toBe('/templates?filter=x');
});
