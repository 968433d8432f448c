-- The table of the other queries, in DuckDB, on the dataset in the folder gpulens-data. DuckDB would guess types and quotes
-- from the first lines.
CREATE VIEW gpulens AS SELECT * FROM read_csv('gpulens-data/*/*/*.csv', auto_detect = false, header = true, delim = ',',
  quote = '"', escape = '"', hive_partitioning = true, hive_types = {'day': DATE, 'machine': VARCHAR},
  columns = {'start_ns': 'BIGINT', 'end_ns': 'BIGINT', 'engine': 'VARCHAR', 'runlist': 'INTEGER', 'state': 'VARCHAR',
    'tsg': 'INTEGER', 'channel': 'INTEGER', 'samples': 'BIGINT', 'busy': 'BIGINT', 'pid': 'BIGINT', 'process': 'VARCHAR',
    'gpu': 'INTEGER', 'user': 'VARCHAR', 'container': 'VARCHAR', 'evidence': 'VARCHAR', 'pod': 'VARCHAR',
    'device': 'VARCHAR', 'gpu_uuid': 'VARCHAR', 'start_unix_ns': 'BIGINT', 'end_unix_ns': 'BIGINT',
    'start_utc': 'TIMESTAMP'});
