import { at, send } from "../../api";
import { useDoing } from "../../load";
import { doneMinute, percent, spanned, times } from "../../parts/format";
import { NEEDS_WRITE } from "../../parts/may";
import { Notice } from "../../parts/panel";
import { Action, More } from "../../parts/tasks";
import { Term } from "../../parts/term";
import { Words } from "../../parts/words";
import type { Proposal } from "../../shapes";
import { pairs } from "./diff";
import { Differences } from "./differences";

const MANY = 30; // changes that are shown at once
const STATUS = { open: "waits", accepted: "accepted", rolled_back: "rolled back" } as const;
const LOOK = { open: "warn", accepted: "good", rolled_back: "" } as const;

/** What was regenerated: how it differs, and whether to accept it. */
export function Proposed({
  proposal,
  mayWrite,
  done,
}: {
  proposal: Proposal;
  mayWrite: boolean;
  done: (proposal: Proposal) => void;
}) {
  const doing = useDoing();
  const decide = (verb: string) => async () =>
    done(await send<Proposal>("POST", `${at`/v1/proposals/${proposal.id}`}/${verb}`));
  const why = mayWrite ? undefined : NEEDS_WRITE;
  const differing = proposal.changes.length;
  return (
    <article class="proposal" data-testid="proposal">
      <header>
        <span class={`badge ${LOOK[proposal.status]}`}>{STATUS[proposal.status]}</span>
        <span>
          made {doneMinute(proposal.created_at)} by <Words text={proposal.recipe} />
        </span>
        <span>
          {times(differing, "change")}, <Term of="drift">drift</Term> {percent(proposal.drift)}
        </span>
        {proposal.status === "rolled_back" ? null : (
          <span class="tools" title={why}>
            {proposal.status === "open" ? (
              <Action doing={doing} work={decide("accept")} kind="first" disabled={!mayWrite}>
                Accept
              </Action>
            ) : null}
            <Action doing={doing} work={decide("roll-back")} disabled={!mayWrite}>
              Roll back
            </Action>
          </span>
        )}
      </header>
      {doing.error ? <Notice error={doing.error} /> : null}
      {differing === 0 ? (
        <p class="waiting">Nothing differs: the same models wrote the same words.</p>
      ) : (
        <More label={`What ${proposal.status === "open" ? "would change" : "differed"}`}>
          {proposal.changes.slice(0, MANY).map((change, place) => (
            <section class="proposed" key={place}>
              <h3>
                {change.kind === "fact" ? "Fact" : "Summary"}
                {change.span ? ` of ${spanned(change.span)}` : ""}{" "}
                <small>
                  {change.before === null ? "new" : change.after === null ? "gone" : `drift ${percent(change.drift)}`}
                </small>
              </h3>
              {pairs(change.diff).map((pair, number) => (
                <Differences key={number} before={pair.before} after={pair.after} />
              ))}
            </section>
          ))}
          {differing > MANY ? <p class="waiting">and {times(differing - MANY, "more change")}</p> : null}
        </More>
      )}
    </article>
  );
}
