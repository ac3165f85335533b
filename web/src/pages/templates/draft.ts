// What somebody edits and has not published: kept in this tab, so that a reload,
// a login in between and a walk to another page lose nothing.

import { useEffect, useState } from 'react';
import { type Entry, changes, textOf } from './archive';

interface Kept {
  base: string;
  /** Texts by path; null for a file that is gone. */
  files: Record<string, string | null>;
}

const key = (template: string) => `template-draft-${template}`;

function read(template: string): Kept | undefined {
  try {
    return JSON.parse(sessionStorage.getItem(key(template)) ?? 'null') as Kept | undefined ?? undefined;
  } catch {
    return undefined;
  }
}

/** The version that the kept edits of a template began with, if there are any. */
export const draftBase = (template: string): string | undefined => read(template)?.base;

/** Files with edits put onto them. */
export function withEdits(files: readonly Entry[], edits: Record<string, string | null>): Entry[] {
  const out = new Map(files.map((f) => [f.path, f]));
  for (const [path, text] of Object.entries(edits)) {
    if (text === null) out.delete(path);
    else out.set(path, { path, mode: out.get(path)?.mode ?? 0o644, data: new TextEncoder().encode(text) });
  }
  return [...out.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** What was edited, as it can be kept: files that are no texts are left out. */
export function edits(from: readonly Entry[], to: readonly Entry[]): Record<string, string | null> {
  const out: Record<string, string | null> = {};
  for (const c of changes(from, to)) {
    const text = textOf(c.to);
    if (c.kind === 'removed') out[c.path] = null;
    else if (text !== undefined) out[c.path] = text;
  }
  return out;
}

interface Draft {
  files: Entry[];
  setFiles: (change: (files: Entry[]) => Entry[]) => void;
  /** How many files are different from the base. */
  changed: number;
  /** The edits were there before this page was. */
  restored: boolean;
  /** The edits are too large to be kept: closing the tab loses them. */
  unkept: boolean;
  discard: () => void;
}

/** The files of a version as they are edited in this tab. */
export function useDraft(template: string, base: string, original: Entry[]): Draft {
  const [files, setFiles] = useState(() => {
    const kept = read(template);
    return kept?.base === base ? withEdits(original, kept.files) : original;
  });
  const [restored, setRestored] = useState(() => files !== original && changes(original, files).length > 0);
  const [unkept, setUnkept] = useState(false);
  const changed = files === original ? 0 : changes(original, files).length;
  useEffect(() => {
    const timer = setTimeout(() => {
      try {
        if (changed === 0) sessionStorage.removeItem(key(template));
        else sessionStorage.setItem(key(template), JSON.stringify({ base, files: edits(original, files) } satisfies Kept));
        setUnkept(false);
      } catch {
        setUnkept(true);
      }
    }, 200);
    return () => clearTimeout(timer);
  }, [template, base, original, files, changed]);
  useEffect(() => {
    if (changed === 0) return;
    const ask = (e: BeforeUnloadEvent) => e.preventDefault();
    window.addEventListener('beforeunload', ask);
    return () => window.removeEventListener('beforeunload', ask);
  }, [changed]);
  const discard = () => {
    sessionStorage.removeItem(key(template));
    setRestored(false);
    setFiles(original);
  };
  return { files, setFiles, changed, restored, unkept, discard };
}

/** Forgets the edits of a template, once they are published. */
export const forget = (template: string): void => sessionStorage.removeItem(key(template));

/** How many other tabs of this browser edit the template now. */
export function useOtherTabs(template: string): number {
  const [others, setOthers] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => {
    const me = crypto.getRandomValues(new Uint32Array(2)).join('-');
    const channel = new BroadcastChannel(`edit-${template}`);
    const say = (word: 'hello' | 'here' | 'bye') => channel.postMessage({ me, word });
    channel.onmessage = (e: MessageEvent<{ me: string; word: string }>) => {
      setOthers((old) => {
        const next = new Set(old);
        if (e.data.word === 'bye') next.delete(e.data.me);
        else next.add(e.data.me);
        return next;
      });
      if (e.data.word === 'hello') say('here');
    };
    const bye = () => say('bye');
    const back = (e: PageTransitionEvent) => e.persisted && say('hello');
    window.addEventListener('pagehide', bye);
    window.addEventListener('pageshow', back);
    say('hello');
    return () => {
      window.removeEventListener('pagehide', bye);
      window.removeEventListener('pageshow', back);
      bye();
      channel.close();
    };
  }, [template]);
  return others.size;
}
