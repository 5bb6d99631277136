import type { ComponentChildren } from "preact";
import { Refusal } from "../api";
import { Term } from "./term";
import type { TermName } from "./terms";

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
    error instanceof Refusal && error.status === 403 ? `${error.message}. Use another key (top right).` : error.message;
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

interface FigureProps {
  name: string;
  value: ComponentChildren;
  note?: ComponentChildren;
  of?: TermName;
}

/** A figure with its name; `of` explains a word of ours. */
export function Figure({ name, value, note, of }: FigureProps) {
  return (
    <div class="figure">
      <dt>{of ? <Term of={of}>{name}</Term> : name}</dt>
      <dd>
        {value}
        {note ? <small>{note}</small> : null}
      </dd>
    </div>
  );
}
