import type { ReactNode } from 'react';
import layout from '../layout/layout.module.css';

interface Props {
  title: string;
  hint?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  /** Uses the full width, for tables. */
  wide?: boolean;
}

/** A page with its title, actions and content. */
export function Page({ title, hint, actions, children, wide = true }: Props) {
  return (
    <div className={wide ? layout.page : `${layout.page} ${layout.narrow}`}>
      <title>{`${title} · Coder`}</title>
      <div className={layout.top}>
        <div>
          <h1 className={layout.title}>{title}</h1>
          {hint && <div className={layout.hint}>{hint}</div>}
        </div>
        {actions && <div className={layout.actions}>{actions}</div>}
      </div>
      {children}
    </div>
  );
}
