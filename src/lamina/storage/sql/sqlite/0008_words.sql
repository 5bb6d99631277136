-- The word index as rows, one for each term of a text: what is forgotten goes out of it alone, and one user's can be
-- built anew. It is filled from messages and summaries when the migration is done.
drop table message_words;
drop table summary_words;

create table message_words (
  owner integer not null,  -- a hash of tenant and user
  term  text not null,
  place integer not null,  -- of the message
  primary key (owner, term, place)
) without rowid;

create table summary_words (
  owner integer not null,
  term  text not null,
  place integer not null,
  primary key (owner, term, place)
) without rowid;
