-- Sessions that are set aside, workers, and the tenants that there are.
-- oldest code: 1

-- `aside`: nobody takes the session until something new comes. `reason` is why its work failed last.
alter table @sessions add column aside bigint not null default 0;
alter table @sessions add column reason text collate "C";

create table @workers (
  tenant     text collate "C" not null,
  id         text collate "C" not null,
  started_us bigint not null,
  seen_us    bigint not null,
  session_id text collate "C",
  since_us   bigint,
  done       bigint not null,
  failed     bigint not null,
  primary key (tenant, id)
);

create table @tenants (
  tenant text collate "C" not null,
  primary key (tenant)
);

-- Those that are there already; row-level security is forced, so it has to be lifted to see them.
alter table @sessions no force row level security;
alter table @settings no force row level security;
insert into @tenants (tenant) select tenant from @sessions union select tenant from @settings;
alter table @sessions force row level security;
alter table @settings force row level security;

-- What was set aside and is free again is work that waiting workers are told of, too.
drop trigger #session_due on @sessions;
create trigger #session_due after update of pending, aside on @sessions for each row
  when (new.pending = 1 and new.aside = 0 and (old.pending = 0 or old.aside = 1)) execute function @wake();

alter table @workers enable row level security;
alter table @workers force row level security;
create policy own_tenant on @workers using (tenant = current_setting('lamina.tenant', true))
  with check (tenant = current_setting('lamina.tenant', true));

-- No tenant is named *: a transaction of that name sees the names of all tenants, and no row of any other table.
alter table @tenants enable row level security;
alter table @tenants force row level security;
create policy own_tenant on @tenants using (current_setting('lamina.tenant', true) in (tenant, '*'))
  with check (tenant = current_setting('lamina.tenant', true));
