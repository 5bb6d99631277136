-- What has changed of a user's memory, and vectors of what it holds.

-- `count` grows with every change of anything searchable, `cuts` when words were taken away or rewritten.
create table changes (
  tenant  text not null,
  user_id text not null,
  count   integer not null,
  cuts    integer not null,
  primary key (tenant, user_id)
) without rowid;
insert into changes (tenant, user_id, count, cuts)
  select tenant, user_id, 1, 0 from sessions union select tenant, user_id, 1, 0 from facts
  union select tenant, user_id, 1, 0 from summaries;

-- The user's count when messages of the session were last added or changed.
alter table sessions add column changed integer not null default 0;
update sessions set changed = 1;
create index sessions_changed on sessions (tenant, user_id, changed);
create index summaries_live on summaries (tenant, user_id) where status = 'live';

-- A place is never given twice: who has seen all up to one misses nothing that comes later.
-- `session_id` and `seq` are those of a message.
create table vectors (
  place      integer primary key autoincrement,
  tenant     text not null,
  user_id    text not null,
  embedder   text not null,
  item_id    text not null,
  session_id text,
  seq        integer,
  vector     blob not null
);
create unique index vectors_by_item on vectors (tenant, item_id, embedder);
create index vectors_by_user on vectors (tenant, user_id, embedder);
create index vectors_by_seq on vectors (tenant, embedder, session_id, seq) where session_id is not null;

-- How far a user's memory has vectors of an embedder: all up to `count`, when there were so many `cuts`.
create table embedded (
  tenant   text not null,
  embedder text not null,
  user_id  text not null,
  count    integer not null,
  cuts     integer not null,
  primary key (tenant, embedder, user_id)
) without rowid;

-- A vector goes with the words it was made of, whoever takes them away.
create trigger message_gone after delete on messages begin
  delete from vectors where tenant = old.tenant and item_id = old.id;
end;
create trigger message_rewritten after update of body on messages when old.body is not new.body begin
  delete from vectors where tenant = old.tenant and item_id = old.id;
end;
create trigger summary_gone after delete on summaries begin
  delete from vectors where tenant = old.tenant and item_id = old.id;
end;
create trigger summary_retired after update of status, record on summaries
  when new.status <> 'live' or old.record is not new.record begin
  delete from vectors where tenant = old.tenant and item_id = old.id;
end;
create trigger fact_gone after delete on facts begin
  delete from vectors where tenant = old.tenant and item_id = old.id;
end;
create trigger fact_changed after update of record on facts when old.record is not new.record begin
  delete from vectors where tenant = old.tenant and item_id = old.id;
end;
create trigger episode_gone after delete on episodes begin
  delete from vectors where tenant = old.tenant and item_id = old.id;
end;
create trigger episode_changed after update of record on episodes when old.record is not new.record begin
  delete from vectors where tenant = old.tenant and item_id = old.id;
end;
