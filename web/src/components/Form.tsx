import { type ReactNode, useEffect, useRef } from 'react';

interface Props {
  /** The error of the last request. Its first invalid field, else its alert, gets the focus. */
  error: Error | null;
  /** Returns false, also later, when the input is invalid, which focuses the first invalid field. */
  onSubmit: () => false | void | Promise<false | void>;
  /** Disables the validation of the browser, for forms that validate while the user types. */
  noValidate?: boolean;
  children: ReactNode;
}

const invalid = '[aria-invalid="true"], .mantine-InputWrapper-error';

/** Moves the focus to the first field with an error, else to the error alert. */
function focusFirstError(form: HTMLFormElement): void {
  const first = form.querySelector<HTMLElement>(invalid);
  const field = first?.matches('[aria-invalid]')
    ? first
    : first?.parentElement?.querySelector<HTMLElement>('input, textarea, [role=slider]');
  const target = field ?? form.querySelector<HTMLElement>('[role=alert]');
  if (!target) return;
  if (target.matches('[role=alert]')) target.tabIndex = -1;
  target.scrollIntoView({ block: 'center' });
  target.focus({ preventScroll: true });
}

/** A form that focuses the first error when a submit fails. */
export function Form({ error, onSubmit, noValidate, children }: Props) {
  const form = useRef<HTMLFormElement>(null);
  const submitted = useRef(false);
  // After the render that displays the errors of a failed request.
  useEffect(() => {
    if (error && submitted.current && form.current) focusFirstError(form.current);
    if (error) submitted.current = false;
  }, [error]);
  return (
    <form
      ref={form}
      noValidate={noValidate}
      onSubmit={(event) => {
        event.preventDefault();
        submitted.current = true;
        void Promise.resolve(onSubmit()).then((accepted) => {
          if (accepted === false) requestAnimationFrame(() => form.current && focusFirstError(form.current));
        });
      }}
    >
      {children}
    </form>
  );
}
