import { useEffect, useState } from "preact/hooks";

/** A value once it has been the same for so many milliseconds. */
export function useLate<T>(value: T, wait: number): T {
  const [late, setLate] = useState(value);
  const text = JSON.stringify(value);
  useEffect(() => {
    const timer = setTimeout(() => setLate(value), wait);
    return () => clearTimeout(timer);
  }, [text, wait]);
  return late;
}
