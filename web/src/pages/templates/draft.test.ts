import { describe, expect, it } from 'vitest';
import { edits, applyEdits } from './draft';

const entry = (path: string, data: string | number[], mode = 0o644) => ({
  path,
  mode,
  data: typeof data === 'string' ? new TextEncoder().encode(data) : new Uint8Array(data),
});

describe('edits', () => {
  const base = [entry('bin', [0, 1]), entry('main.tf', 'a', 0o600), entry('old', 'x')];
  it('survive a round trip', () => {
    const now = [entry('bin', [0, 1]), entry('main.tf', '😀 <b>', 0o600), entry('new', '')];
    const kept = edits(base, now);
    expect(kept).toEqual({ 'main.tf': '😀 <b>', new: '', old: null });
    expect(applyEdits(base, JSON.parse(JSON.stringify(kept)))).toEqual(now);
  });
  it('are empty for identical files', () => expect(edits(base, base)).toEqual({}));
});
