import { send } from "../../api";
import { useDoing } from "../../load";
import { ago, count, doneMinute } from "../../parts/format";
import { mayWrite, NEEDS_WRITE } from "../../parts/may";
import { Figure, Notice, Panel } from "../../parts/panel";
import { Scroll } from "../../parts/scroll";
import { SessionName } from "../../parts/session";
import { Action } from "../../parts/tasks";
import { Id, Words } from "../../parts/words";
import type { About, Backlog, WorkerNote } from "../../shapes";

/** What is due, and what fails. */
export function Work({ backlog, about, again }: { backlog: Backlog; about: About; again: () => void }) {
  const doing = useDoing();
  const retry = (session?: string) => async () => {
    await send("POST", "/v1/retry", session === undefined ? {} : { session_id: session });
    again();
  };
  const idle = !backlog.pending && !backlog.leased && !backlog.waiting && !backlog.aside;
  return (
    <Panel
      title="Background work"
      testId="backlog"
      tools={
        backlog.failing.length ? (
          <span title={mayWrite(about) ? undefined : NEEDS_WRITE}>
            <Action doing={doing} disabled={!mayWrite(about)} work={retry()}>
              Retry all
            </Action>
          </span>
        ) : (
          <span class="badge good">{idle ? "✓ nothing is due" : "at work"}</span>
        )
      }
    >
      <dl class="figures">
        <Figure name="Pending" value={count(backlog.pending)} note="sessions that wait" of="pending" />
        <Figure name="In work" value={count(backlog.leased)} note="right now" of="inWork" />
        <Figure name="Waiting" value={count(backlog.waiting)} note="will be retried" of="waiting" />
        <Figure name="Set aside" value={count(backlog.aside)} note="failed too often" of="setAside" />
        <Figure
          name="Lag"
          of="lag"
          value={backlog.oldest === null ? "none" : ago(backlog.oldest)}
          note={backlog.oldest === null ? "" : "since the oldest waits"}
        />
        <Figure name="Without vectors" value={count(backlog.unembedded)} note="users" of="withoutVectors" />
      </dl>
      {doing.error ? <Notice error={doing.error} /> : null}
      {backlog.failing.length ? (
        <Scroll label="Failing sessions">
          <table data-testid="failing">
            <thead>
              <tr>
                <th>Session</th>
                <th>Why it fails</th>
                <th class="right">Attempts</th>
                <th>Next</th>
                <th>
                  <span class="hidden-label">Retry</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {backlog.failing.map((one) => (
                <tr key={one.session_id}>
                  <td class="text">
                    <SessionName id={one.session_id} />
                  </td>
                  <td class="text">
                    <Words text={one.reason} />
                  </td>
                  <td class="right">{count(one.attempts)}</td>
                  <td>{one.retry_at === null ? "set aside" : doneMinute(one.retry_at)}</td>
                  <td title={mayWrite(about) ? undefined : NEEDS_WRITE}>
                    <Action doing={doing} disabled={!mayWrite(about)} work={retry(one.session_id)}>
                      Retry
                    </Action>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      ) : null}
    </Panel>
  );
}

export function Workers({ workers }: { workers: readonly WorkerNote[] }) {
  return (
    <Panel title="Workers" testId="workers">
      {workers.length ? (
        <Scroll label="Table of workers">
          <table>
            <thead>
              <tr>
                <th>Worker</th>
                <th>State</th>
                <th>At</th>
                <th class="right">Done</th>
                <th class="right">Failed</th>
                <th>Seen</th>
              </tr>
            </thead>
            <tbody>
              {workers.map((one) => (
                <tr key={one.id}>
                  <td class="still">
                    <Id id={one.id} />
                  </td>
                  <td>
                    <span class={`badge ${one.alive ? "good" : "bad"}`}>{one.alive ? "● alive" : "✕ gone"}</span>
                  </td>
                  <td class={one.session_id === null ? "" : "text"}>
                    {one.session_id === null ? (
                      "idle"
                    ) : (
                      <>
                        <Id id={one.session_id} />
                        {one.since === null ? null : <small> since {ago(one.since)}</small>}
                      </>
                    )}
                  </td>
                  <td class="right">{count(one.done)}</td>
                  <td class="right">{count(one.failed)}</td>
                  <td class="still">{ago(one.seen_at)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      ) : (
        <p class="soft">
          No worker yet. <code>lamina serve</code> starts one at the first write, or run <code>lamina worker</code>.
        </p>
      )}
    </Panel>
  );
}
