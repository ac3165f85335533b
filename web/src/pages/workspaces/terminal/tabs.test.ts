import { expect, test } from 'vitest';
import { addTab, closeTerminal, replaceTerminal, selectTab, splitTab } from './tabs';

const one = addTab({ tabs: [] });
const first = one.selected;

test('a new tab is selected and focused', () => {
  const two = addTab(one);
  expect(two.tabs).toHaveLength(2);
  expect(two.selected).not.toBe(first);
  expect(two.focused).toBe(two.selected);
  expect(selectTab(two, first)).toMatchObject({ selected: first, focused: first });
  expect(selectTab(two, 'unknown')).toBe(two);
});

test('a tab is split once', () => {
  const split = splitTab(one);
  expect(split.tabs[0]?.terminals).toHaveLength(2);
  expect(split.focused).toBe(split.tabs[0]?.terminals[1]);
  expect(splitTab(split).tabs).toEqual(split.tabs);
});

test('a closed terminal leaves its tab, and an empty tab leaves the page', () => {
  const split = splitTab(one);
  expect(closeTerminal(split, split.focused)).toEqual(one);
  expect(closeTerminal(split, first)).toMatchObject({ selected: first, focused: split.focused });
  const two = addTab(one);
  expect(closeTerminal(two, two.focused)).toEqual(one);
  expect(closeTerminal(two, first)).toMatchObject({ selected: two.selected, focused: two.focused });
  expect(closeTerminal(one, first)).toBe(one);
  expect(closeTerminal(two, 'unknown')).toBe(two);
});

test('a new shell replaces one that ended', () => {
  const split = splitTab(one);
  const replaced = replaceTerminal(split, first);
  expect(replaced.tabs[0]?.terminals).toEqual([expect.not.stringMatching(first), split.focused]);
  expect(replaced.focused).toBe(split.focused);
  expect(replaceTerminal(one, first).focused).not.toBe(first);
});
