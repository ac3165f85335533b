// The open terminals of a browser tab. They are stored for the session, so that a reload shows
// the same shells.

/** A tab of the terminal page: one terminal, or two side by side. Each is the ID of a shell. */
export interface TerminalTab {
  id: string;
  terminals: string[];
}

export interface TerminalTabs {
  tabs: TerminalTab[];
  /** The ID of the selected tab. */
  selected: string;
  /** The terminal that has the focus, or had it last. */
  focused: string;
}

/** The largest number of tabs. An agent keeps up to 100 terminals for all users. */
export const maxTabs = 8;

const newID = () => crypto.randomUUID();

/** Adds a tab with a new shell, and selects it. */
export function addTab({ tabs }: { tabs: TerminalTab[] }): TerminalTabs {
  const id = newID();
  return { tabs: [...tabs, { id, terminals: [id] }], selected: id, focused: id };
}

/** Selects a tab. */
export function selectTab(state: TerminalTabs, id: string): TerminalTabs {
  const tab = state.tabs.find((t) => t.id === id);
  return tab ? { ...state, selected: id, focused: tab.terminals[0] ?? '' } : state;
}

/** Adds a second terminal to the selected tab. */
export function splitTab(state: TerminalTabs): TerminalTabs {
  const added = newID();
  const tabs = state.tabs.map((t) =>
    t.id === state.selected && t.terminals.length === 1 ? { ...t, terminals: [...t.terminals, added] } : t,
  );
  return { ...state, tabs, focused: added };
}

/** Replaces a terminal whose shell ended by a new one. */
export function replaceTerminal(state: TerminalTabs, ended: string): TerminalTabs {
  const fresh = newID();
  const tabs = state.tabs.map((t) => ({ ...t, terminals: t.terminals.map((id) => (id === ended ? fresh : id)) }));
  return { ...state, tabs, focused: state.focused === ended ? fresh : state.focused };
}

/** Closes a terminal, and its tab if it was the only one there. The last terminal stays. */
export function closeTerminal(state: TerminalTabs, closed: string): TerminalTabs {
  const at = state.tabs.findIndex((t) => t.terminals.includes(closed));
  if (at < 0 || (state.tabs.length === 1 && state.tabs[0]?.terminals.length === 1)) return state;
  const tabs = state.tabs
    .map((t) => ({ ...t, terminals: t.terminals.filter((id) => id !== closed) }))
    .filter((t) => t.terminals.length > 0);
  const selected = tabs.find((t) => t.id === state.selected) ?? tabs[Math.min(at, tabs.length - 1)];
  return selectTab({ ...state, tabs }, selected?.id ?? '');
}

/** Returns the stored tabs, or one tab with a new shell. */
export function loadTabs(key: string): TerminalTabs {
  try {
    const stored = JSON.parse(sessionStorage.getItem(key) ?? '') as TerminalTabs;
    if (stored.tabs.length > 0 && stored.tabs.every((t) => t.terminals.length > 0)) return stored;
  } catch {
    // Nothing is stored, or not in this form.
  }
  return addTab({ tabs: [] });
}

export function storeTabs(key: string, state: TerminalTabs) {
  sessionStorage.setItem(key, JSON.stringify(state));
}
