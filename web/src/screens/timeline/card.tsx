import { count, doneMinute, spanned, times } from "../../parts/format";
import { Line, Words } from "../../parts/words";
import type { Block } from "../../shapes";
import { layerName, shorter } from "./names";
import type { Group } from "./pins";

const WIDE = 340;

function place(x: number, y: number, wide: number) {
  const width = Math.min(WIDE, wide);
  return { left: `${Math.max(0, Math.min(wide - width, x - width / 2))}px`, top: `${y}px`, width: `${width}px` };
}

/** What a block is, beside it. */
export function BlockCard({
  block,
  text,
  x,
  y,
  wide,
}: {
  block: Block;
  text: string | null;
  x: number;
  y: number;
  wide: number;
}) {
  return (
    <div class="card" role="tooltip" data-may-overlap="" style={place(x, y, wide)} data-testid="card">
      <header>
        <b>{layerName(block.kind, block.layer)}</b>
        <span class="badge">{block.status}</span>
        <span>version {block.version}</span>
      </header>
      <p class="numbers">
        {spanned(block.covers)} · {times(block.tokens, "token")} for {count(block.covered_tokens)} ({shorter(block)})
        {block.due ? ` · due at message ${count(block.due)}` : ""} · written {doneMinute(block.created_at)}
      </p>
      <p class="beginning">{text === null ? "…" : <Line text={text} most={260} />}</p>
    </div>
  );
}

/** What is pinned here. */
export function PinCard({ group, y, wide }: { group: Group; y: number; wide: number }) {
  return (
    <div class="card" role="tooltip" data-may-overlap="" style={place(group.x, y, wide)} data-testid="card">
      <ul>
        {group.pins.slice(0, 6).map((pin) => (
          <li key={pin.id}>
            <Words text={pin.label} /> <small>{pin.note}</small>
          </li>
        ))}
      </ul>
      {group.pins.length > 6 ? <p>and {count(group.pins.length - 6)} more</p> : null}
    </div>
  );
}
