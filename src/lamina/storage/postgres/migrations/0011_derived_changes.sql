-- The user's count when anything but messages changed last: facts, episodes, summaries, and which sessions are archived or in a
-- project. Whoever has read these does not read them again after each message.
-- oldest code: 11
alter table @changes add column derived bigint not null default 0;
update @changes set derived = count;
