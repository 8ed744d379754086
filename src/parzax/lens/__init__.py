"""Around the arrays: logs, tables, results, pictures, the page, the command, long runs on the host."""
