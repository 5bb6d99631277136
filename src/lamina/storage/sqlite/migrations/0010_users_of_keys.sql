-- A key may have a user: the one of proxied requests that name nobody.
alter table api_keys add column user_id text;
