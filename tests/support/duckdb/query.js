// SPDX-License-Identifier: GPL-2.0
// Runs the SQL files that are named, one after the other, in one DuckDB. Prints the rows of each statement as JSON: a list
// for each, with numbers as text, so that no digit is lost.
// Usage: NODE_PATH=build/duckdb/node_modules node query.js FILE...
'use strict';
const fs = require('fs');
const { DuckDBInstance } = require('@duckdb/node-api');

async function main() {
  const connection = await (await DuckDBInstance.create()).connect();
  const results = [];
  for (const file of process.argv.slice(2)) {
    const reader = await connection.runAndReadAll(fs.readFileSync(file, 'utf8'));
    results.push(reader.getRows().map((row) => row.map((value) => (value === null ? null : String(value)))));
  }
  console.log(JSON.stringify(results));
}

main().catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
