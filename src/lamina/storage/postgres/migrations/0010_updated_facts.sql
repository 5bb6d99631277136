-- When the standing of a fact changed last: when it or the fact that took its place was written down, when it was decided
-- by hand, or when its time ran out. Until now a superseded fact had the day up to which it was true, which may be long ago.
-- oldest code: 9
create or replace view @structured_facts with (security_invoker = true) as
select
  facts.tenant, facts.id, facts.user_id, facts.category,
  coalesce(told ->> 'about' || ': ', '') || coalesce(told ->> 'key', facts.category)
    || coalesce(' (' || (told ->> 'scope') || ')', '') as key,
  told ->> 'value' as value,
  (told ->> 'confidence')::double precision as confidence,
  (told ->> 'importance')::double precision as importance,
  facts.status in ('active', 'conflicted') and (told ->> 'holds')::boolean
    and (told ->> 'valid_from')::timestamptz <= now()
    and (facts.valid_until is null or facts.valid_until::timestamptz > now()) as is_active,
  facts.version, facts.status, facts.session_id, facts.message_id,
  told ->> 'quote' as quote,
  (told ->> 'created_at')::timestamptz as created_at,
  greatest(
    (told ->> 'created_at')::timestamptz,
    (told ->> 'verdict_at')::timestamptz,
    (replace(other.record, '\u0000', '\ufffd')::json ->> 'created_at')::timestamptz,
    case when facts.status in ('active', 'conflicted') and facts.valid_until::timestamptz <= now()
      then facts.valid_until::timestamptz end
  ) as updated_at
from @facts as facts
  cross join lateral (select replace(facts.record, '\u0000', '\ufffd')::json as told) as read  -- text cannot hold U+0000
  left join @facts as other on other.tenant = facts.tenant and other.id = facts.of_fact
where facts.status <> 'evidence';
