import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { TERMS, type TermName } from "./terms";

const GAP = 6; // pixels between a word and its explanation
const EDGE = 8; // pixels that are kept free at the edges of the page

/** A word of ours. Pointing at it, going to it by keyboard or touching it shows what it means; Escape hides that again. */
export function Term({ of, help, children }: { of?: TermName; help?: string; children: ComponentChildren }) {
  const id = useId();
  const word = useRef<HTMLElement>(null);
  const note = useRef<HTMLSpanElement>(null);
  const [shown, setShown] = useState(false);
  useLayoutEffect(() => {
    const [from, box] = [word.current, note.current];
    if (!shown || !from || !box) return;
    box.showPopover();
    const [around, own] = [from.getBoundingClientRect(), box.getBoundingClientRect()];
    const below = around.bottom + GAP;
    const top = below + own.height + EDGE > innerHeight ? Math.max(EDGE, around.top - GAP - own.height) : below;
    box.style.top = `${top}px`;
    box.style.left = `${Math.max(EDGE, Math.min(around.left, innerWidth - own.width - EDGE))}px`;
    const hide = () => setShown(false);
    const pressed = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      event.stopPropagation(); // a window around it stays open
      event.preventDefault();
      hide();
    };
    addEventListener("scroll", hide, true);
    addEventListener("keydown", pressed, true);
    return () => {
      box.hidePopover();
      removeEventListener("scroll", hide, true);
      removeEventListener("keydown", pressed, true);
    };
  }, [shown]);
  return (
    <dfn
      ref={word}
      class="term"
      tabIndex={0}
      aria-describedby={id}
      onPointerEnter={() => setShown(true)}
      onPointerLeave={(event) => {
        if (event.pointerType !== "touch") setShown(document.activeElement === word.current);
      }}
      onFocus={() => setShown(true)}
      onBlur={() => setShown(false)}
      onClick={(event) => {
        event.preventDefault(); // where it names a field: the field is not what was asked for
        word.current?.focus();
        setShown(true);
      }}
    >
      {children}
      <span ref={note} id={id} class="explanation" role="tooltip" popover="manual" data-may-overlap="">
        {help ?? (of ? TERMS[of] : "")}
      </span>
    </dfn>
  );
}
