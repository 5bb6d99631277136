import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

/** A window over the page: the browser keeps the focus in it, Escape closes it. `side`: along the right edge. */
export function Dialog({
  title,
  children,
  close,
  side = false,
}: {
  title: string;
  children: ComponentChildren;
  close: () => void;
  side?: boolean;
}) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const shown = box.current;
    if (!shown) return;
    const before = document.activeElement;
    shown.showModal();
    return () => {
      shown.close();
      if (before instanceof HTMLElement || before instanceof SVGElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={box}
      class={side ? "side" : ""}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      onClick={(event) => {
        if (event.target === box.current) close();
      }}
    >
      <div class="inside">
        <header>
          <h2>{title}</h2>
          <button type="button" class="quiet" onClick={close} aria-label="Close">
            ✕
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}
