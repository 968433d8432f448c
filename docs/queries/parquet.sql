-- The table as Parquet, in the same partitions, by DuckDB.
COPY gpulens TO 'gpulens-parquet' (FORMAT parquet, PARTITION_BY (day, machine));
