-- What is known: facts with their standing, episodes, links; and what forgetting needs.

alter table sessions add column extracted integer not null default 0;
alter table sessions add column erasures integer not null default 0;

-- `erased` is the leaf of what a message said before something of it was forgotten; the chain of digests goes by it.
-- `unread`: a part of it was forgotten, so it has to be read for facts again.
alter table messages add column erased blob;
alter table messages add column unread integer not null default 0;
create index messages_unread on messages (tenant, session_id, seq) where unread = 1;

create table summaries_now (
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
  status      text not null check (status in ('live', 'folded', 'replaced')),
  folded_into text,
  record      text not null,
  digest      blob not null,
  foreign key (tenant, session_id) references sessions (tenant, id)
);
insert into summaries_now select * from summaries;
drop table summaries;
alter table summaries_now rename to summaries;
create unique index summaries_by_id on summaries (tenant, id);
create index summaries_by_session on summaries (tenant, session_id, status, first);
create unique index summaries_live_once on summaries (tenant, session_id, first) where status = 'live' and kind <> 'digest';
create unique index digests_by_version on summaries (tenant, user_id, version) where kind = 'digest';

-- Facts found by the first version had no keys; they are found again from the messages.
drop table facts;
update sessions set pending = 1, touch = touch + 1;

-- `record` is what was said or told, as JSON, with a digest; the columns beside it are its standing.
create table facts (
  tenant      text not null,
  id          text not null,
  user_id     text not null,
  session_id  text,
  message_id  text,
  start       integer not null,
  "end"       integer not null,
  category    text not null,
  slot        text not null,
  claim       text not null,
  status      text not null check (status in
    ('candidate', 'active', 'superseded', 'retracted', 'conflicted', 'archived', 'evidence')),
  valid_until text,
  of_fact     text,
  version     integer not null,
  accesses    integer not null,
  accessed_at text,
  decay       real not null,
  learnt_us   integer not null,
  record      text not null,
  digest      blob not null,
  primary key (tenant, id),
  foreign key (tenant, session_id) references sessions (tenant, id)
) without rowid;
create unique index facts_one_active on facts (tenant, user_id, category, slot) where status = 'active';
create unique index facts_said_once on facts (tenant, message_id, start, "end", category, slot, claim)
  where message_id is not null;
create index facts_by_user on facts (tenant, user_id, status);
create index facts_by_slot on facts (tenant, user_id, category, slot, learnt_us);
create index facts_by_session on facts (tenant, session_id);

create table episodes (
  tenant       text not null,
  id           text not null,
  user_id      text not null,
  session_id   text not null,
  anchor       text,
  kind         text not null,
  significance real not null,
  happened_us  integer not null,
  accesses     integer not null,
  accessed_at  text,
  decay        real not null,
  record       text not null,
  digest       blob not null,
  primary key (tenant, id),
  foreign key (tenant, session_id) references sessions (tenant, id)
) without rowid;
create unique index episodes_once on episodes (tenant, anchor, kind) where anchor is not null;
create index episodes_by_user on episodes (tenant, user_id, happened_us);
create index episodes_by_session on episodes (tenant, session_id);

create table links (
  tenant     text not null,
  user_id    text not null,
  source     text not null,
  target     text not null,
  type       text not null,
  strength   real not null,
  created_at text not null,
  primary key (tenant, source, target, type)
) without rowid;
create index links_by_user on links (tenant, user_id);

-- Hashes of values that must not be extracted again.
create table forgotten (
  tenant  text not null,
  user_id text not null,
  mark    blob not null,
  primary key (tenant, user_id, mark)
) without rowid;

create table proposals (
  tenant     text not null,
  id         text not null,
  user_id    text not null,
  session_id text not null,
  status     text not null check (status in ('open', 'accepted', 'rolled_back')),
  created_us integer not null,
  record     text not null,
  primary key (tenant, id),
  foreign key (tenant, session_id) references sessions (tenant, id)
) without rowid;
create index proposals_by_session on proposals (tenant, session_id);

-- Each receipt is chained to the one before; none tells what was forgotten.
create table receipts (
  place      integer primary key,
  tenant     text not null,
  id         text not null,
  created_us integer not null,
  record     text not null,
  previous   text not null,
  digest     text not null
);
create unique index receipts_by_id on receipts (tenant, id);
