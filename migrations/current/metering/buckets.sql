-- The buckets in their order: BUCKETS of src/vocabulary.ts (a test compares them). Vectors of units have one element
-- for each.
CREATE OR REPLACE FUNCTION penstock_bucket_names() RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
  SELECT ARRAY['credits', 'chat_tokens', 'image_generations', 'image_edits', 'video_seconds', 'stt_seconds', 'tts_chars',
    'music_tracks', 'agent_runs']
$$;
