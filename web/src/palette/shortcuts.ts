import { createElement } from 'react';
import { modals } from '../components/dialogs';
import { lazyComponent } from '../components/lazyComponent';

const Shortcuts = lazyComponent(() => import('./Shortcuts'));

/** Opens the list of keyboard shortcuts. */
export const showShortcuts = (): void =>
  modals.open({ title: 'Keyboard shortcuts', children: createElement(Shortcuts) });
