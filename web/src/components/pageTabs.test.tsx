// @vitest-environment jsdom
import { screen, waitFor } from '@testing-library/react';
import { afterEach, expect, test, vi } from 'vitest';
import { renderPage } from '../testing/renderPage';

const tabWidth = 100;
const listWidth = 250;

const isTab = (element: Element) => element.role === 'tab';
const getIndex = (tab: Element) => [...tab.parentElement!.children].indexOf(tab);

/** Lays out lists of tabs, which jsdom does not: each tab is 100 pixels wide, and its list is 250 pixels wide. */
function mockLayout(): void {
  vi.spyOn(HTMLElement.prototype, 'offsetLeft', 'get').mockImplementation(function (this: HTMLElement) {
    return isTab(this) ? getIndex(this) * tabWidth : 0;
  });
  vi.spyOn(HTMLElement.prototype, 'offsetWidth', 'get').mockImplementation(function (this: HTMLElement) {
    return isTab(this) ? tabWidth : 0;
  });
  vi.spyOn(Element.prototype, 'clientWidth', 'get').mockImplementation(function (this: Element) {
    return this.role === 'tablist' ? listWidth : 0;
  });
}

/** Reports whether the whole tab is in the visible part of its list. */
function isVisible(tab: HTMLElement): boolean {
  const list = screen.getByRole('tablist');
  const end = list.children.length * tabWidth - listWidth;
  const scrolled = Math.min(Math.max(list.scrollLeft, 0), end); // jsdom does not limit it
  const left = getIndex(tab) * tabWidth - scrolled;
  return left >= 0 && left + tabWidth <= listWidth;
}

afterEach(() => vi.restoreAllMocks());

test('the selected tab is scrolled into view', async () => {
  mockLayout();
  const user = await renderPage('/templates/platform/kubernetes?tab=settings');
  const settings = await screen.findByRole('tab', { name: 'Settings' });
  const overview = screen.getByRole('tab', { name: 'Overview' });
  expect(isVisible(settings)).toBe(true);
  expect(isVisible(overview)).toBe(false);

  await user.click(overview);
  await waitFor(() => expect(isVisible(overview)).toBe(true));
  expect(isVisible(settings)).toBe(false);
});
