// Unpublished edits of a template, kept in the session storage of the tab so that they
// survive reloads, sign-ins and navigation.

import { useWindowEvent } from '@mantine/hooks';
import { useEffect, useState } from 'react';
import { type Entry, diffEntries, decodeText } from './archive';

interface StoredDraft {
  base: string;
  /** Texts by path; null for a deleted file. */
  files: Record<string, string | null>;
}

const storageKey = (template: string) => `template-draft-${template}`;

function readDraft(template: string): StoredDraft | undefined {
  try {
    return (JSON.parse(sessionStorage.getItem(storageKey(template)) ?? 'null') as StoredDraft | undefined) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Returns the version that the stored edits are based on; undefined without edits. */
export const getDraftBase = (template: string): string | undefined => readDraft(template)?.base;

/** Applies edits to files. */
export function applyEdits(files: readonly Entry[], collectEdits: Record<string, string | null>): Entry[] {
  const out = new Map(files.map((file) => [file.path, file]));
  for (const [path, text] of Object.entries(collectEdits)) {
    if (text === null) out.delete(path);
    else out.set(path, { path, mode: out.get(path)?.mode ?? 0o644, data: new TextEncoder().encode(text) });
  }
  return [...out.values()].sort((file, entry) => (file.path < entry.path ? -1 : 1));
}

/** Returns the edits between two sets of files in the stored format. Binary files are left out. */
export function edits(from: readonly Entry[], to: readonly Entry[]): Record<string, string | null> {
  const out: Record<string, string | null> = {};
  for (const change of diffEntries(from, to)) {
    const text = decodeText(change.to);
    if (change.kind === 'removed') out[change.path] = null;
    else if (text !== undefined) out[change.path] = text;
  }
  return out;
}

interface Draft {
  files: Entry[];
  setFiles: (change: (files: Entry[]) => Entry[]) => void;
  /** The number of files that differ from the base. */
  changed: number;
  /** The edits were restored when the page opened. */
  restored: boolean;
  /** The edits are too large to be stored: closing the tab loses them. */
  storeFailed: boolean;
  discard: () => void;
}

/** Returns the files of a version with the edits of this tab. */
export function useDraft(template: string, base: string, original: Entry[]): Draft {
  const [files, setFiles] = useState(() => {
    const kept = readDraft(template);
    return kept?.base === base ? applyEdits(original, kept.files) : original;
  });
  const [restored, setRestored] = useState(() => files !== original && diffEntries(original, files).length > 0);
  const [unkept, setUnkept] = useState(false);
  const changed = files === original ? 0 : diffEntries(original, files).length;
  useEffect(() => {
    const timer = setTimeout(() => {
      try {
        if (changed === 0) sessionStorage.removeItem(storageKey(template));
        else
          sessionStorage.setItem(
            storageKey(template),
            JSON.stringify({ base, files: edits(original, files) } satisfies StoredDraft),
          );
        setUnkept(false);
      } catch {
        setUnkept(true);
      }
    }, 200);
    return () => clearTimeout(timer);
  }, [template, base, original, files, changed]);
  useWindowEvent('beforeunload', (event) => {
    if (changed > 0) event.preventDefault();
  });
  const discard = () => {
    sessionStorage.removeItem(storageKey(template));
    setRestored(false);
    setFiles(original);
  };
  return { files, setFiles, changed, restored, storeFailed: unkept, discard };
}

/** Deletes the stored edits of a template. */
export const deleteDraft = (template: string): void => sessionStorage.removeItem(storageKey(template));

/** Returns how many other tabs of this browser have the template open in the editor. */
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
