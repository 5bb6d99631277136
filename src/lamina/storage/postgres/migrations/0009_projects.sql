-- A session may belong to a project. A user has one current digest for each project, and one beside them.
-- Older code would recall the memories of all projects together.
-- oldest code: 9
alter table @sessions add column project_id text collate "C";
create index #digests_live on @summaries (tenant, user_id) where kind = 'digest' and status = 'live';
