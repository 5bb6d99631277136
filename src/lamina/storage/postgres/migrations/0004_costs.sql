-- What calls of language models cost, by day, purpose and model.
-- oldest code: 1
create table @costs (
  tenant     text collate "C" not null,
  day        text collate "C" not null,
  purpose    text collate "C" not null,
  model      text collate "C" not null,
  calls      bigint not null,
  tokens_in  bigint not null,
  tokens_out bigint not null,
  cost       double precision not null,
  primary key (tenant, day, purpose, model)
);
alter table @costs enable row level security;
alter table @costs force row level security;
create policy own_tenant on @costs using (tenant = current_setting('lamina.tenant', true))
  with check (tenant = current_setting('lamina.tenant', true));
