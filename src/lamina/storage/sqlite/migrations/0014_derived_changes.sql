-- The user's count when anything but messages changed last: facts, episodes, summaries, and which sessions are archived or in a
-- project. Whoever has read these does not read them again after each message.
alter table changes add column derived integer not null default 0;
update changes set derived = count;
