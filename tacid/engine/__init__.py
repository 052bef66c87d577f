"""llama-server: found, started, watched, stopped and spoken to; pinned models: kept, fetched and checked."""
