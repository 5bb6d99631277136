-- Words with digits are indexed as they are, no longer without a doubled last digit: the word index is built again on open.
insert into settings (tenant, key, value) select '', 'words', 'outdated' where exists (select 1 from messages);
