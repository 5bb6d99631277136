-- What calls of language models cost, by day, purpose and model.
create table costs (
  tenant     text not null,
  day        text not null,
  purpose    text not null,
  model      text not null,
  calls      integer not null,
  tokens_in  integer not null,
  tokens_out integer not null,
  cost       real not null,
  primary key (tenant, day, purpose, model)
) without rowid;
