import { useEffect, useState } from "preact/hooks";
import { get, send } from "../../api";
import { useDoing, useLoad } from "../../load";
import { count, doneSecond, times } from "../../parts/format";
import { mayRule, NEEDS_ADMIN } from "../../parts/may";
import { Notice, Panel, Waiting } from "../../parts/panel";
import { Scroll } from "../../parts/scroll";
import { Action } from "../../parts/tasks";
import { Id, Line, Words } from "../../parts/words";
import type { About, Audit, Page, Report } from "../../shapes";

const PAGE = 25;

/** Has the service check that everything stored is whole. */
export function Verify({ about }: { about: About }) {
  const doing = useDoing();
  const [report, setReport] = useState<Report | null>(null);
  const may = mayRule(about);
  return (
    <Panel
      title="Verification"
      testId="verify"
      tools={
        <span title={may ? undefined : NEEDS_ADMIN}>
          <Action
            doing={doing}
            disabled={!may}
            work={async () => setReport(await send<Report>("POST", "/v1/verify", {}))}
          >
            {doing.busy ? "Verifying…" : "Verify"}
          </Action>
        </span>
      }
    >
      {may ? null : <p class="soft">{NEEDS_ADMIN}</p>}
      {doing.error ? <Notice error={doing.error} /> : null}
      {report ? (
        <div role="status" data-testid="report">
          <p>
            <b class={report.problems.length ? "wrong" : "right"}>
              {report.problems.length ? `✕ ${times(report.problems.length, "problem")}` : "✓ Everything is whole"}
            </b>
            {`: ${times(report.sessions, "session")}, ${times(report.messages, "message")}, `}
            {`${times(report.summaries, "summary", "summaries")} and ${times(report.facts, "fact")} were looked at.`}
          </p>
          <ul>
            {report.problems.map((one) => (
              <li key={`${one.kind} ${one.where}`}>
                <b>
                  <Line text={one.kind} />
                </b>{" "}
                <Id id={one.where} /> <Words text={one.text} />
                {one.derived ? <small> (can be rebuilt: lamina repair)</small> : null}
              </li>
            ))}
          </ul>
        </div>
      ) : may ? (
        <p class="soft">
          Reads every message, summary and fact and compares them with their checksums; changes nothing.
        </p>
      ) : null}
    </Panel>
  );
}

/** Who asked what of the service, the newest first. */
export function AuditLog({ about, round }: { about: About; round: number }) {
  const may = mayRule(about);
  const first = useLoad(may ? (signal) => get<Page<Audit>>("/v1/audit", { limit: PAGE }, signal) : null, [may, round]);
  const [more, setMore] = useState<Page<Audit> | null>(null);
  const doing = useDoing();
  useEffect(() => setMore(null), [first.value]);
  const items = [...(first.value?.items ?? []), ...(more?.items ?? [])];
  const next = more ? more.next : (first.value?.next ?? null);
  return (
    <Panel title="Audit log" testId="audit">
      {may ? (
        <p class="soft">
          The newest requests that this process answered, this page's own among them; “Refresh” reads it again.
        </p>
      ) : (
        <p class="soft">{NEEDS_ADMIN}</p>
      )}
      {first.error ? <Notice error={first.error} again={first.again} /> : null}
      {may && !first.value && !first.error ? <Waiting /> : null}
      {items.length ? (
        <Scroll label="Table of requests">
          <table>
            <thead>
              <tr>
                <th>When</th>
                <th>Key</th>
                <th>Verb</th>
                <th class="right">Outcome</th>
                <th class="right">ms</th>
                <th>Request</th>
              </tr>
            </thead>
            <tbody>
              {items.map((one, place) => (
                <tr key={`${one.at} ${one.request} ${place}`}>
                  <td class="still">{doneSecond(one.at)}</td>
                  <td class="still">{one.key === null ? <i>none</i> : <Id id={one.key} />}</td>
                  <td class="still">
                    <Line text={one.verb} />
                  </td>
                  <td class="right">
                    <Outcome outcome={one.outcome} />
                  </td>
                  <td class="right">{count(Math.round(one.ms * 10) / 10)}</td>
                  <td class="still">
                    <Id id={one.request} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      ) : null}
      {doing.error ? <Notice error={doing.error} /> : null}
      {next ? (
        <Action
          doing={doing}
          work={async () => {
            const page = await get<Page<Audit>>("/v1/audit", { limit: PAGE * 4, cursor: next });
            setMore((before) => ({ items: [...(before?.items ?? []), ...page.items], next: page.next }));
          }}
        >
          Load more
        </Action>
      ) : null}
    </Panel>
  );
}

function Outcome({ outcome }: { outcome: number | string }) {
  const wrong = Number(outcome) >= 400;
  return <span class={wrong ? "wrong" : ""}>{wrong ? `✕ ${outcome}` : outcome}</span>;
}
