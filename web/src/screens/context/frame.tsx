import { count } from "../../parts/format";
import { Term } from "../../parts/term";
import type { About } from "../../shapes";

/** How much a context may hold, and by whose rules it is filled. */
export interface Frame {
  budget: number;
  profile: string;
}

const LEAST = 100;
const STEP = 100;

export function FrameInputs({
  about,
  frame,
  name,
  change,
  settled,
}: {
  about: About;
  frame: Frame;
  name: string;
  change: (frame: Frame) => void;
  settled: (frame: Frame) => void;
}) {
  const most = Math.max(8_000, about.prompt_token_budget * 2);
  const told = (what: string) => (name ? `${what} ${name}` : what);
  const budget = (text: string): Frame | null => {
    const given = Number(text);
    return Number.isInteger(given) && given > 0 ? { ...frame, budget: given } : null;
  };
  return (
    <fieldset class="frame">
      <legend class="hidden-label">{told("Context")}</legend>
      <label>
        <span>
          <Term of="budget">{told("Budget")}</Term> in tokens
        </span>
        <input
          type="number"
          min={1}
          step={1}
          required
          value={frame.budget}
          onInput={(event) => {
            const given = budget(event.currentTarget.value);
            if (given) change(given);
          }}
        />
      </label>
      <label class="slide">
        {told("Budget")}, {count(LEAST)} to {count(most)}
        <input
          type="range"
          min={LEAST}
          max={most}
          step={STEP}
          value={Math.min(most, frame.budget)}
          onInput={(event) => change({ ...frame, budget: Number(event.currentTarget.value) })}
          onChange={(event) => settled({ ...frame, budget: Number(event.currentTarget.value) })}
        />
      </label>
      <label>
        <span>
          <Term of="profile">{told("Profile")}</Term>
        </span>
        <select
          value={frame.profile}
          onChange={(event) => {
            const given = { ...frame, profile: event.currentTarget.value };
            change(given);
            settled(given);
          }}
        >
          {(about.profiles.includes(frame.profile) ? about.profiles : [frame.profile, ...about.profiles]).map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </label>
    </fieldset>
  );
}
