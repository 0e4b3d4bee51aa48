-- Trusted documents of the installation (beyond 14.8), by the names that clients send: the id of a manifest, and the
-- SHA-256 of the text. The document of a name never changes.
CREATE TABLE trusted_documents (
  name text COLLATE "C" PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 255),
  body text NOT NULL,
  published_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX trusted_documents_published ON trusted_documents (published_at);

GRANT SELECT, INSERT ON trusted_documents TO penstock_system;
