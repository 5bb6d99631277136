-- A session may belong to a project. A user has one current digest for each project, and one beside them.
alter table sessions add column project_id text;
create index digests_live on summaries (tenant, user_id) where kind = 'digest' and status = 'live';
