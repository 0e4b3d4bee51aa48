-- The names of the buckets in order, equal to BUCKETS of src/contract/buckets.ts (a test compares them). An amount
-- vector is `bigint[]` with one element for each bucket, in hundredths of a unit. The first two are credits and tokens.
CREATE OR REPLACE FUNCTION penstock_bucket_names() RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
  SELECT ARRAY['credits', 'chat_tokens', 'image_generations', 'image_edits', 'video_seconds', 'stt_seconds', 'tts_chars',
    'music_tracks', 'agent_runs']
$$;

-- A vector of zeros.
CREATE OR REPLACE FUNCTION penstock_zeros() RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
  SELECT array_fill(0::bigint, ARRAY[cardinality(penstock_bucket_names())])
$$;

-- The vector of a token price: credits, their tokens, and zero in the other buckets.
CREATE OR REPLACE FUNCTION penstock_token_vector(p_credits bigint, p_tokens bigint) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
  SELECT ARRAY[p_credits, p_tokens] || (penstock_zeros())[3:]
$$;

-- One flag for each bucket, all false.
CREATE OR REPLACE FUNCTION penstock_no_flags() RETURNS boolean[] LANGUAGE sql IMMUTABLE AS $$
  SELECT array_fill(false, ARRAY[cardinality(penstock_bucket_names())])
$$;
