import { useState } from "preact/hooks";
import { all, at, get } from "../../api";
import { erased } from "../../feed";
import { useLoad } from "../../load";
import { Dialog } from "../../parts/dialog";
import { doneMinute } from "../../parts/format";
import { Notice, Panel, Waiting } from "../../parts/panel";
import { Scroll } from "../../parts/scroll";
import { Term } from "../../parts/term";
import { Id, Words } from "../../parts/words";
import { goTo } from "../../place";
import type { About, Divergence, Page, Receipt } from "../../shapes";
import { ForgetWords, ReceiptView } from "./forget";

const FIRST = 10;

/** Where summaries do not say what the facts say. */
export function Divergences({ user, round, open }: { user: string; round: number; open: (id: string) => void }) {
  const found = useLoad(
    (signal) => get<Page<Divergence>>(at`/v1/users/${user}/consistency`, {}, signal),
    [user, round],
  );
  const [whole, setWhole] = useState(false);
  const items = found.value?.items ?? [];
  return (
    <Panel title="Where summaries disagree with facts" testId="divergences">
      {found.error ? <Notice error={found.error} again={found.again} /> : null}
      {!found.value && !found.error ? <Waiting /> : null}
      {found.value && !items.length ? <p>✓ Every summary agrees with the facts.</p> : null}
      <ul class="plain">
        {items.slice(0, whole ? undefined : FIRST).map((one) => (
          <li key={`${one.fact_id} ${one.summary_id}`}>
            <p>
              <span class="badge warn">{one.kind}</span> <Words text={one.text} />
            </p>
            <small class="tools">
              <button type="button" class="link" onClick={() => open(one.fact_id)}>
                the fact
              </button>
              <span>
                against summary <Id id={one.summary_id} />
              </span>
              {one.session_id === null ? null : (
                <button
                  type="button"
                  class="link"
                  onClick={() => goTo({ screen: "timeline", user, session: one.session_id })}
                >
                  its session
                </button>
              )}
            </small>
          </li>
        ))}
      </ul>
      {items.length > FIRST && !whole ? (
        <button type="button" onClick={() => setWhole(true)}>
          Show all {items.length}
        </button>
      ) : null}
    </Panel>
  );
}

/** What was forgotten so far, and forgetting by words. */
export function Receipts({
  user,
  about,
  round,
  changed,
}: {
  user: string;
  about: About;
  round: number;
  changed: () => void;
}) {
  const found = useLoad((signal) => all<Receipt>("/v1/receipts", {}, signal), [about.tenant, round]);
  const [most, setMost] = useState(FIRST);
  const [shown, setShown] = useState<Receipt | null>(null);
  const items = [...(found.value ?? [])].reverse();
  return (
    <Panel title="Forgetting, and its receipts" testId="receipts">
      <ForgetWords user={user} about={about} changed={changed} />
      {found.error ? <Notice error={found.error} again={found.again} /> : null}
      {!found.value && !found.error ? <Waiting /> : null}
      {found.value && !items.length ? <p class="soft">Nothing was forgotten yet.</p> : null}
      {items.length ? (
        <Scroll label="Table of receipts">
          <table>
            <thead>
              <tr>
                <th>When</th>
                <th>Asked for</th>
                <th>Erased</th>
                <th>Hash</th>
              </tr>
            </thead>
            <tbody>
              {items.slice(0, most).map((one) => (
                <tr key={one.id} data-testid="receipt-row">
                  <td class="still">{doneMinute(one.at)}</td>
                  <td class="text">
                    <Words text={one.target} />
                  </td>
                  <td class="text">
                    {erased(one)}
                    {one.scrubbed ? (
                      <>
                        , <Term of="scrubbed">scrubbed</Term>
                      </>
                    ) : null}
                  </td>
                  <td>
                    <button type="button" class="link" onClick={() => setShown(one)}>
                      <code>{one.digest.slice(0, 10)}…</code>
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      ) : null}
      {items.length > most ? (
        <button type="button" onClick={() => setMost(most + 100)}>
          Show more
        </button>
      ) : null}
      {shown ? (
        <Dialog title="Receipt" close={() => setShown(null)}>
          <ReceiptView receipt={shown} />
        </Dialog>
      ) : null}
    </Panel>
  );
}
