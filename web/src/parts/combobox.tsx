import type { ComponentChildren } from "preact";
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import "../style/combobox.css";

const DRAWN = 50; // choices that are drawn; more come with a scroll to the end

export interface Choice {
  value: string;
  name: string; // what the field shows once it is chosen
  words: string; // what is searched in, in lower case
  note: string;
}

/** A field that opens a list to choose from; typing narrows it. Keys as in every list: arrows, Home, End, Enter, Escape. */
export function Combobox({
  label,
  choices,
  value,
  choose,
  none,
  hint,
}: {
  label: ComponentChildren;
  choices: readonly Choice[];
  value: string | null;
  choose: (value: string) => void;
  none: string; // what stands there when there is nothing to choose from
  hint: string;
}) {
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const [typed, setTyped] = useState<string | null>(null); // null: the list is closed
  const [place, setPlace] = useState(0);
  const [most, setMost] = useState(DRAWN);
  const chosen = choices.find((one) => one.value === value);
  const open = typed !== null;
  const found = useMemo(() => matching(choices, typed ?? ""), [choices, typed]);
  const shown = found.slice(0, most);
  const current = shown[place];

  const show = (words: string) => {
    const some = matching(choices, words);
    const at = words ? 0 : some.findIndex((one) => one.value === value);
    setTyped(words);
    setMost(Math.max(DRAWN, at + DRAWN));
    setPlace(Math.max(0, at));
  };
  const take = (one: Choice | undefined) => {
    setTyped(null);
    if (one && one.value !== value) choose(one.value);
  };
  const go = (next: number) => {
    const last = found.length - 1;
    const to = Math.max(0, Math.min(last, next));
    if (to >= most) setMost(to + DRAWN);
    setPlace(to);
  };
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [place, open]);
  const pressed = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    const moves: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 };
    const move = moves[event.key];
    if (move !== undefined) {
      event.preventDefault();
      if (open) go(place + move);
      else show("");
    } else if (open && (event.key === "Home" || event.key === "End")) {
      event.preventDefault();
      go(event.key === "Home" ? 0 : found.length - 1);
    } else if (open && event.key === "Enter") {
      event.preventDefault();
      take(current);
    } else if (open && event.key === "Escape") {
      event.preventDefault();
      setTyped(null);
    }
  };
  return (
    <div class="combobox">
      <label for={`${id}-field`}>{label}</label>
      <input
        ref={field}
        id={`${id}-field`}
        role="combobox"
        dir="auto"
        autocomplete="off"
        spellcheck={false}
        aria-expanded={open}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={open && current ? `${id}-${place}` : undefined}
        disabled={!choices.length && value === null}
        placeholder={open ? hint : none}
        value={typed ?? chosen?.name ?? value ?? ""}
        data-value={value ?? ""}
        onInput={(event) => show(event.currentTarget.value)}
        onClick={() => {
          if (!open) show("");
        }}
        onBlur={() => setTyped(null)}
        onKeyDown={pressed}
      />
      <div
        ref={list}
        id={`${id}-list`}
        role="listbox"
        tabIndex={-1}
        aria-label={hint}
        hidden={!open}
        data-may-overlap=""
        onPointerDown={(event) => event.preventDefault()} // the field keeps the focus
        onScroll={(event) => {
          const box = event.currentTarget;
          if (most < found.length && box.scrollTop + box.clientHeight > box.scrollHeight - 60) setMost(most + DRAWN);
        }}
      >
        {open
          ? shown.map((one, number) => (
              <div
                tabIndex={-1}
                key={one.value}
                id={`${id}-${number}`}
                role="option"
                aria-selected={number === place}
                data-chosen={one.value === value}
                onClick={() => take(one)}
              >
                <bdi dir="auto">{one.name}</bdi>
                <small>{one.note}</small>
              </div>
            ))
          : null}
        {open && !found.length ? (
          <div role="option" tabIndex={-1} aria-selected={false} aria-disabled={true}>
            Nothing matches.
          </div>
        ) : null}
      </div>
      {open ? (
        <span class="hidden-label" role="status">
          {found.length} found
        </span>
      ) : null}
    </div>
  );
}

/** Those that have every word that was typed; first those whose name has just these words, as they were typed. */
function matching(choices: readonly Choice[], typed: string): readonly Choice[] {
  const wanted = typed.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  if (!wanted.length) return choices;
  const phrase = wanted.join(" ");
  const isNamed = (one: Choice) => {
    const name = one.name.toLocaleLowerCase();
    return name === phrase || name.endsWith(` ${phrase}`) ? 0 : name.includes(phrase) ? 1 : 2;
  };
  return choices
    .filter((one) => wanted.every((word) => one.words.includes(word)))
    .sort((a, b) => isNamed(a) - isNamed(b));
}
