-- A session may have a title.
alter table sessions add column title text;
