import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Doing } from "../load";
import { Dialog } from "./dialog";
import { Notice } from "./panel";

/** A button that does something on the service; busy while it does. */
export function Action({
  doing,
  work,
  children,
  kind = "",
  disabled = false,
}: {
  doing: Doing;
  work: () => Promise<void>;
  children: ComponentChildren;
  kind?: "" | "first" | "danger" | "quiet";
  disabled?: boolean;
}) {
  return (
    <button type="button" class={kind} disabled={disabled || doing.busy} onClick={() => doing.run(work)}>
      {children}
    </button>
  );
}

/** Asks before something is done that cannot be undone. */
export function Confirm({
  title,
  children,
  label,
  doing,
  work,
  close,
}: {
  title: string;
  children: ComponentChildren;
  label: string;
  doing: Doing;
  work: () => Promise<void>;
  close: () => void;
}) {
  return (
    <Dialog title={title} close={close}>
      {children}
      {doing.error ? <Notice error={doing.error} /> : null}
      <footer class="tools">
        <button type="button" onClick={close}>
          Keep it
        </button>
        <Action doing={doing} work={work} kind="danger">
          {label}
        </Action>
      </footer>
    </Dialog>
  );
}

/** Words that come and go with a click. */
export function More({
  label,
  children,
  open: begun = false,
}: {
  label: string;
  children: ComponentChildren;
  open?: boolean;
}) {
  const [open, setOpen] = useState(begun);
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{label}</summary>
      {open ? children : null}
    </details>
  );
}
