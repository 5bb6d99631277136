/** What the REST API answers with; the names are those of the service. */

export interface Page<T> {
  items: T[];
  next: string | null;
}

export interface Span {
  first: number;
  last: number;
}

export type Role = "system" | "developer" | "user" | "assistant" | "tool";
export type Status = "active" | "paused" | "ended" | "archived";

export interface Counters {
  messages: number;
  turns: number;
  tokens: number;
  closed: boolean;
  cursor: number;
  cursor_turn: number;
  cursor_tokens: number;
  version: number;
  extracted: number;
}

export interface Session {
  id: string;
  user_id: string;
  status: Status;
  started_at: string;
  last_at: string;
  touched_at: string;
  agent_id: string | null;
  ended_at: string | null;
  archived_at: string | null;
  counters: Counters;
  attempts: number;
  erasures: number;
}

export interface Message {
  id: string;
  session_id: string;
  seq: number;
  turn: number;
  role: Role;
  body: Record<string, unknown>;
  created_at: string;
  metadata: Record<string, unknown>;
  model: string | null;
  tokens: number;
  text: string;
  digest: string;
  forgotten: boolean;
}

export interface Recipe {
  profile: string;
  kind: string;
  model: string;
  prompt: string | null;
  cap: number | null;
  fallback: string | null;
  attempts: number;
  details: Record<string, unknown>;
}

export type SummaryStatus = "live" | "folded" | "replaced";

export interface Summary {
  id: string;
  user_id: string;
  session_id: string | null;
  kind: string;
  layer: number;
  version: number;
  covers: Span | null;
  turns: Span | null;
  reads: Span | null;
  inputs: string[];
  text: string;
  topics: string[];
  tokens: number;
  recipe: Recipe;
  updated_at: string;
  created_at: string;
  status: SummaryStatus;
  folded_into: string | null;
}

export interface Stretch extends Span {
  turn: number;
  tokens: number;
  began_at: string;
  ended_at: string;
}

export interface Block {
  id: string;
  kind: string;
  layer: number;
  version: number;
  covers: Span;
  tokens: number;
  covered_tokens: number;
  due: number | null;
  status: SummaryStatus;
  folded_into: string | null;
  created_at: string;
}

export interface Outline {
  session_id: string;
  parts: Stretch[];
  forgotten: Span[];
  blocks: Block[];
}

export type FactStatus = "candidate" | "active" | "superseded" | "retracted" | "conflicted" | "archived" | "evidence";

export interface Fact {
  id: string;
  user_id: string;
  type: string;
  category: string;
  key: string | null;
  slot: string;
  value: string;
  origin: "said" | "told";
  confidence: number;
  importance: number;
  learnt_at: string;
  valid_from: string;
  created_at: string;
  until: string | null;
  holds: boolean;
  session_id: string | null;
  message_id: string | null;
  seq: number;
  role: string | null;
  quote: string;
  start: number;
  end: number;
  reason: string | null;
  tags: string[];
  model: string | null;
  tokens: number;
  replaces: string | null;
  verdict: string | null;
  verdict_at: string | null;
  verdict_by: string | null;
  status: FactStatus;
  valid_until: string | null;
  of: string | null;
  version: number;
  accesses: number;
  accessed_at: string | null;
  decay: number;
}

export interface Episode {
  id: string;
  user_id: string;
  kind: string;
  title: string;
  summary: string;
  context: string;
  participants: string[];
  outcome: string | null;
  valence: number;
  significance: number;
  session_id: string;
  turns: Span;
  message_ids: string[];
  happened_at: string;
  created_at: string;
  origin: "said" | "told";
}

export interface Link {
  source: string;
  target: string;
  type: string;
  strength: number;
  created_at: string;
}

export interface Why {
  fact: Fact;
  message: Message | null;
  evidence: Fact[];
  before: Fact | null;
  after: Fact | null;
  conflicts: Fact[];
  links: Link[];
  reasons: string[];
}

export interface UserProfile {
  user_id: string;
  as_of: string;
  known_at: string;
  facts: Fact[];
  markdown: string;
}

export interface Receipt {
  id: string;
  at: string;
  target: string;
  rehearsal: boolean;
  messages: string[];
  redacted: string[];
  sessions: string[];
  summaries: string[];
  digests: string[];
  facts: string[];
  episodes: string[];
  milestones: number;
  values_blocked: number;
  rewritten: string[];
  mentions_left: string[];
  scrubbed: boolean;
  previous: string;
  digest: string;
}

export interface Change {
  kind: "summary" | "fact";
  span: Span | null;
  before: string | null;
  after: string | null;
  diff: string;
  drift: number;
}

export interface Proposal {
  id: string;
  session_id: string;
  status: "open" | "accepted" | "rolled_back";
  recipe: string;
  changes: Change[];
  drift: number;
  created_at: string;
}

export interface Divergence {
  kind: "stale" | "missing";
  fact_id: string;
  summary_id: string;
  session_id: string | null;
  text: string;
}

export interface Hit {
  kind: "message" | "summary" | "fact" | "episode";
  id: string;
  session_id: string | null;
  message_ids: string[];
  span: Span | null;
  text: string;
  score: number;
  parts: Record<string, number>;
  created_at: string;
  role: string | null;
  name: string | null;
  tokens: number;
}

export interface Stage {
  name: string;
  ms: number;
}

export interface Explained {
  hits: Hit[];
  least: number;
  considered: number;
  related: number;
  stages: Stage[];
  weights: Record<string, number> | null;
}

export interface Piece {
  section: string;
  kind: string;
  id: string | null;
  session_id: string | null;
  message_ids: string[];
  span: Span | null;
  tokens: number;
  reason: string;
  score: number | null;
  parts: Record<string, number>;
  cut: boolean;
}

export interface Omission {
  section: string;
  kind: string;
  id: string | null;
  session_id: string | null;
  span: Span | null;
  tokens: number;
  reason: string;
}

export interface Coverage {
  messages: number;
  verbatim: Span[];
  summarised: Span[];
  left_out: Span[];
  blind: Span[];
}

export interface Manifest {
  profile: string;
  counter: string;
  exact: boolean;
  items: Piece[];
  omitted: Omission[];
  coverage: Coverage;
  warnings: string[];
  sections: Record<string, number>;
}

export interface Context {
  messages: { role: string; content: unknown }[];
  text: string;
  tokens: number;
  budget: {
    total: number;
    system_prompt: number;
    working_memory: number;
    retrieved_context: number;
    recent_messages: number;
    used: number;
    available: number;
  };
  manifest: Manifest;
}

export interface About {
  version: string;
  tenant: string;
  role: "read" | "write" | "admin";
  profile: string;
  profiles: string[];
  weights: Record<string, number>;
  relevance_threshold: number;
  prompt_token_budget: number;
  chat_model: string | null;
  proxy: boolean;
}

export interface Stats {
  sessions: number;
  messages: number;
  tokens: number;
  at_hand_tokens: number;
  summaries: { kind: string; layer: number; status: SummaryStatus; count: number; tokens: number }[];
  facts: { status: FactStatus; count: number }[];
  episodes: number;
  growth: {
    day: string;
    messages: number;
    message_tokens: number;
    summaries: number;
    summary_tokens: number;
    facts: number;
  }[];
}

export interface Fading {
  id: string;
  kind: "fact" | "episode";
  label: string;
  importance: number;
  decay: number;
  used_at: string;
  accesses: number;
  archive_below: number | null;
  kept: boolean;
}

export interface Failing {
  session_id: string;
  user_id: string;
  attempts: number;
  reason: string;
  retry_at: string | null;
}

export interface Backlog {
  pending: number;
  leased: number;
  waiting: number;
  aside: number;
  oldest: string | null;
  unembedded: number;
  failing: Failing[];
}

export interface WorkerNote {
  id: string;
  started_at: string;
  seen_at: string;
  session_id: string | null;
  since: string | null;
  done: number;
  failed: number;
  alive: boolean;
}

export interface Cost {
  day: string;
  purpose: string;
  model: string;
  calls: number;
  tokens_in: number;
  tokens_out: number;
  cost: number;
}

export interface Audit {
  at: string;
  key: string | null;
  verb: string;
  outcome: number;
  request: string;
  ms: number;
}

export interface Report {
  sessions: number;
  messages: number;
  summaries: number;
  facts: number;
  problems: { kind: string; where: string; text: string; derived: boolean }[];
  mended: string[];
}
