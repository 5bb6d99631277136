-- When the standing of a fact changed last: when it or the fact that took its place was written down, when it was decided
-- by hand, or when its time ran out. Until now a superseded fact had the day up to which it was true, which may be long ago.
drop view structured_facts;
create view structured_facts as
select
  facts.tenant, facts.id, facts.user_id, facts.category,
  coalesce(json_extract(facts.record, '$.about') || ': ', '')
    || coalesce(json_extract(facts.record, '$.key'), facts.category)
    || coalesce(' (' || json_extract(facts.record, '$.scope') || ')', '') as key,
  json_extract(facts.record, '$.value') as value,
  json_extract(facts.record, '$.confidence') as confidence,
  json_extract(facts.record, '$.importance') as importance,
  facts.status in ('active', 'conflicted') and json_extract(facts.record, '$.holds')
    and julianday(json_extract(facts.record, '$.valid_from')) <= julianday('now')
    and (facts.valid_until is null or julianday(facts.valid_until) > julianday('now')) as is_active,
  facts.version, facts.status, facts.session_id, facts.message_id,
  json_extract(facts.record, '$.quote') as quote,
  json_extract(facts.record, '$.created_at') as created_at,
  (select changed from (
    select json_extract(facts.record, '$.created_at') as changed
    union all select json_extract(facts.record, '$.verdict_at')
    union all select json_extract(other.record, '$.created_at')
    union all select facts.valid_until where facts.status in ('active', 'conflicted')
      and julianday(facts.valid_until) <= julianday('now')
  ) order by julianday(changed) desc limit 1) as updated_at
from facts
  left join facts as other on other.tenant = facts.tenant and other.id = facts.of_fact and json_valid(other.record)
where facts.status <> 'evidence' and json_valid(facts.record);
