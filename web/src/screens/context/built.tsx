import { count, percent } from "../../parts/format";
import { Panel } from "../../parts/panel";
import { sectionColour, sectionName, shares } from "../../parts/sections";
import { More } from "../../parts/tasks";
import { Words } from "../../parts/words";
import type { Context } from "../../shapes";
import { Covered } from "./covered";
import { LeftOut, Pieces, type Reading } from "./pieces";

/** One context: how it fills its budget, what it covers, and every piece of it. */
export function Built({
  title,
  context,
  loading,
  reading,
}: {
  title: string;
  context: Context;
  loading: boolean;
  reading: Reading;
}) {
  const { manifest, budget } = context;
  return (
    <Panel
      title={title}
      testId="built"
      tools={
        <small aria-live="polite">
          {loading ? "building… " : ""}profile {manifest.profile}, counted {manifest.exact ? "exactly" : "about"} by{" "}
          <Words text={manifest.counter} />
        </small>
      }
    >
      <p class="sum">
        <b data-testid="tokens">{count(context.tokens)}</b> of {count(budget.total)} tokens
        <small> ({percent(context.tokens / budget.total)})</small>
      </p>
      <Bar context={context} />
      <Covered coverage={manifest.coverage} />
      {manifest.warnings.length ? (
        <ul class="warnings">
          {manifest.warnings.map((warning) => (
            <li key={warning}>
              <span class="badge">left out</span> {warning}
            </li>
          ))}
        </ul>
      ) : null}
      <More label={`As the model gets it: ${context.messages.length} chat messages`}>
        <Exact context={context} />
      </More>
      <h3>Piece by piece</h3>
      <Pieces items={manifest.items} reading={reading} />
      <LeftOut omitted={manifest.omitted} reading={reading} />
    </Panel>
  );
}

function Bar({ context }: { context: Context }) {
  const { taken, free } = shares(context);
  const whole = taken.reduce((sum, one) => sum + one.tokens, 0) + free;
  const about = [
    ...taken.map((one) => `${sectionName(one.section)} ${count(one.tokens)}`),
    `free ${count(free)} tokens`,
  ].join(", ");
  return (
    <>
      <div class="budget-bar" role="img" aria-label={`The budget: ${about}`} data-testid="bar">
        {taken.map(({ section, tokens }) => (
          <i
            key={section}
            title={`${sectionName(section)}: ${count(tokens)} tokens`}
            style={{ width: `${(100 * tokens) / whole}%`, background: sectionColour(section) }}
          />
        ))}
      </div>
      <ul class="legend" data-testid="legend">
        {taken.map(({ section, tokens }) => (
          <li key={section}>
            <i style={{ background: sectionColour(section) }} />
            {sectionName(section)} <b>{count(tokens)}</b>
          </li>
        ))}
        <li>
          <i class="free" />
          free <b>{count(free)}</b>
        </li>
      </ul>
    </>
  );
}

function Exact({ context }: { context: Context }) {
  return (
    <ol class="exact" data-testid="exact">
      {context.messages.map((message, place) => (
        <li key={place} class={String(message.role)}>
          <span class="badge">{String(message.role)}</span>
          <pre>
            <Words
              block
              text={typeof message.content === "string" ? message.content : JSON.stringify(message, null, 1)}
            />
          </pre>
        </li>
      ))}
    </ol>
  );
}
