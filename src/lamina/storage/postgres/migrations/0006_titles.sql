-- A session may have a title. Older code would leave the words of a title when they are forgotten.
-- oldest code: 6
alter table @sessions add column title text;
