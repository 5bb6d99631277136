import { isWeighted, scoreLine } from "../../parts/score";
import type { Hit } from "../../shapes";
import { partNames } from "./standing";

const LOOKS: Record<string, number> = {
  words: 0,
  keyword: 0,
  meaning: 1,
  semantic: 1,
  neighbours: 2,
  time: 3,
  recency: 3,
  standing: 4,
  importance: 4,
  session: 5,
  access: 5,
  speaker: 6,
  role: 7,
  shape: 8,
};

/** The class that gives a part its colour and its pattern. */
export const look = (name: string): string => `part p${LOOKS[name] ?? 8}`;

/** The parts of a score in numbers. */
export function Parts({ hit }: { hit: Hit }) {
  const names = partNames([hit]);
  return (
    <details class="parts">
      <summary>{scoreLine(hit.score, isWeighted(hit.parts))}: part by part</summary>
      <table>
        <tbody>
          {names.map((name) => (
            <tr key={name}>
              <td>
                <i class={look(name)} /> {name}
              </td>
              <td class="right">{hit.parts[name]?.toFixed(3)}</td>
            </tr>
          ))}
          {hit.parts.cosine !== undefined ? (
            <tr>
              <td>cosine, for information</td>
              <td class="right">{hit.parts.cosine.toFixed(3)}</td>
            </tr>
          ) : null}
        </tbody>
      </table>
    </details>
  );
}
