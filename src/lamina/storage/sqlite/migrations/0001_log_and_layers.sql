-- The log, its sessions, and what is derived from them. The tenant comes first in every key.
-- Times named *_us are microseconds since 1970, UTC.

create table sessions (
  tenant        text not null,
  id            text not null,
  user_id       text not null,
  agent_id      text,
  status        text not null check (status in ('active', 'paused', 'ended', 'archived')),
  started_us    integer not null,
  last_us       integer not null,
  touched_us    integer not null,
  ended_us      integer,
  archived_us   integer,
  messages      integer not null default 0,
  turns         integer not null default 0,
  tokens        integer not null default 0,
  closed        integer not null default 1,
  cursor        integer not null default 0,
  cursor_turn   integer not null default 0,
  cursor_tokens integer not null default 0,
  version       integer not null default 0,
  digest        blob not null,
  pending       integer not null default 1,
  touch         integer not null default 0,
  attempts      integer not null default 0,
  retry_us      integer,
  lease_owner   text,
  lease_us      integer,
  primary key (tenant, id)
) without rowid;
create index sessions_by_user on sessions (tenant, user_id, started_us);
create index sessions_pending on sessions (tenant, touched_us) where pending = 1;

create table messages (
  place      integer primary key,
  tenant     text not null,
  session_id text not null,
  seq        integer not null,
  turn       integer not null,
  id         text not null,
  role       text not null,
  body       text not null,
  created_at text not null,
  metadata   text not null,
  model      text,
  tokens     integer not null,
  salt       blob not null,
  leaf       blob not null,
  digest     blob not null,
  foreign key (tenant, session_id) references sessions (tenant, id)
);
create unique index messages_by_seq on messages (tenant, session_id, seq);
create unique index messages_by_id on messages (tenant, id);

-- Stemmed words only; the text itself is in messages. `owner` stands for the tenant and user.
create virtual table message_words using fts5 (owner, body, content = '', tokenize = 'unicode61 remove_diacritics 0');

create table summaries (
  place       integer primary key,
  tenant      text not null,
  id          text not null,
  user_id     text not null,
  session_id  text,
  kind        text not null,
  layer       integer not null,
  version     integer not null,
  first       integer,
  last        integer,
  status      text not null check (status in ('live', 'folded')),
  folded_into text,
  record      text not null,
  digest      blob not null,
  foreign key (tenant, session_id) references sessions (tenant, id)
);
create unique index summaries_by_id on summaries (tenant, id);
create index summaries_by_session on summaries (tenant, session_id, status, first);
create unique index summaries_live_once on summaries (tenant, session_id, first) where status = 'live' and kind <> 'digest';
create unique index digests_by_version on summaries (tenant, user_id, version) where kind = 'digest';

create virtual table summary_words using fts5 (owner, body, content = '', tokenize = 'unicode61 remove_diacritics 0');

create table facts (
  tenant     text not null,
  id         text not null,
  user_id    text not null,
  session_id text not null,
  message_id text not null,
  category   text not null,
  quote      text not null,
  normalised text not null,
  start      integer not null,
  "end"      integer not null,
  confidence real not null,
  importance real not null,
  created_at text not null,
  primary key (tenant, id),
  foreign key (tenant, session_id) references sessions (tenant, id)
) without rowid;
create unique index facts_once on facts (tenant, user_id, normalised);
create index facts_by_session on facts (tenant, session_id);

create table milestones (
  tenant     text not null,
  id         text not null,
  session_id text not null,
  turn       integer not null,
  title      text not null,
  created_at text not null,
  primary key (tenant, id),
  foreign key (tenant, session_id) references sessions (tenant, id)
) without rowid;
create index milestones_by_session on milestones (tenant, session_id);

create table appends (
  tenant      text not null,
  key         text not null,
  fingerprint text not null,
  result      text not null,
  primary key (tenant, key)
) without rowid;

create table settings (
  tenant text not null,
  key    text not null,
  value  text not null,
  primary key (tenant, key)
) without rowid;
