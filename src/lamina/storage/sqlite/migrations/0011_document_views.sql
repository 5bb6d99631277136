-- Facts and summaries for plain SQL. Views store nothing: what is forgotten is gone from them, too.

-- Every version of a fact. The key names the person and the scope that a fact is limited to, if there are any.
create view structured_facts as
select
  tenant, id, user_id, category,
  coalesce(json_extract(record, '$.about') || ': ', '') || coalesce(json_extract(record, '$.key'), category)
    || coalesce(' (' || json_extract(record, '$.scope') || ')', '') as key,
  json_extract(record, '$.value') as value,
  json_extract(record, '$.confidence') as confidence,
  json_extract(record, '$.importance') as importance,
  status in ('active', 'conflicted') and json_extract(record, '$.holds')
    and julianday(json_extract(record, '$.valid_from')) <= julianday('now')
    and (valid_until is null or julianday(valid_until) > julianday('now')) as is_active,
  version, status, session_id, message_id,
  json_extract(record, '$.quote') as quote,
  json_extract(record, '$.created_at') as created_at,
  coalesce(json_extract(record, '$.verdict_at'), case status when 'superseded' then valid_until end,
    json_extract(record, '$.created_at')) as updated_at
from facts
where status <> 'evidence' and json_valid(record);

-- The summaries of sessions that are in use, each with its vector of the embedder that search uses.
create view episodic_memory as
select
  summaries.tenant, summaries.id, summaries.user_id, summaries.session_id,
  'turns ' || json_extract(record, '$.turns.first') || '-' || json_extract(record, '$.turns.last') as turn_range,
  json_extract(record, '$.text') as summary,
  vectors.vector as embedding,
  json_extract(record, '$.turns.first') as turn_start,
  json_extract(record, '$.turns.last') as turn_end,
  json_extract(record, '$.created_at') as created_at
from summaries
  left join settings on settings.tenant = summaries.tenant and settings.key = 'embedder'
  left join vectors on vectors.tenant = summaries.tenant and vectors.item_id = summaries.id
    and vectors.embedder = settings.value
where status = 'live' and kind <> 'digest' and json_valid(record);
