-- SPDX-License-Identifier: MIT
-- The tables of shardwheel beside those of xxl-job. `shardwheel install-schema` makes them too; a Java admin does not
-- see them. A statement ends with ';' at the end of a line.

CREATE TABLE IF NOT EXISTS shardwheel_cluster (
  id TINYINT NOT NULL,
  shards INT NOT NULL COMMENT 'number of shards, one for the whole cluster',
  update_time DATETIME NULL,
  PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_shard (
  shard INT NOT NULL,
  epoch BIGINT NOT NULL COMMENT 'raised at each takeover: who may write',
  owner VARCHAR(128) NOT NULL COMMENT 'node that took it last',
  update_time DATETIME NULL COMMENT 'when it was taken',
  PRIMARY KEY (shard)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shardwheel_cursor (
  shard INT NOT NULL,
  epoch BIGINT NOT NULL COMMENT 'that of shardwheel_shard, in a row that a claim does not lock',
  cursor_s BIGINT NOT NULL COMMENT 'epoch seconds: what is due at or before it was handed to dispatch',
  PRIMARY KEY (shard)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;
