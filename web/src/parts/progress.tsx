import type { Job } from "../shapes";
import { count } from "./format";

/** How far a job is, in words and as a bar. */
export function Progress({ job, label }: { job: Pick<Job, "done" | "total">; label: string }) {
  const known = job.total > 0;
  return (
    <div class="progress" role="status">
      <progress aria-label={label} {...(known ? { value: job.done, max: job.total } : {})} />
      <small>
        {label}
        {known ? `: ${count(job.done)} of ${count(job.total)}` : job.done ? `: ${count(job.done)}` : "…"}
      </small>
    </div>
  );
}
