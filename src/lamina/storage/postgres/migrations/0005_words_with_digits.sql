-- Words with digits are indexed as they are, no longer without a doubled last digit: the word index is built again on open.
-- oldest code: 1
alter table @sessions no force row level security;
alter table @settings no force row level security;
insert into @settings (tenant, key, value) select distinct tenant, 'words', 'outdated' from @sessions;
alter table @sessions force row level security;
alter table @settings force row level security;
