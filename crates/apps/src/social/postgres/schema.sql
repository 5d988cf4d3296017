-- The documents of an instance in PostgreSQL. An administrator may have created the schema for a
-- user who may not. Names and URLs are bytes: users may type NUL, which text cannot contain.
CREATE SCHEMA IF NOT EXISTS social;

-- A row belongs to the epoch in which it was made. To note the state is to begin the next epoch;
-- to return to it is to remove the rows of the present one. In epoch 0 nothing was noted.
CREATE TABLE IF NOT EXISTS social.state (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row), epoch bigint NOT NULL);
INSERT INTO social.state (epoch) VALUES (0) ON CONFLICT DO NOTHING;

-- The document is the message of the store's service, encoded.
CREATE TABLE IF NOT EXISTS social.users (
    name bytea PRIMARY KEY, user_id bigint NOT NULL UNIQUE, document bytea NOT NULL,
    epoch bigint NOT NULL);
CREATE TABLE IF NOT EXISTS social.follows (
    user_id bigint, followee_id bigint, epoch bigint NOT NULL, PRIMARY KEY (user_id, followee_id));
CREATE INDEX IF NOT EXISTS followers ON social.follows (followee_id, user_id);
-- The noted follows that were removed since.
CREATE TABLE IF NOT EXISTS social.unfollows (
    user_id bigint, followee_id bigint, epoch bigint NOT NULL, PRIMARY KEY (user_id, followee_id));
-- In order of arrival: nothing looks a short URL up.
CREATE TABLE IF NOT EXISTS social.urls (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, shortened bytea NOT NULL,
    expanded bytea NOT NULL, epoch bigint NOT NULL);
CREATE TABLE IF NOT EXISTS social.posts (
    post_id bigint PRIMARY KEY, json bytea NOT NULL, epoch bigint NOT NULL);

-- Returning to the noted state must not depend on its size.
CREATE INDEX IF NOT EXISTS users_of_epoch ON social.users (epoch);
CREATE INDEX IF NOT EXISTS follows_of_epoch ON social.follows (epoch);
CREATE INDEX IF NOT EXISTS urls_of_epoch ON social.urls (epoch);
CREATE INDEX IF NOT EXISTS posts_of_epoch ON social.posts (epoch);

-- The values that are drawn once for all processes of an instance; they survive a reset.
CREATE TABLE IF NOT EXISTS social.settings (name text PRIMARY KEY, value bytea NOT NULL);
