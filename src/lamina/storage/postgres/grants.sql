-- What a role needs to use a store whose tables belong to another role. Run it as their owner, after each upgrade.
grant usage on schema @@schema to ~role;
grant select on @schema_versions to ~role;
grant select, insert, update, delete on @sessions, @messages, @summaries, @message_words, @summary_words, @facts,
  @milestones, @episodes, @links, @forgotten, @proposals, @receipts, @appends, @settings, @changes, @vectors, @embedded,
  @workers, @tenants, @api_keys, @costs to ~role;
grant select on @structured_facts, @episodic_memory to ~role;
grant usage on sequence @messages_place, @summaries_place, @receipts_place, @vectors_place to ~role;
