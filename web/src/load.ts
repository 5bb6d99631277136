/** Things that are fetched while a screen is shown. */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";

export interface Loaded<T> {
  value: T | null;
  error: Error | null;
  loading: boolean;
  again: () => void;
}

/**
 * What `fetching` gives for these inputs; the last answer stays until the next one is there.
 *
 * Where there is none yet, it may give a part of it `soon`.
 */
export function useLoad<T>(
  fetching: ((signal: AbortSignal, soon: (part: T) => void) => Promise<T>) | null,
  inputs: readonly unknown[],
): Loaded<T> {
  const [state, setState] = useState<Omit<Loaded<T>, "again">>({ value: null, error: null, loading: true });
  const [round, setRound] = useState(0);
  const work = useRef(fetching);
  work.current = fetching;
  useEffect(() => {
    const going = new AbortController();
    if (!work.current) {
      setState({ value: null, error: null, loading: false });
      return;
    }
    setState((before) => ({ ...before, loading: true }));
    const soon = (part: T) => {
      if (!going.signal.aborted) setState((before) => (before.value === null ? { ...before, value: part } : before));
    };
    work
      .current(going.signal, soon)
      .then((value) => {
        if (!going.signal.aborted) setState({ value, error: null, loading: false });
      })
      .catch((error: unknown) => {
        if (!going.signal.aborted) {
          setState({ value: null, error: error instanceof Error ? error : new Error(String(error)), loading: false });
        }
      });
    return () => going.abort();
  }, [...inputs, round]);
  return { ...state, again: useCallback(() => setRound((before) => before + 1), []) };
}

export interface Doing {
  busy: boolean;
  error: Error | null;
  run: (work: () => Promise<void>) => void;
}

/** One action at a time, and what became of it. */
export function useDoing(): Doing {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const run = useCallback((work: () => Promise<void>) => {
    setBusy(true);
    setError(null);
    work()
      .catch((failed: unknown) => setError(failed instanceof Error ? failed : new Error(String(failed))))
      .finally(() => setBusy(false));
  }, []);
  return { busy, error, run };
}
