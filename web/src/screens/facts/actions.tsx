import { useState } from "preact/hooks";
import { ask, at, Refusal } from "../../api";
import { useDoing } from "../../load";
import { mayWrite, NEEDS_WRITE } from "../../parts/may";
import { Notice } from "../../parts/panel";
import { Action, Confirm } from "../../parts/tasks";
import { Words } from "../../parts/words";
import type { About, Fact } from "../../shapes";
import type { Tagged } from "./fact";
import { Forget } from "./forget";

/** What can be done to a fact; each only if it is still as it was read. */
export function FactActions({
  tagged: { fact, tag },
  about,
  reading,
  again,
  close,
  changed,
}: {
  tagged: Tagged;
  about: About;
  reading: boolean;
  again: () => void;
  close: () => void;
  changed: (next: string | null) => void;
}) {
  const doing = useDoing();
  const [asking, setAsking] = useState<"correct" | "retract" | "forget" | null>(null);
  const [value, setValue] = useState(fact.value);
  const [done, setDone] = useState("");
  const may = mayWrite(about);
  const disabled = !may || reading;
  const change = async (method: string, told: string, body?: unknown) => {
    const answer = await ask(method, at`/v1/facts/${fact.id}`, { body, headers: { "If-Match": tag } });
    const next = (await answer.json()) as Fact;
    setAsking(null);
    setDone(told);
    changed(next.id);
  };
  const stale = doing.error instanceof Refusal && doing.error.status === 412;
  return (
    <section aria-label="Actions" class="actions" data-testid="actions">
      <div class="tools" title={may ? undefined : NEEDS_WRITE}>
        <Action
          doing={doing}
          disabled={disabled}
          work={() => change("PATCH", "Promoted: this value is current.", { standing: "promoted" })}
        >
          Promote
        </Action>
        <Action
          doing={doing}
          disabled={disabled}
          work={() => change("PATCH", "Demoted: this value waits as a candidate.", { standing: "demoted" })}
        >
          Demote
        </Action>
        <button
          type="button"
          disabled={disabled}
          aria-expanded={asking === "correct"}
          onClick={() => setAsking(asking === "correct" ? null : "correct")}
        >
          Correct
        </button>
        <button type="button" disabled={disabled} onClick={() => setAsking("retract")}>
          Retract
        </button>
        <button type="button" class="danger" disabled={disabled} onClick={() => setAsking("forget")}>
          Forget
        </button>
      </div>
      {may ? null : <p class="soft">{NEEDS_WRITE}</p>}
      {asking === "correct" ? (
        <form
          class="row"
          onSubmit={(event) => {
            event.preventDefault();
            doing.run(() => change("PATCH", "Corrected: this is the new value.", { value: value.trim() }));
          }}
        >
          <label>
            The right value
            <input required dir="auto" value={value} onInput={(event) => setValue(event.currentTarget.value)} />
          </label>
          <button type="submit" class="first" disabled={doing.busy || !value.trim() || value.trim() === fact.value}>
            Save as a new version
          </button>
        </form>
      ) : null}
      {done && !doing.error ? <p role="status">✓ {done}</p> : null}
      {stale ? (
        <div class="notice" role="alert" data-testid="stale">
          <span>Somebody changed it meanwhile; nothing was done. Read it again, then decide.</span>
          <button
            type="button"
            onClick={() => {
              doing.run(async () => undefined);
              changed(null);
              again();
            }}
          >
            Read it again
          </button>
        </div>
      ) : doing.error ? (
        <Notice error={doing.error} />
      ) : null}
      {asking === "retract" ? (
        <Confirm
          title="Retract this fact?"
          label="Retract"
          doing={doing}
          close={() => setAsking(null)}
          work={() => change("DELETE", "Retracted.")}
        >
          <p>
            “<Words text={fact.value} />” then counts as never true. Its history keeps it; to erase it for good, forget
            it.
          </p>
        </Confirm>
      ) : null}
      {asking === "forget" ? (
        <Forget
          target={{ fact_id: fact.id }}
          user={fact.user_id}
          close={(erased) => {
            setAsking(null);
            if (!erased) return;
            changed(null);
            close();
          }}
        />
      ) : null}
    </section>
  );
}
