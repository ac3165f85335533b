// What a PopupButton opens. The code of menus and popovers is in this file's part of the build, which
// pages load when such a button is used.

import { Menu, type MenuProps, Popover, type PopoverProps } from '@mantine/core';
import { useMounted } from '@mantine/hooks';
import { type ReactNode, type Ref, useImperativeHandle } from 'react';
import type { PopupState } from './PopupButton';

/** A popup opens after it is mounted: Mantine then returns the focus to the button when it closes. */
function useOpened({ opened }: PopupState): boolean {
  return useMounted() && opened;
}

/** Stands for the button of a popup, which is rendered elsewhere. */
function Target({ button, ref }: { button: HTMLElement; ref?: Ref<HTMLElement> }) {
  useImperativeHandle(ref, () => button, [button]);
  return null;
}

/** The menu of a PopupButton. */
export function ButtonMenu({ state, children, ...menu }: { state: PopupState; children: ReactNode } & MenuProps) {
  return (
    <Menu id={state.id} opened={useOpened(state)} onChange={state.onChange} {...menu}>
      <Menu.Target>
        <Target button={state.button} />
      </Menu.Target>
      {children}
    </Menu>
  );
}

/** The popover of a PopupButton. */
export function ButtonPopover({
  state,
  children,
  ...popover
}: { state: PopupState; children: ReactNode } & PopoverProps) {
  return (
    <Popover id={state.id} opened={useOpened(state)} onChange={state.onChange} {...popover}>
      <Popover.Target>
        <Target button={state.button} />
      </Popover.Target>
      {children}
    </Popover>
  );
}
