import { type ComponentProps, Suspense, useEffect, useId, useState } from 'react';
import { ErrorBoundary } from './ErrorBoundary';
import { notifyError } from './confirm';
import type { LazyComponent } from './lazyComponent';

/** How a popup is connected with its button. */
export interface PopupState {
  /** The id of the button is this followed by -target, that of the popup by -dropdown. */
  id: string;
  button: HTMLElement;
  opened: boolean;
  onChange: (opened: boolean) => void;
}

type Props<P> = ComponentProps<'button'> & {
  /** What the button opens: a ButtonMenu or ButtonPopover. Its code loads when the button is used. */
  popup: LazyComponent<P & { state: PopupState }>;
  /** The other properties of the popup. */
  popupProps: P;
  kind?: 'menu' | 'dialog';
};

/** A button that opens a menu or a popover. */
export function PopupButton<P extends object>({ popup: Opened, popupProps, kind = 'menu', ...button }: Props<P>) {
  const id = useId();
  const [element, setElement] = useState<HTMLElement>(); // once it was clicked
  const [opened, setOpened] = useState(false);
  const { preload } = Opened;
  const close = () => {
    setElement(undefined);
    setOpened(false);
  };
  return (
    <>
      <button
        id={`${id}-target`}
        type="button"
        aria-haspopup={kind}
        aria-expanded={opened}
        aria-controls={opened ? `${id}-dropdown` : undefined}
        onPointerEnter={() => void preload()}
        onFocus={() => void preload()}
        onClick={(event) => {
          void preload(); // again, if it failed
          setElement(event.currentTarget);
          setOpened(!opened);
        }}
        {...button}
      />
      {element && (
        <ErrorBoundary fallback={(error) => <Failed error={error} onClose={close} />}>
          <Suspense>
            <Opened {...popupProps} state={{ id, button: element, opened, onChange: setOpened }} />
          </Suspense>
        </ErrorBoundary>
      )}
    </>
  );
}

/** Reports that a popup could not be loaded. */
function Failed({ error, onClose }: { error: Error; onClose: () => void }) {
  useEffect(() => {
    notifyError(error);
    onClose();
  });
  return null;
}
