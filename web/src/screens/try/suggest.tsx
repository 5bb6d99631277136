import { ALL_PROJECTS, at, get } from "../../api";
import { useLoad } from "../../load";
import { Words } from "../../parts/words";
import type { Fact, Page } from "../../shapes";

const SOME = 3;
const TELLS = [
  "I'm Alex. I live in Porto and my favourite drink is green tea.",
  "My name is Sam, and I am allergic to nuts.",
];
const ASKED: Record<string, string> = { location: "Where do I live?", employer: "Where do I work?" };
const PLAIN = /^\p{L}[\p{L} ]{2,30}$/u; // a key that can be asked for in a sentence

/**
 * Words to begin with; a click puts them into the box.
 *
 * Of somebody who has a memory they only ask: what is suggested must not replace what is true of them.
 */
export function Suggestions({ user, take }: { user: string; take: (words: string) => void }) {
  const known = useLoad(
    async (signal) => ({
      user,
      facts: (await get<Page<Fact>>(at`/v1/users/${user}/facts`, { ...ALL_PROJECTS, limit: 100 }, signal)).items,
      sessions: (await get<Page<unknown>>("/v1/sessions", { user_id: user, limit: 1 }, signal)).items.length,
    }),
    [user],
  );
  if (known.value?.user !== user) return null;
  const asks = questions(known.value.facts);
  const words = known.value.sessions || known.value.facts.length ? asks : TELLS;
  return (
    <div class="suggestions" data-testid="suggestions">
      {words.map((one) => (
        <button key={one} type="button" onClick={() => take(one)}>
          <Words text={one} />
        </button>
      ))}
    </div>
  );
}

export function questions(facts: readonly Fact[]): string[] {
  const keys = facts.flatMap((fact) =>
    fact.key && fact.text.startsWith(`${fact.key}: `) && PLAIN.test(fact.key) ? [fact.key] : [],
  );
  const asked = [...new Set(keys)].slice(0, SOME - 1).map((key) => ASKED[key] ?? `What is my ${key}?`);
  return [...asked, "What do you know about me?"];
}
