import type { ComponentChildren } from "preact";
import { Refusal } from "../api";

export function Panel({
  title,
  children,
  tools,
  testId,
}: {
  title: string;
  children: ComponentChildren;
  tools?: ComponentChildren;
  testId?: string;
}) {
  return (
    <section class="panel" data-testid={testId} aria-label={title}>
      <header>
        <h2>{title}</h2>
        {tools ? <div class="tools">{tools}</div> : null}
      </header>
      {children}
    </section>
  );
}

/** What went wrong, and what would work. */
export function Notice({ error, again }: { error: Error; again?: () => void }) {
  const told =
    error instanceof Refusal && error.status === 403 ? `${error.message}. Show another key at the top.` : error.message;
  return (
    <div class="notice" role="alert">
      <span>{told}</span>
      {again ? (
        <button type="button" onClick={again}>
          Try again
        </button>
      ) : null}
    </div>
  );
}

export function Waiting({ what = "Loading" }: { what?: string }) {
  return (
    <p class="waiting" role="status" aria-busy="true">
      {what}…
    </p>
  );
}

/** Nothing here yet, and what would bring something. */
export function Empty({ children }: { children: ComponentChildren }) {
  return <div class="empty">{children}</div>;
}

/** A figure with its name below. */
export function Figure({ name, value, note }: { name: string; value: ComponentChildren; note?: ComponentChildren }) {
  return (
    <div class="figure">
      <dt>{name}</dt>
      <dd>
        {value}
        {note ? <small>{note}</small> : null}
      </dd>
    </div>
  );
}
