import { useState } from "preact/hooks";
import { at, send } from "../../api";
import { useDoing } from "../../load";
import { Dialog } from "../../parts/dialog";
import { percent } from "../../parts/format";
import { Notice } from "../../parts/panel";
import type { Fact } from "../../shapes";

const TYPES = ["fact", "decision", "preference", "entity", "procedure", "constraint", "goal"];

/** Store a memory by hand. */
export function Remember({ user, close, kept }: { user: string; close: () => void; kept: (fact: Fact) => void }) {
  const doing = useDoing();
  const [text, setText] = useState("");
  const [type, setType] = useState("fact");
  const [category, setCategory] = useState("");
  const [key, setKey] = useState("");
  const [importance, setImportance] = useState<number | null>(null);
  return (
    <Dialog title="Remember something" close={close}>
      <form
        class="remember"
        data-testid="remember"
        onSubmit={(event) => {
          event.preventDefault();
          doing.run(async () =>
            kept(
              await send<Fact>("POST", at`/v1/users/${user}/facts`, {
                text: text.trim(),
                type,
                category: category.trim() || null,
                key: key.trim() || null,
                importance,
              }),
            ),
          );
        }}
      >
        <label class="wide">
          What
          <textarea required dir="auto" rows={3} value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <label>
          Type
          <select value={type} onChange={(event) => setType(event.currentTarget.value)}>
            {TYPES.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <label>
          Key, if it has one
          <input dir="auto" value={key} placeholder="location" onInput={(event) => setKey(event.currentTarget.value)} />
        </label>
        <label>
          Category, if another than usual
          <input
            dir="auto"
            value={category}
            placeholder="identity"
            onInput={(event) => setCategory(event.currentTarget.value)}
          />
        </label>
        <label>
          Importance: {importance === null ? "as usual for the type" : percent(importance)}
          <input
            type="range"
            min={0}
            max={1}
            step={0.05}
            value={importance ?? 0.5}
            onInput={(event) => setImportance(Number(event.currentTarget.value))}
          />
        </label>
        <p class="wide soft">With a key, it replaces the current value of that key.</p>
        {doing.error ? <Notice error={doing.error} /> : null}
        <footer class="tools wide">
          <button type="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" class="first" disabled={doing.busy || !text.trim()}>
            Remember
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
