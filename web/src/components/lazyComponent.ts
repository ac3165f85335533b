// Components whose code is loaded when they are first rendered. Unlike React.lazy, a failed
// load can be repeated, and it never reloads the page.

import { type ComponentType, createElement, lazy } from 'react';
import { whenIdle } from '../lib/whenIdle';

/** The code of a component could not be loaded: the server is down, or it serves a newer version. */
export class LoadError extends Error {
  constructor(cause: unknown) {
    super('Part of the dashboard could not be loaded.', { cause });
    this.name = 'LoadError';
  }
}

const early: (() => Promise<void>)[] = [];

/** Returns a lazyComponent whose code loads after the first page, so that it works while the server is down. */
export function earlyComponent<P extends object>(load: () => Promise<{ default: ComponentType<P> }>): LazyComponent<P> {
  const component = lazyComponent(load);
  early.push(component.preload);
  return component;
}

/** Loads the code of the early components, one after another, whenever the browser has nothing else to do. */
export async function preloadComponents(): Promise<void> {
  for (const preload of early) {
    await new Promise<void>(whenIdle);
    await preload();
  }
}

const failures = new Set<() => void>();

/** Makes components that failed to load try again when they are next rendered. */
export function resetFailedComponents(): void {
  for (const reset of failures) reset();
  failures.clear();
}

/** A component whose code is loaded on first use. preload starts that earlier and never rejects. */
export type LazyComponent<P> = ((props: P) => React.ReactNode) & { preload: () => Promise<void> };

/** Returns a component whose code is loaded on first use. It throws a LoadError when loading fails. */
export function lazyComponent<P extends object>(load: () => Promise<{ default: ComponentType<P> }>): LazyComponent<P> {
  let pending: Promise<{ default: ComponentType<P> }> | undefined;
  let current: ComponentType<P> = lazy(start);
  let rendered = false;

  function start(): Promise<{ default: ComponentType<P> }> {
    pending ??= load().then(
      (module) => {
        if (!rendered) current = module.default; // preloaded: the first render is complete
        return module;
      },
      (error: unknown) => {
        failures.add(forget);
        throw new LoadError(error);
      },
    );
    return pending;
  }
  function forget(): void {
    pending = undefined;
    current = lazy(start); // the former one keeps its error
    rendered = false;
  }

  const Lazy = (props: P) => {
    rendered = true;
    return createElement(current, props);
  };
  const preload = async () => {
    if (failures.delete(forget)) forget();
    await start().catch(() => undefined); // rendering reports the error
  };
  return Object.assign(Lazy, { preload });
}
