-- Everything of a store: the log, its sessions, what is derived from them, words, vectors.
-- oldest code: 1
--
-- @name is a name in the store's schema with its prefix, #name the same without the schema, ^name without quotes.
-- Times named *_us are microseconds since 1970, UTC. Text is ordered by its bytes, as in SQLite. Flags are 0 or 1.
-- Text cannot hold U+0000 here. Bodies, metadata and records are JSON, which writes it in other characters.

create sequence @messages_place;
create sequence @summaries_place;
create sequence @receipts_place;
create sequence @vectors_place;

create table @sessions (
  tenant        text collate "C" not null,
  id            text collate "C" not null,
  user_id       text collate "C" not null,
  agent_id      text collate "C",
  status        text collate "C" not null check (status in ('active', 'paused', 'ended', 'archived')),
  started_us    bigint not null,
  last_us       bigint not null,
  touched_us    bigint not null,
  ended_us      bigint,
  archived_us   bigint,
  messages      bigint not null default 0,
  turns         bigint not null default 0,
  tokens        bigint not null default 0,
  closed        bigint not null default 1,
  cursor        bigint not null default 0,
  cursor_turn   bigint not null default 0,
  cursor_tokens bigint not null default 0,
  version       bigint not null default 0,
  digest        bytea not null,
  pending       bigint not null default 1,
  touch         bigint not null default 0,
  attempts      bigint not null default 0,
  retry_us      bigint,
  lease_owner   text collate "C",
  lease_us      bigint,
  extracted     bigint not null default 0,
  erasures      bigint not null default 0,
  changed       bigint not null default 0,
  primary key (tenant, id)
);
create index #sessions_by_user on @sessions (tenant, user_id, started_us);
create index #sessions_changed on @sessions (tenant, user_id, changed);
create index #sessions_pending on @sessions (tenant, touched_us, id) where pending = 1;
create index #sessions_active on @sessions (tenant, touched_us) where status = 'active';
create index #sessions_ended on @sessions (tenant, ended_us) where status = 'ended';
create index #sessions_leased on @sessions (tenant, lease_owner) where lease_owner is not null;

-- `erased` is the leaf of what a message said before something of it was forgotten; the chain of digests goes by it.
-- `unread`: a part of it was forgotten, so it has to be read for facts again.
create table @messages (
  place      bigint not null,
  tenant     text collate "C" not null,
  session_id text collate "C" not null,
  seq        bigint not null,
  turn       bigint not null,
  id         text collate "C" not null,
  role       text collate "C" not null,
  body       text collate "C" not null,
  created_at text collate "C" not null,
  metadata   text collate "C" not null,
  model      text collate "C",
  tokens     bigint not null,
  salt       bytea not null,
  leaf       bytea not null,
  digest     bytea not null,
  erased     bytea,
  unread     bigint not null default 0,
  primary key (tenant, place),
  foreign key (tenant, session_id) references @sessions (tenant, id)
);
create unique index #messages_by_seq on @messages (tenant, session_id, seq);
create unique index #messages_by_id on @messages (tenant, id);
create index #messages_unread on @messages (tenant, session_id, seq) where unread = 1;

create table @summaries (
  place       bigint not null default nextval('@summaries_place'),
  tenant      text collate "C" not null,
  id          text collate "C" not null,
  user_id     text collate "C" not null,
  session_id  text collate "C",
  kind        text collate "C" not null,
  layer       bigint not null,
  version     bigint not null,
  first       bigint,
  last        bigint,
  status      text collate "C" not null check (status in ('live', 'folded', 'replaced')),
  folded_into text collate "C",
  record      text collate "C" not null,
  digest      bytea not null,
  primary key (tenant, place),
  foreign key (tenant, session_id) references @sessions (tenant, id)
);
create unique index #summaries_by_id on @summaries (tenant, id);
create index #summaries_by_session on @summaries (tenant, session_id, status, first);
create unique index #summaries_live_once on @summaries (tenant, session_id, first)
  where status = 'live' and kind <> 'digest';
create unique index #digests_by_version on @summaries (tenant, user_id, version) where kind = 'digest';
create index #summaries_live on @summaries (tenant, user_id) where status = 'live';

-- The word index: one row for each term of a text. No operator of arrays or of tsvector may be used before a policy
-- has let a row pass, so under row-level security no GIN index would be; equality may.
create table @message_words (
  tenant  text collate "C" not null,
  user_id text collate "C" not null,
  term    text collate "C" not null,
  place   bigint not null,
  primary key (tenant, user_id, term, place)
);
create table @summary_words (
  tenant  text collate "C" not null,
  user_id text collate "C" not null,
  term    text collate "C" not null,
  place   bigint not null,
  primary key (tenant, user_id, term, place)
);

-- `record` is what was said or told, as JSON, with a digest; the columns beside it are its standing.
create table @facts (
  tenant      text collate "C" not null,
  id          text collate "C" not null,
  user_id     text collate "C" not null,
  session_id  text collate "C",
  message_id  text collate "C",
  start       bigint not null,
  "end"       bigint not null,
  category    text collate "C" not null,
  slot        text collate "C" not null,
  slot_hash   text collate "C" not null generated always as (md5(slot)) stored,
  claim       text collate "C" not null,
  status      text collate "C" not null check (status in
    ('candidate', 'active', 'superseded', 'retracted', 'conflicted', 'archived', 'evidence')),
  valid_until text collate "C",
  of_fact     text collate "C",
  version     bigint not null,
  accesses    bigint not null,
  accessed_at text collate "C",
  decay       double precision not null,
  learnt_us   bigint not null,
  record      text collate "C" not null,
  digest      bytea not null,
  primary key (tenant, id),
  foreign key (tenant, session_id) references @sessions (tenant, id)
);
-- An index entry has to fit into a third of a page, which a slot or a claim need not: their hashes do.
create unique index #facts_one_active on @facts (tenant, user_id, category, slot_hash) where status = 'active';
create unique index #facts_said_once on @facts (tenant, message_id, start, "end", category, slot_hash, md5(claim))
  where message_id is not null;
create index #facts_by_user on @facts (tenant, user_id, status);
create index #facts_by_slot on @facts (tenant, user_id, category, slot_hash, learnt_us);
create index #facts_by_session on @facts (tenant, session_id);

create table @milestones (
  tenant     text collate "C" not null,
  id         text collate "C" not null,
  session_id text collate "C" not null,
  turn       bigint not null,
  title      text collate "C" not null,
  created_at text collate "C" not null,
  primary key (tenant, id),
  foreign key (tenant, session_id) references @sessions (tenant, id)
);
create index #milestones_by_session on @milestones (tenant, session_id);

create table @episodes (
  tenant       text collate "C" not null,
  id           text collate "C" not null,
  user_id      text collate "C" not null,
  session_id   text collate "C" not null,
  anchor       text collate "C",
  kind         text collate "C" not null,
  significance double precision not null,
  happened_us  bigint not null,
  accesses     bigint not null,
  accessed_at  text collate "C",
  decay        double precision not null,
  record       text collate "C" not null,
  digest       bytea not null,
  primary key (tenant, id),
  foreign key (tenant, session_id) references @sessions (tenant, id)
);
create unique index #episodes_once on @episodes (tenant, anchor, kind) where anchor is not null;
create index #episodes_by_user on @episodes (tenant, user_id, happened_us);
create index #episodes_by_session on @episodes (tenant, session_id);

create table @links (
  tenant     text collate "C" not null,
  user_id    text collate "C" not null,
  source     text collate "C" not null,
  target     text collate "C" not null,
  type       text collate "C" not null,
  strength   double precision not null,
  created_at text collate "C" not null,
  primary key (tenant, source, target, type)
);
create index #links_by_user on @links (tenant, user_id);

-- Hashes of values that must not be extracted again.
create table @forgotten (
  tenant  text collate "C" not null,
  user_id text collate "C" not null,
  mark    bytea not null,
  primary key (tenant, user_id, mark)
);

create table @proposals (
  tenant     text collate "C" not null,
  id         text collate "C" not null,
  user_id    text collate "C" not null,
  session_id text collate "C" not null,
  status     text collate "C" not null check (status in ('open', 'accepted', 'rolled_back')),
  created_us bigint not null,
  record     text collate "C" not null,
  primary key (tenant, id),
  foreign key (tenant, session_id) references @sessions (tenant, id)
);
create index #proposals_by_session on @proposals (tenant, session_id);

-- Each receipt is chained to the one before; none tells what was forgotten.
create table @receipts (
  place      bigint not null,
  tenant     text collate "C" not null,
  id         text collate "C" not null,
  created_us bigint not null,
  record     text collate "C" not null,
  previous   text collate "C" not null,
  digest     text collate "C" not null,
  primary key (tenant, place)
);
create unique index #receipts_by_id on @receipts (tenant, id);

create table @appends (
  tenant      text collate "C" not null,
  key         text collate "C" not null,
  fingerprint text collate "C" not null,
  result      jsonb not null,
  primary key (tenant, key)
);

create table @settings (
  tenant text collate "C" not null,
  key    text collate "C" not null,
  value  text collate "C" not null,
  primary key (tenant, key)
);

-- `count` grows with every change of anything searchable, `cuts` when words were taken away or rewritten.
create table @changes (
  tenant  text collate "C" not null,
  user_id text collate "C" not null,
  count   bigint not null,
  cuts    bigint not null,
  primary key (tenant, user_id)
);

-- A place is never given twice, and what a user's later transaction writes has a higher one.
-- `vector` is what was made, byte for byte; `meaning` the same numbers, for search in the database.
create table @vectors (
  place      bigint not null default nextval('@vectors_place'),
  tenant     text collate "C" not null,
  user_id    text collate "C" not null,
  embedder   text collate "C" not null,
  item_id    text collate "C" not null,
  session_id text collate "C",
  seq        bigint,
  vector     bytea not null,
  meaning    vector,
  primary key (tenant, item_id, embedder)
);
create index #vectors_by_user on @vectors (tenant, user_id, embedder, place);
create index #vectors_by_seq on @vectors (tenant, embedder, session_id, seq) where session_id is not null;

-- How far a user's memory has vectors of an embedder: all up to `count`, when there were so many `cuts`.
create table @embedded (
  tenant   text collate "C" not null,
  embedder text collate "C" not null,
  user_id  text collate "C" not null,
  count    bigint not null,
  cuts     bigint not null,
  primary key (tenant, embedder, user_id)
);

-- A vector goes with the words it was made of, whoever takes them away.
create function @drop_vector() returns trigger language plpgsql as $$
begin
  delete from @vectors where tenant = old.tenant and item_id = old.id;
  return null;
end $$;
create trigger #message_gone after delete on @messages for each row execute function @drop_vector();
create trigger #message_rewritten after update of body on @messages for each row
  when (old.body is distinct from new.body) execute function @drop_vector();
create trigger #summary_gone after delete on @summaries for each row execute function @drop_vector();
create trigger #summary_retired after update of status, record on @summaries for each row
  when (new.status <> 'live' or old.record is distinct from new.record) execute function @drop_vector();
create trigger #fact_gone after delete on @facts for each row execute function @drop_vector();
create trigger #fact_changed after update of record on @facts for each row
  when (old.record is distinct from new.record) execute function @drop_vector();
create trigger #episode_gone after delete on @episodes for each row execute function @drop_vector();
create trigger #episode_changed after update of record on @episodes for each row
  when (old.record is distinct from new.record) execute function @drop_vector();

-- Workers that wait are told when a session has become pending.
create function @wake() returns trigger language plpgsql as $$
begin
  perform pg_notify('^lamina_work', new.tenant);
  return null;
end $$;
create trigger #session_begun after insert on @sessions for each row when (new.pending = 1) execute function @wake();
create trigger #session_due after update of pending on @sessions for each row
  when (new.pending = 1 and old.pending = 0) execute function @wake();

-- Each transaction says whose rows it is about; no other tenant's can be seen or written, not even by their owner.
do $$
declare one text;
begin
  foreach one in array array['@sessions', '@messages', '@summaries', '@message_words', '@summary_words', '@facts',
    '@milestones', '@episodes', '@links', '@forgotten', '@proposals', '@receipts', '@appends', '@settings', '@changes',
    '@vectors', '@embedded']
  loop
    execute 'alter table ' || one || ' enable row level security';
    execute 'alter table ' || one || ' force row level security';
    execute 'create policy own_tenant on ' || one || ' using (tenant = current_setting(''lamina.tenant'', true))'
      || ' with check (tenant = current_setting(''lamina.tenant'', true))';
  end loop;
end $$;

-- The planner's statistics are samples of what is stored, which forgetting could not reach: none are kept of words.
alter table @messages alter body set statistics 0, alter metadata set statistics 0;
alter table @summaries alter record set statistics 0;
alter table @message_words alter term set statistics 0;
alter table @summary_words alter term set statistics 0;
alter table @facts alter record set statistics 0, alter slot set statistics 0, alter claim set statistics 0;
alter table @milestones alter title set statistics 0;
alter table @episodes alter record set statistics 0;
alter table @proposals alter record set statistics 0;
alter table @vectors alter vector set statistics 0, alter meaning set statistics 0;
