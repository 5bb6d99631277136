/** What was known at a time, held against what is known today. */

import type { Fact } from "../../shapes";

export interface Known {
  fact: Fact;
  today: { is: "same" } | { is: "gone" } | { is: "other"; facts: Fact[] };
}

export interface Then {
  categories: { name: string; known: Known[] }[];
  later: Fact[]; // what is known today, about things of which nothing was known then
}

const about = (fact: Fact): string => JSON.stringify([fact.category, fact.slot]);

export function held(then: readonly Fact[], today: readonly Fact[]): Then {
  const now = new Map<string, Fact[]>();
  for (const fact of today) under(now, about(fact), fact);
  const categories = new Map<string, Known[]>();
  const known = new Set<string>();
  for (const fact of then) {
    known.add(about(fact));
    const others = now.get(about(fact)) ?? [];
    const is: Known["today"] = others.some((one) => one.value === fact.value)
      ? { is: "same" }
      : others.length
        ? { is: "other", facts: others }
        : { is: "gone" };
    under(categories, fact.category, { fact, today: is });
  }
  return {
    categories: [...categories].map(([name, list]) => ({ name, known: list })),
    later: today.filter((fact) => !known.has(about(fact))),
  };
}

function under<T>(lists: Map<string, T[]>, name: string, one: T): void {
  const list = lists.get(name);
  if (list) list.push(one);
  else lists.set(name, [one]);
}
