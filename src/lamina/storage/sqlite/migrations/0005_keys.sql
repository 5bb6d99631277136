-- Keys of the service: who may come in, to which tenant, and what they may do. Only hashes of them are kept.
create table api_keys (
  tenant     text not null,
  id         text not null,
  name       text not null,
  role       text not null check (role in ('read', 'write', 'admin')),
  hash       blob not null,
  created_us integer not null,
  expires_us integer,
  revoked_us integer,
  used_us    integer,
  primary key (tenant, id)
) without rowid;
create unique index api_keys_by_hash on api_keys (hash);
