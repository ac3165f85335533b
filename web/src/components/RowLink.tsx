import { useRouter } from '@tanstack/react-router';
import type { ComponentProps, MouseEvent } from 'react';

/** A link in a row. Unlike the router's Link, it does not follow the address of the page: a list has dozens. */
export function RowLink({ to, ...link }: { to: string } & ComponentProps<'a'>) {
  const router = useRouter();
  const open = (event: MouseEvent) => {
    const other = event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || event.button !== 0;
    if (other || event.defaultPrevented) return; // the browser opens it elsewhere
    event.preventDefault();
    router.history.push(to);
  };
  return (
    <a
      {...link}
      href={router.history.createHref(to)}
      onClick={open}
      onPointerEnter={() => void router.preloadRoute({ to }).catch(() => undefined)}
    />
  );
}
