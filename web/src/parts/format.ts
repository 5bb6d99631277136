/** Numbers and times as people read them; the same everywhere. */

const NUMBER = new Intl.NumberFormat("en");
const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export const count = (value: number): string => NUMBER.format(value);
export const short = (value: number): string => SHORT.format(value);
export const percent = (share: number): string => `${Math.round(share * 100)} %`;
export const times = (number: number, one: string, many = `${one}s`): string =>
  `${count(number)} ${number === 1 ? one : many}`;

/** `2025-03-14 09:30`, in universal time as everything in the service is. */
export const second = (time: string): string => new Date(time).toISOString().slice(0, 19).replace("T", " ");
export const minute = (time: string): string => second(time).slice(0, 16);
export const day = (time: string): string => new Date(time).toISOString().slice(0, 10);

export function ago(time: string, now = Date.now()): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(time)) / 1000));
  for (const [size, name] of [
    [86_400, "day"],
    [3_600, "hour"],
    [60, "minute"],
  ] as const) {
    if (seconds >= size) return `${times(Math.floor(seconds / size), name)} ago`;
  }
  return `${times(seconds, "second")} ago`;
}

export const spanned = (span: { first: number; last: number } | null): string =>
  span === null
    ? ""
    : span.first === span.last
      ? `message ${count(span.first)}`
      : `messages ${count(span.first)}–${count(span.last)}`;
