import { useState } from "preact/hooks";
import { count } from "../../parts/format";
import { Panel } from "../../parts/panel";
import { Scroll } from "../../parts/scroll";
import { sectionColour, sectionName } from "../../parts/sections";
import { kindOf } from "../../parts/source";
import type { Manifest } from "../../shapes";
import { differences, type Only } from "./differences";
import { PieceName, type Reading } from "./pieces";

const FEW = 10; // that only one has and that are shown at first

/** What A and B do not have in common. */
export function Compared({ left, right, reading }: { left: Manifest; right: Manifest; reading: Reading }) {
  const found = differences(left, right);
  return (
    <Panel title="A against B" testId="differences">
      <Scroll label="Tokens by section">
        <table>
          <thead>
            <tr>
              <th>Section</th>
              <th class="right">A</th>
              <th class="right">B</th>
              <th class="right">B − A</th>
            </tr>
          </thead>
          <tbody>
            {found.sections.map((one) => (
              <tr key={one.section}>
                <td>
                  <i class="swatch" style={{ background: sectionColour(one.section) }} />
                  {sectionName(one.section)}
                </td>
                <td class="right">{count(one.left)}</td>
                <td class="right">{count(one.right)}</td>
                <td class="right">{signed(one.right - one.left)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      <div class="columns">
        <OnlyIn name="A" some={found.left} reading={reading} />
        <OnlyIn name="B" some={found.right} reading={reading} />
      </div>
    </Panel>
  );
}

const signed = (value: number): string => (value > 0 ? `+${count(value)}` : value < 0 ? `−${count(-value)}` : "0");

function OnlyIn({ name, some, reading }: { name: string; some: readonly Only[]; reading: Reading }) {
  const [whole, setWhole] = useState(false);
  return (
    <section class="pieces" aria-label={`Only in ${name}`} data-testid={`only-${name}`}>
      <h4>Only in {name}</h4>
      {some.length ? (
        <ul>
          {(whole ? some : some.slice(0, FEW)).map((one) => (
            <li key={`${one.id} ${one.session_id} ${one.span?.first}`}>
              <span class="badge">{kindOf(one)}</span>
              <PieceName found={one} reading={reading} />
              {one.tokens === null ? null : <span class="cost">{count(one.tokens)}</span>}
            </li>
          ))}
        </ul>
      ) : (
        <p class="note">Nothing.</p>
      )}
      {some.length > FEW ? (
        <button type="button" class="quiet" aria-expanded={whole} onClick={() => setWhole(!whole)}>
          {whole ? "Show fewer" : `Show all ${count(some.length)}`}
        </button>
      ) : null}
    </section>
  );
}
