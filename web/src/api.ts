/** The one way to the service: every call has the key, every refusal becomes a `Refusal` that says why. */

import type { Page } from "./shapes";

const KEY = "lamina-key";
export const SILENT = "The service does not answer. Is `lamina serve` still running?";

export class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** The key stays in this tab only, and is gone with it. */
export function key(): string | null {
  return sessionStorage.getItem(KEY);
}

export function keepKey(given: string | null): void {
  if (given) sessionStorage.setItem(KEY, given);
  else sessionStorage.removeItem(KEY);
}

/** A page that shows a person shows what belongs to each of their projects, too. */
export const ALL_PROJECTS = { project_id: "*" } as const;

type Query = Record<string, string | number | boolean | readonly string[] | null | undefined>;

interface Asked {
  query?: Query;
  body?: unknown;
  file?: Blob;
  signal?: AbortSignal | undefined;
  headers?: Record<string, string>;
}

/** An address from its parts, each written so that it stays one part. */
export function at(strings: TemplateStringsArray, ...ids: (string | number)[]): string {
  return strings.reduce((path, text, place) => path + encodeURIComponent(String(ids[place - 1])) + text);
}

function address(path: string, query: Query | undefined): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value === null || value === undefined) continue;
    for (const one of Array.isArray(value) ? value : [value]) given.append(name, String(one));
  }
  const text = given.toString();
  return text ? `${path}?${text}` : path;
}

/** The answer itself, once it is known to be good. */
export async function ask(method: string, path: string, asked: Asked = {}): Promise<Response> {
  const headers: Record<string, string> = { ...asked.headers };
  const secret = key();
  if (secret) headers.Authorization = `Bearer ${secret}`;
  if (asked.body !== undefined) headers["Content-Type"] = "application/json";
  if (asked.file) headers["Content-Type"] = "application/octet-stream";
  const init: RequestInit = { method, headers, credentials: "omit", cache: "no-store" };
  if (asked.body !== undefined) init.body = JSON.stringify(asked.body);
  if (asked.file) init.body = asked.file;
  if (asked.signal) init.signal = asked.signal;
  let answer: Response;
  try {
    answer = await fetch(address(path, asked.query), init);
  } catch (error) {
    if (asked.signal?.aborted) throw error;
    throw new Refusal(0, SILENT);
  }
  if (!answer.ok) throw new Refusal(answer.status, await reason(answer));
  return answer;
}

async function reason(answer: Response): Promise<string> {
  try {
    const told = await answer.json();
    return told.detail ?? told.error?.message ?? told.title ?? answer.statusText;
  } catch {
    return `${answer.status} ${answer.statusText}`;
  }
}

export async function get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> {
  return (await ask("GET", path, { ...(query ? { query } : {}), signal })).json() as Promise<T>;
}

export async function send<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  return (await ask(method, path, { body: body ?? {}, signal })).json() as Promise<T>;
}

/** All items of a list, page by page, up to `most`. */
export async function all<T>(path: string, query: Query = {}, signal?: AbortSignal, most = 20_000): Promise<T[]> {
  return onward<T>(path, { limit: 1000, ...query }, signal, [], null, most);
}

export const MOST_KNOWN = 10_000; // in a page of what is known of a user; the service reads all of it for every page

/** All that is known of a user: some of it soon, then the rest in few and large pages. */
export async function allKnown<T>(
  path: string,
  query: Query,
  signal: AbortSignal,
  soon: (some: T[]) => void,
  most = 20_000,
): Promise<T[]> {
  const first = await get<Page<T>>(path, { ...query, limit: 1000 }, signal);
  if (!first.next) return first.items;
  soon(first.items);
  return onward<T>(path, { ...query, limit: MOST_KNOWN }, signal, first.items, first.next, most);
}

async function onward<T>(
  path: string,
  query: Query,
  signal: AbortSignal | undefined,
  known: readonly T[],
  from: string | null,
  most: number,
): Promise<T[]> {
  const found = [...known];
  let cursor = from;
  do {
    const page: Page<T> = await get<Page<T>>(path, { ...query, cursor }, signal);
    for (const item of page.items) found.push(item);
    cursor = page.next;
  } while (cursor && found.length < most);
  return found;
}
