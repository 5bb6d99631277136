import type { ComponentChildren } from "preact";

/** A frame for what may be wider than the page: it scrolls by itself, also by keyboard. */
export function Scroll({ label, kind = "", children }: { label: string; kind?: string; children: ComponentChildren }) {
  return (
    <div class={`scroll ${kind}`} tabIndex={0} role="region" aria-label={label}>
      {children}
    </div>
  );
}
