-- The buckets in their order: BUCKETS of src/contract/words.ts (a test compares them). Vectors of units are `bigint[]` with
-- one element for each bucket, in hundredths of its unit. The first two are credits and their token view.
CREATE OR REPLACE FUNCTION penstock_bucket_names() RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
  SELECT ARRAY['credits', 'chat_tokens', 'image_generations', 'image_edits', 'video_seconds', 'stt_seconds', 'tts_chars',
    'music_tracks', 'agent_runs']
$$;

-- A vector of nothing.
CREATE OR REPLACE FUNCTION penstock_zeros() RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
  SELECT array_fill(0::bigint, ARRAY[cardinality(penstock_bucket_names())])
$$;

-- What a token price takes: credits and their token view, and nothing of the other buckets.
CREATE OR REPLACE FUNCTION penstock_token_vector(p_credits bigint, p_tokens bigint) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
  SELECT ARRAY[p_credits, p_tokens] || (penstock_zeros())[3:]
$$;

-- One flag for each bucket, none of them set.
CREATE OR REPLACE FUNCTION penstock_no_flags() RETURNS boolean[] LANGUAGE sql IMMUTABLE AS $$
  SELECT array_fill(false, ARRAY[cardinality(penstock_bucket_names())])
$$;
