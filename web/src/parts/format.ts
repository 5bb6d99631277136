/** Numbers and times as people read them; the same everywhere. */

const NUMBER = new Intl.NumberFormat("en");
const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export const count = (value: number): string => NUMBER.format(value);
export const short = (value: number): string => SHORT.format(value);
export const percent = (share: number): string => `${Math.round(share * 100)} %`;
export const times = (number: number, one: string, many = `${one}s`): string =>
  `${count(number)} ${number === 1 ? one : many}`;

// A time keeps the zone in which it was said, and is shown in that zone: its day is the day that people meant.
const TIME = /^(\d{4,}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)[\d.,:]*(Z|[+-]\d\d:?\d\d)?)?/;

function parts(time: string): { day: string; clock: string; offset: string } {
  const [, found = "", clock = "", offset = ""] = TIME.exec(time) ?? [];
  return { day: found, clock, offset };
}

/** `UTC`, `UTC+2` or `UTC-3:30`; nothing for a day, which has no zone. */
export function zone(time: string): string {
  const { clock, offset } = parts(time);
  const [, sign, hours = "", minutes = ""] = /^([+-])(\d\d):?(\d\d)$/.exec(offset) ?? [];
  if (!clock) return "";
  if (!sign || Number(hours + minutes) === 0) return "UTC";
  return `UTC${sign}${Number(hours)}${minutes === "00" ? "" : `:${minutes}`}`;
}

/** `2025-03-14`, `09:30 UTC+1`, `2025-03-14 09:30 UTC+1`. */
export const day = (time: string): string => parts(time).day;
export const clock = (time: string): string => [parts(time).clock.slice(0, 5), zone(time)].filter(Boolean).join(" ");
export const minute = (time: string): string => [day(time), clock(time)].filter(Boolean).join(" ");
export const second = (time: string): string => [day(time), parts(time).clock, zone(time)].filter(Boolean).join(" ");

/** A time as a place on a line of days, the same for a day in every zone; and back. */
export const placeOf = (time: string): number => Date.parse(`${day(time)}T${parts(time).clock || "00:00"}Z`);
export const dayAt = (place: number): string => day(new Date(place).toISOString());

/** A place on that line as a time in the zone of another time. */
export const timeAt = (place: number, like: string): string =>
  new Date(place).toISOString().slice(0, 19) + (parts(like).offset || "Z");

/** Now, in the zone of this machine. */
export function now(at = new Date()): string {
  const ahead = -at.getTimezoneOffset();
  const [hours, minutes] = [Math.floor(Math.abs(ahead) / 60), Math.abs(ahead) % 60].map((part) =>
    String(part).padStart(2, "0"),
  );
  const local = new Date(at.getTime() + ahead * 60_000).toISOString().slice(0, 23);
  return `${local}${ahead < 0 ? "-" : "+"}${hours}:${minutes}`;
}

/** When this service did something, in the zone of who looks: nobody said it. */
export const doneMinute = (time: string): string => minute(now(new Date(time)));
export const doneSecond = (time: string): string => second(now(new Date(time)));

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
