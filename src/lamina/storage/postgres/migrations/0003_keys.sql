-- Keys of the service: who may come in, to which tenant, and what they may do. Only hashes of them are kept.
-- oldest code: 1
create table @api_keys (
  tenant     text collate "C" not null,
  id         text collate "C" not null,
  name       text collate "C" not null,
  role       text collate "C" not null check (role in ('read', 'write', 'admin')),
  hash       bytea not null,
  created_us bigint not null,
  expires_us bigint,
  revoked_us bigint,
  used_us    bigint,
  primary key (tenant, id)
);
-- The tenant is known only when the key was found.
create index #api_keys_by_hash on @api_keys (hash);

-- A transaction of tenant *, which nobody has, sees the keys of all, to find the tenant of one; it changes none.
alter table @api_keys enable row level security;
alter table @api_keys force row level security;
create policy own_tenant on @api_keys using (tenant = current_setting('lamina.tenant', true))
  with check (tenant = current_setting('lamina.tenant', true));
create policy any_tenant on @api_keys for select using (current_setting('lamina.tenant', true) = '*');
