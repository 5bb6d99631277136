import { Fragment } from "preact";
import { useState } from "preact/hooks";
import { send } from "../../api";
import { useDoing, useLoad } from "../../load";
import { Dialog } from "../../parts/dialog";
import { doneMinute, times } from "../../parts/format";
import { mayWrite, NEEDS_WRITE } from "../../parts/may";
import { Notice, Waiting } from "../../parts/panel";
import { Action, More } from "../../parts/tasks";
import { Id, Words } from "../../parts/words";
import type { About, Receipt } from "../../shapes";
import { Going } from "./going";

export type Target = { fact_id: string } | { text: string; user_id: string };

/** First what would go, then for good, then the receipt. `close` says whether anything was erased. */
export function Forget({ target, user, close }: { target: Target; user: string; close: (erased: boolean) => void }) {
  const plan = useLoad((signal) => send<Receipt>("POST", "/v1/forget", { ...target, dry_run: true }, signal), []);
  const [receipt, setReceipt] = useState<Receipt | null>(null);
  const doing = useDoing();
  const nothing = plan.value !== null && isEmpty(plan.value);
  return (
    <Dialog
      title={receipt ? "Forgotten: the receipt" : "What would be forgotten"}
      close={() => close(receipt !== null)}
    >
      {plan.error ? <Notice error={plan.error} again={plan.again} /> : null}
      {plan.loading ? <Waiting what="Looking what would go" /> : null}
      {receipt ? (
        <ReceiptView receipt={receipt} />
      ) : nothing ? (
        <p data-testid="nothing-to-forget">There is nothing of it: nothing would be erased.</p>
      ) : plan.value ? (
        <>
          <p>
            Nothing is gone yet. Once you confirm, this is erased for good, also from the files, and cannot be undone.
          </p>
          <Going plan={plan.value} user={user} wanted={"text" in target ? target.text : null} />
          <More label="As a receipt, by ids">
            <ReceiptView receipt={plan.value} />
          </More>
        </>
      ) : null}
      {doing.error ? <Notice error={doing.error} /> : null}
      <footer class="tools" data-may-overlap="">
        {receipt ? (
          <button type="button" class="first" onClick={() => close(true)}>
            Done
          </button>
        ) : (
          <>
            <button type="button" onClick={() => close(false)}>
              Keep it
            </button>
            <Action
              doing={doing}
              kind="danger"
              disabled={!plan.value || nothing || plan.loading}
              work={async () => setReceipt(await send<Receipt>("POST", "/v1/forget", { ...target, dry_run: false }))}
            >
              {doing.busy ? "Forgetting…" : "Forget for good"}
            </Action>
          </>
        )}
      </footer>
    </Dialog>
  );
}

const isEmpty = (one: Receipt): boolean =>
  ![one.messages, one.redacted, one.sessions, one.summaries, one.digests, one.facts, one.episodes].some(
    (list) => list.length,
  ) &&
  !one.milestones &&
  !one.titles;

const KINDS = [
  ["messages", "Messages erased"],
  ["redacted", "Messages redacted"],
  ["sessions", "Sessions erased"],
  ["facts", "Facts erased"],
  ["episodes", "Episodes erased"],
  ["summaries", "Summaries erased"],
  ["digests", "Digests erased"],
  ["rewritten", "Summaries rewritten"],
  ["mentions_left", "Mentions left"],
] as const;

export function ReceiptView({ receipt }: { receipt: Receipt }) {
  const some = KINDS.filter(([name]) => receipt[name].length || name === "redacted" || name === "mentions_left");
  return (
    <div data-testid={receipt.dry_run ? "dry-run" : "receipt"}>
      <dl class="facts counts">
        {some.map(([name, told]) => (
          <Fragment key={name}>
            <dt>{told}</dt>
            <dd>
              {receipt[name].length ? (
                <More label={times(receipt[name].length, "id")}>
                  <ul class="ids">
                    {receipt[name].map((id) => (
                      <li key={id}>
                        <Id id={id} />
                      </li>
                    ))}
                  </ul>
                </More>
              ) : (
                "none"
              )}
            </dd>
          </Fragment>
        ))}
        {receipt.titles ? (
          <>
            <dt>Titles cut</dt>
            <dd>{receipt.titles}</dd>
          </>
        ) : null}
        {receipt.milestones ? (
          <>
            <dt>Milestones erased</dt>
            <dd>{receipt.milestones}</dd>
          </>
        ) : null}
        <dt>Values blocked</dt>
        <dd>{times(receipt.values_blocked, "value")} that will not be learnt again from what is left</dd>
        {receipt.dry_run ? null : (
          <>
            <dt>Scrubbed</dt>
            <dd>{receipt.scrubbed ? "✓ no old bytes are left in the files" : "old bytes may still be in the files"}</dd>
            <dt>When</dt>
            <dd>{doneMinute(receipt.at)}</dd>
            <dt>Asked for</dt>
            <dd>
              <Words text={receipt.target} />
            </dd>
            <dt>Receipt</dt>
            <dd>
              <Id id={receipt.id} />
            </dd>
            <dt>Hash</dt>
            <dd data-testid="digest">
              <Id id={receipt.digest} />
            </dd>
            <dt>Hash before</dt>
            <dd>{receipt.previous ? <Id id={receipt.previous} /> : "none: it is the first"}</dd>
          </>
        )}
      </dl>
      {receipt.mentions_left.length ? (
        <p>Mentions left are messages that still have the value in other words. Forget by words to erase them, too.</p>
      ) : null}
    </div>
  );
}

/** Forget whatever has some words. */
export function ForgetWords({ user, about, changed }: { user: string; about: About; changed: () => void }) {
  const [text, setText] = useState("");
  const [asked, setAsked] = useState<string | null>(null);
  const may = mayWrite(about);
  return (
    <>
      <form
        class="row"
        title={may ? undefined : NEEDS_WRITE}
        onSubmit={(event) => {
          event.preventDefault();
          setAsked(text.trim());
        }}
      >
        <label>
          Forget by words
          <input
            required
            dir="auto"
            value={text}
            disabled={!may}
            autocomplete="off"
            data-testid="forget-words"
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="danger" disabled={!may || !text.trim()}>
          Show what would go
        </button>
      </form>
      {asked === null ? null : (
        <Forget
          target={{ text: asked, user_id: user }}
          user={user}
          close={(erased) => {
            setAsked(null);
            if (!erased) return;
            setText("");
            changed();
          }}
        />
      )}
    </>
  );
}
