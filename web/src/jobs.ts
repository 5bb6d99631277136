/** Work of the service that goes on after its request was answered: begun, watched, and found again after a reload. */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { at, get } from "./api";
import type { Job, Page } from "./shapes";

const LOOK_MS = 300; // between two looks at how far it is

/** A job once it has ended; `seen` is given it as far as it has come. */
export async function watchJob(begun: Job, seen: (job: Job) => void, signal: AbortSignal): Promise<Job> {
  let job = begun;
  seen(job);
  while (job.status === "running") {
    await new Promise((done) => setTimeout(done, LOOK_MS));
    job = await get<Job>(at`/v1/jobs/${job.id}`, undefined, signal);
    seen(job);
  }
  return job;
}

export interface Watching {
  job: Job | null;
  error: Error | null;
  run: (begin: (signal: AbortSignal) => Promise<Job>) => void;
}

/** One job of a kind at a time; one that is under way already is watched. `ended` is called with one that was done. */
export function useJob(kind: Job["kind"], may: boolean, ended: (job: Job) => void): Watching {
  const [job, setJob] = useState<Job | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const last = useRef(ended);
  last.current = ended;
  const going = useRef(new AbortController());
  const run = useCallback((begin: (signal: AbortSignal) => Promise<Job | null>) => {
    const { signal } = going.current;
    setError(null);
    begin(signal)
      .then(async (begun) => {
        const done = begun && (await watchJob(begun, setJob, signal));
        if (done?.status === "failed") throw new Error(done.error ?? "It failed.");
        if (done && !signal.aborted) last.current(done);
      })
      .catch((failed: unknown) => {
        if (signal.aborted) return;
        setJob(null);
        setError(failed instanceof Error ? failed : new Error(String(failed)));
      });
  }, []);
  useEffect(() => {
    going.current = new AbortController();
    if (may) run(async (signal) => (await runningJob(kind, signal)) ?? null);
    return () => going.current.abort();
  }, [kind, may]);
  return { job, error, run };
}

async function runningJob(kind: Job["kind"], signal: AbortSignal): Promise<Job | undefined> {
  const known = await get<Page<Job>>("/v1/jobs", undefined, signal);
  return known.items.find((one) => one.kind === kind && one.status === "running");
}
