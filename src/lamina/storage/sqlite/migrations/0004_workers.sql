-- Sessions that are set aside, workers, and the tenants that there are.

-- `aside`: nobody takes the session until something new comes. `reason` is why its work failed last.
alter table sessions add column aside integer not null default 0;
alter table sessions add column reason text;
create index sessions_leased on sessions (tenant, lease_owner) where lease_owner is not null;

create table workers (
  tenant     text not null,
  id         text not null,
  started_us integer not null,
  seen_us    integer not null,
  session_id text,
  since_us   integer,
  done       integer not null,
  failed     integer not null,
  primary key (tenant, id)
) without rowid;

create table tenants (
  tenant text not null,
  primary key (tenant)
) without rowid;
insert into tenants (tenant) select tenant from sessions union select tenant from settings;
