-- Facts and summaries for plain SQL. Views store nothing: what is forgotten is gone from them, too. They show what
-- their reader may see: row-level security holds as in the tables.
-- oldest code: 6

-- Every version of a fact. The key names the person and the scope that a fact is limited to, if there are any.
create view @structured_facts with (security_invoker = true) as
select
  tenant, id, user_id, category,
  coalesce(told ->> 'about' || ': ', '') || coalesce(told ->> 'key', category)
    || coalesce(' (' || (told ->> 'scope') || ')', '') as key,
  told ->> 'value' as value,
  (told ->> 'confidence')::double precision as confidence,
  (told ->> 'importance')::double precision as importance,
  status in ('active', 'conflicted') and (told ->> 'holds')::boolean and (told ->> 'valid_from')::timestamptz <= now()
    and (valid_until is null or valid_until::timestamptz > now()) as is_active,
  version, status, session_id, message_id,
  told ->> 'quote' as quote,
  (told ->> 'created_at')::timestamptz as created_at,
  coalesce(told ->> 'verdict_at', case status when 'superseded' then valid_until end,
    told ->> 'created_at')::timestamptz as updated_at
from @facts, lateral (select replace(record, '\u0000', '\ufffd')::json as told) as read  -- text cannot hold U+0000
where status <> 'evidence';

-- The summaries of sessions that are in use, each with its vector of the embedder that search uses.
create view @episodic_memory with (security_invoker = true) as
select
  summaries.tenant, summaries.id, summaries.user_id, summaries.session_id,
  'turns ' || (told -> 'turns' ->> 'first') || '-' || (told -> 'turns' ->> 'last') as turn_range,
  told ->> 'text' as summary,
  vectors.meaning as embedding,
  (told -> 'turns' ->> 'first')::bigint as turn_start,
  (told -> 'turns' ->> 'last')::bigint as turn_end,
  (told ->> 'created_at')::timestamptz as created_at
from @summaries as summaries
  cross join lateral (select replace(record, '\u0000', '\ufffd')::json as told) as read
  left join @settings as settings on settings.tenant = summaries.tenant and settings.key = 'embedder'
  left join @vectors as vectors on vectors.tenant = summaries.tenant and vectors.item_id = summaries.id
    and vectors.embedder = settings.value
where status = 'live' and kind <> 'digest';
